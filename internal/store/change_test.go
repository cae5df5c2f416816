package store

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

func TestWaitingIsInOrderOfTSThenOfComing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread := said("5.000000", "") // a short ts: no order of strings
		add := func(ts string, kind conversation.Kind, revision string) {
			m := said(ts, thread.TS)
			m.Revision = revision
			db.record(t, m, keep(m, kind))
		}
		add("20.000000", conversation.Said, "")
		add("9.000000", conversation.Edited, "11.000000")
		add("9.000000", conversation.Said, "")
		add("9.5", conversation.Said, "")
		add("9.000000", conversation.Deleted, "")
		c := chat.Conversation{Team: team, Channel: channel, Thread: thread.TS}
		var got []string
		for _, w := range db.waiting(t, c) {
			got = append(got, w.Change.ID())
		}
		want := []string{"9.000000/edited/11.000000", "9.000000/said/", "9.000000/deleted/", "9.5/said/", "20.000000/said/"}
		if !slices.Equal(got, want) {
			t.Errorf("waiting: %q\nwant     %q", got, want)
		}
		first, err := db.Waiting(t.Context(), c.ID(), 2)
		if err != nil || len(first) != 2 || first[0].Change.ID() != want[0] {
			t.Errorf("limit 2: %v, %v", first, err)
		}
		if other := db.waiting(t, chat.Conversation{Team: team, Channel: channel}); len(other) != 0 {
			t.Errorf("at the top level waits %v", other)
		}
	})
}

func TestRelayedChangesWaitNoMore(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		change := conversation.Change{TS: m.TS, Kind: conversation.Said, FollowUp: true}
		db.record(t, m, func(Known) Entry {
			return Entry{Message: &m, Changes: []Change{{Conversation: of(m), Change: change}}}
		})
		next := said(at(2), "")
		db.record(t, next, keep(next, conversation.Said))
		w := db.waiting(t, of(m))
		if len(w) != 2 || w[0].Change != change {
			t.Fatalf("waiting: %+v", w)
		}
		for range 2 {
			if err := db.Relayed(t.Context(), []int64{w[0].ID}); err != nil {
				t.Fatal(err)
			}
		}
		if left := db.waiting(t, of(m)); len(left) != 1 || left[0] != w[1] {
			t.Errorf("left: %+v, want %+v", left, w[1])
		}
	})
}

func TestClaimIsExclusiveUntilItEnds(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		db.record(t, m, keep(m, conversation.Said))
		id := of(m).ID()
		claim := func(relay string, want bool, why string) {
			t.Helper()
			got, err := db.Claim(t.Context(), id, relay, db.clock.now().Add(30*time.Second))
			if err != nil || got != want {
				t.Errorf("%s: claimed %v, %v; want %v", why, got, err, want)
			}
		}
		claim("a", true, "free")
		claim("b", false, "another's")
		claim("a", true, "renewed")
		if err := db.Release(t.Context(), id, "b"); err != nil {
			t.Fatal(err)
		}
		claim("b", false, "released by somebody whose it was not")
		db.clock.advance(30 * time.Second)
		claim("b", false, "to the last instant")
		db.clock.advance(time.Microsecond)
		claim("b", true, "its relay is dead")
		claim("a", false, "lost to b")
		if err := db.Release(t.Context(), id, "a"); err != nil {
			t.Fatal(err)
		}
		claim("a", false, "released by its former holder")
		if err := db.Release(t.Context(), id, "b"); err != nil {
			t.Fatal(err)
		}
		claim("a", true, "released")
		if got, err := db.Claim(t.Context(), "channel/T1/unknown", "a", db.clock.now()); got || err != nil {
			t.Errorf("an unknown conversation: claimed %v, %v", got, err)
		}
	})
}

