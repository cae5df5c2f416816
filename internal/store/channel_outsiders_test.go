package store

import (
	"slices"
	"testing"
	"time"
)

func (db database) see(t *testing.T, channel, user string, at time.Time) {
	t.Helper()
	must(t, db.SeeOutsiders(t.Context(), team, channel, map[string]time.Time{user: at}))
}

func (db database) leave(t *testing.T, channel, user string, at time.Time) {
	t.Helper()
	must(t, db.LeaveChannel(t.Context(), team, channel, user, at))
}

func (db database) saveUsers(t *testing.T, users ...User) {
	t.Helper()
	must(t, db.SaveUsers(t.Context(), team, users...))
}

// Events and listings may arrive in any order: the newest one counts.
func TestOutsiders(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		after := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
		is := func(when string, want int) {
			t.Helper()
			if got, err := db.OutsidersIn(t.Context(), team); err != nil || got["C1"] != want || got["C2"] != 0 {
				t.Errorf("%s: %v, %v; want %d in C1", when, got, err, want)
			}
		}
		members := func(minutes, want int, ids ...string) {
			t.Helper()
			if got, err := db.SaveMembers(t.Context(), team, "C1", ids, after(minutes)); err != nil || got != want {
				t.Errorf("%d outsiders among %v, %v; want %d", got, ids, err, want)
			}
		}
		guest, stranger, colleague := User{ID: "U1", Name: "gil", Guest: true, Refreshed: noon}, User{ID: "U2", Name: "sam", Stranger: true, Refreshed: noon}, User{ID: "U3", Name: "ada", Refreshed: noon}
		db.saveUsers(t, guest, stranger, colleague)
		is("at first", 0)
		db.see(t, "C1", "U1", after(1))
		db.see(t, "C2", "U1", after(1))
		db.leave(t, "C2", "U1", after(2))
		db.see(t, "C2", "U1", after(1)) // late
		is("joined one and left another", 1)
		db.leave(t, "C1", "U3", after(2))
		db.leave(t, "C1", "U1", after(0)) // late
		is("left before", 1)
		members(3, 2, "U1", "U2", "U3")
		is("listed", 2)
		members(4, 1, "U2", "U3")
		is("left out of a listing", 1)
		db.see(t, "C1", "U1", after(3)) // late
		is("seen before that listing", 1)
		db.see(t, "C1", "U4", after(5)) // whom Slack has not described
		is("with somebody unknown", 2)
		db.saveUsers(t, User{ID: "U4", Refreshed: after(6)})
		is("whom Slack does not know", 2)
		db.saveUsers(t, User{ID: "U4", Name: "eve", Refreshed: after(6)}, User{ID: "U2", Name: "sam", Refreshed: after(-1)})
		is("who is a colleague", 1)
		db.saveUsers(t, User{ID: "U2", Name: "sam", Refreshed: after(1)})
		is("nobody else", 0)
		known, err := db.Users(t.Context(), team, []string{"U1", "U2", "U3"})
		if err != nil || known["U1"] != guest || known["U2"].Stranger || known["U3"] != colleague {
			t.Errorf("%+v, %v", known, err)
		}
	})
}

func TestMembersDue(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		day := 24 * time.Hour
		due := func(when string, before time.Time, here bool, want ...string) {
			t.Helper()
			if got, err := db.MembersDue(t.Context(), team, before, 10); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v; want %v", when, got, err, want)
			}
			if got, err := db.Names(t.Context(), team, "C1", nil, nil); err != nil || got.MembersDue != here {
				t.Errorf("%s: due in a context %v, %v; want %v", when, got.MembersDue, err, here)
			}
		}
		list := func(id string, at time.Time) {
			t.Helper()
			must(t, errOf(db.SaveMembers(t.Context(), team, id, nil, at)))
		}
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"}, Channel{ID: "C3", Name: "gone", Archived: true}, Channel{ID: "D1", Private: true})
		db.saveUsers(t, User{ID: "U2", Name: "sam", Stranger: true, Refreshed: noon})
		due("without a guest", noon.Add(day), false)
		db.see(t, "C2", "U2", noon)
		due("with a stranger", noon.Add(day), false, "C2")
		db.saveUsers(t, User{ID: "U1", Name: "gil", Guest: true, Refreshed: noon})
		due("with a guest", noon, true, "C1", "C2")
		list("C1", noon.Add(time.Second))
		due("once asked", noon, false, "C2")
		due("a day later", noon.Add(day), false, "C1", "C2")
		db.saveUsers(t, User{ID: "U1", Name: "gil", Guest: true, Refreshed: noon.Add(time.Minute)})
		due("with the same guest", noon, false, "C2")
		db.saveUsers(t, User{ID: "U3", Name: "gus", Guest: true, Refreshed: noon.Add(time.Minute)})
		due("with another guest", noon, true, "C1", "C2")
		list("C1", noon.Add(2*time.Minute))
		due("asked again", noon, false, "C2")
		must(t, db.MembersUnknown(t.Context(), team, "C1"))
		due("after the bot came", noon, true, "C1", "C2")
		list("C1", noon.Add(3*time.Minute))
		db.sync(t, Channel{ID: "C2", Name: "two"})
		db.clock.advance(time.Hour)
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"})
		due("after the bot was away", noon, true, "C1", "C2")
	})
}
