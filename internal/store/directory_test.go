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
			if err := db.SaveUser(t.Context(), team, u); err != nil {
				t.Fatal(err)
			}
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

func TestChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		get := func() map[string]Channel {
			t.Helper()
			got, err := db.Channels(t.Context(), team, []string{channel, "C2"})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := get(); len(got) != 0 {
			t.Errorf("of an empty database: %v", got)
		}
		slot := func(want time.Duration) {
			t.Helper()
			if wait, err := db.Slot(t.Context(), team, channel, time.Minute); err != nil || wait != want {
				t.Errorf("slot in %v, %v; want %v", wait, err, want)
			}
		}
		// A channel that is only posted to has no name that anybody told.
		slot(0)
		if got, want := get(), map[string]Channel{channel: {ID: channel}}; !reflect.DeepEqual(got, want) {
			t.Errorf("after a slot: %+v, want %+v", got, want)
		}
		for _, c := range []Channel{{ID: channel, Name: "secret", Private: true, Refreshed: noon}, {ID: channel, Name: "general", Refreshed: noon.Add(time.Hour)}} {
			if err := db.SaveChannel(t.Context(), team, c); err != nil {
				t.Fatal(err)
			}
			if got := get(); !reflect.DeepEqual(got, map[string]Channel{channel: c}) {
				t.Errorf("saved %+v, got %+v", c, got)
			}
		}
		slot(time.Minute)
	})
}
