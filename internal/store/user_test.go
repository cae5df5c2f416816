package store

import (
	"reflect"
	"testing"
	"time"
)

func TestUsers(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		save := func(team string, u User) {
			t.Helper()
			must(t, db.SaveUsers(t.Context(), team, u))
		}
		alice := User{ID: "U1", Name: "alice", Refreshed: noon}
		robot := User{ID: "U2", Name: "robot", Bot: true, Refreshed: noon}
		save(team, User{ID: "U1", Name: "old name", Bot: true, Refreshed: noon.Add(-time.Hour)})
		save(team, alice)
		save(team, robot)
		save("T2", User{ID: "U1", Name: "somebody else", Refreshed: noon})
		got, err := db.Users(t.Context(), team, []string{"U1", "U2", "U3"})
		if want := map[string]User{"U1": alice, "U2": robot}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if got, err := db.Users(t.Context(), team, nil); err != nil || len(got) != 0 {
			t.Errorf("of no ids: %v, %v", got, err)
		}
	})
}