func TestOfRacingRelaysOneClaims(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		other.now = db.clock.now
		m := said(at(1), "")
		db.record(t, m, keep(m, conversation.Said))
		for round := range 10 {
			var won atomic.Int32
			noErrors(t, atOnce(8, func(i int) error {
				mine, err := []*Store{db.Store, other}[i%2].Claim(t.Context(), of(m).ID(), fmt.Sprint(round, i), db.clock.now().Add(time.Second))
				if mine {
					won.Add(1)
				}
				return err
			}))
			if won.Load() != 1 {
				t.Fatalf("round %d: %d claims, want 1", round, won.Load())
			}
			db.clock.advance(2 * time.Second)
		}
	})
}

func TestBacklog(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		backlog := func(limit int) []string {
			t.Helper()
			ids, err := db.Backlog(t.Context(), limit)
			if err != nil {
				t.Fatal(err)
			}
			return ids
		}
		size := func(count int, oldest time.Time) {
			t.Helper()
			n, since, err := db.BacklogSize(t.Context())
			if err != nil || n != count || !since.Equal(oldest) || since.Location() != time.UTC {
				t.Errorf("backlog of %d since %v, %v; want %d since %v", n, since, err, count, oldest)
			}
		}
		size(0, time.Time{})
		if got := backlog(10); len(got) != 0 {
			t.Errorf("backlog of an empty database: %v", got)
		}
		// The one that has waited longest comes first, whatever the messages' own time.
		late, early := said(at(9), at(8)), said(at(3), at(2))
		for _, m := range []chat.Message{late, early, said(at(10), at(8))} {
			db.record(t, m, keep(m, conversation.Said))
			db.clock.advance(time.Second)
		}
		size(3, noon)
		if got, want := backlog(10), []string{of(late).ID(), of(early).ID()}; !reflect.DeepEqual(got, want) {
			t.Errorf("backlog %v, want %v", got, want)
		}
		if got := backlog(1); len(got) != 1 || got[0] != of(late).ID() {
			t.Errorf("backlog %v, want the oldest", got)
		}
		if mine, err := db.Claim(t.Context(), of(late).ID(), "a", db.clock.now().Add(time.Minute)); !mine || err != nil {
			t.Fatal(mine, err)
		}
		if got := backlog(10); len(got) != 1 || got[0] != of(early).ID() {
			t.Errorf("backlog with a relay at work: %v", got)
		}
		db.clock.advance(2 * time.Minute)
		if got := backlog(10); len(got) != 2 {
			t.Errorf("backlog after the relay's death: %v", got)
		}
		for _, m := range []chat.Message{late, early} {
			for _, w := range db.waiting(t, of(m)) {
				if err := db.Relayed(t.Context(), []int64{w.ID}); err != nil {
					t.Fatal(err)
				}
			}
		}
		size(0, time.Time{})
		if got := backlog(10); len(got) != 0 {
			t.Errorf("backlog with nothing waiting: %v", got)
		}
	})
}

// A storm in one channel does not fill the look at the backlog: the channels come in
// turn, each in the order of its waiting.
func TestBacklogTakesChannelsInTurn(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		n := 0
		add := func(channel, thread string) string {
			n++
			m := said(at(n), thread)
			m.Channel = channel
			db.record(t, m, keep(m, conversation.Said))
			return of(m).ID()
		}
		var storm []string
		for i := range 10 {
			storm = append(storm, add("C1", at(100+i)))
		}
		storm = append(storm, add("C1", "")) // its top level is of the same channel
		other, next := add("C10", at(200)), add("C10", at(201))
		third := add("C2", "")
		want := []string{storm[0], other, third, storm[1], next, storm[2], storm[3]}
		got, err := db.Backlog(t.Context(), len(want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("backlog %v, %v\nwant    %v", got, err, want)
		}
		if all, err := db.Backlog(t.Context(), 100); err != nil || len(all) != 14 || all[13] != storm[10] {
			t.Errorf("backlog %v, %v; want all 14, the storm's last at the end", all, err)
		}
	})
}
