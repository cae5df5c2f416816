package store

import (
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

// An event is found where its hook is, and wakes what waits for it there once; a look that began before another event
// came does not hide that.
func TestHookEvents(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "C1", Name: "one", Member: true}, Channel{ID: "C2", Name: "two", Member: true})
		for name, c := range map[string]struct{ ids, names, want []string }{
			"by id": {ids: []string{"C1", "C9"}, want: []string{"C1"}}, "by name": {names: []string{"two", "none"}, want: []string{"C2"}},
			"both": {[]string{"C1"}, []string{"one", "two"}, []string{"C1", "C2"}}, "none": {},
		} {
			found, err := db.HookChannels(t.Context(), c.ids, c.names)
			if got := mapRows(found, func(s chat.Scope) string { return s.Channel }); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		here := []chat.Scope{theChannel}
		send := func(delivery, text string) (bool, int) {
			t.Helper()
			fresh, targets, err := db.SaveHookEvent(t.Context(), IncomingEvent{Hook: "ci", Delivery: delivery, Text: text, Within: time.Hour}, here)
			must(t, err)
			return fresh, len(targets)
		}
		send("0", "build 16 is green") // before it was asked for
		waiting, unshown, other := db.promise("a"), db.promise("b"), db.promise("c")
		waiting.Until, unshown.Until, other.Until = "ci", "ci", "other"
		p := db.made(t, waiting, at(9))
		db.made(t, unshown, "")
		db.made(t, other, at(9))
		if fresh, woken := send("1", "build 17 is red"); !fresh || woken != 1 {
			t.Errorf("an event: fresh %v, %d woken", fresh, woken)
		}
		if fresh, woken := send("1", "build 17 is red"); fresh || woken != 0 {
			t.Errorf("the same again: fresh %v, %d woken", fresh, woken)
		}
		woken, err := db.Promise(t.Context(), p.ID)
		if wake := db.now().Add(hookSettles); err != nil || !woken.Turns().Equal(wake) || !woken.Due().Equal(p.Due()) {
			t.Errorf("woken: %+v, %v", woken, err)
		}
		if b, err := db.Promise(t.Context(), "b"); err != nil || b.WokenUS == 0 {
			t.Errorf("one that is not confirmed yet: %+v, %v", b, err)
		}
		seen, err := db.HookEvents(t.Context(), woken, 1000)
		if err != nil || len(seen) != 1 || seen[0].Text != "build 17 is red" {
			t.Fatalf("to be seen: %+v, %v", seen, err)
		}
		if _, woken := send("2", "build 18 is green"); woken != 0 {
			t.Errorf("%d are told again of what they look at", woken)
		}
		left, err := db.WaitOn(t.Context(), p.ID, seen[0].ID, time.Time{})
		if err != nil || left.WokenUS == 0 {
			t.Errorf("waits on, with another event: %+v, %v", left, err)
		}
		if seen, err = db.HookEvents(t.Context(), left, 1000); err != nil || len(seen) != 1 || seen[0].Text != "build 18 is green" {
			t.Fatalf("to be seen then: %+v, %v", seen, err)
		}
		if left, err = db.WaitOn(t.Context(), p.ID, seen[0].ID, time.Time{}); err != nil || !left.Turns().Equal(p.Due()) {
			t.Errorf("waits on: %+v, %v", left, err)
		}
		db.clock.advance(2 * time.Hour)
		if fresh, _ := send("1", "build 17 is red"); !fresh {
			t.Error("the same body two hours later counts as a repetition")
		}
		for text, want := range map[string][]string{"green": {"build 18 is green", "build 16 is green"}, "build 17": {"build 17 is red", "build 17 is red", "build 18 is green", "build 16 is green"}, "blue": nil} {
			found, err := db.SearchHookEvents(t.Context(), SearchQuery{Team: team, Here: "C1", Text: text, Limit: 10})
			if got := mapRows(found, func(e HookEvent) string { return e.Text }); err != nil || !slices.Equal(got, want) {
				t.Errorf("search for %q: %q, %v", text, got, err)
			}
			if found, err := db.SearchHookEvents(t.Context(), SearchQuery{Team: team, Here: "C2", Text: text, Limit: 10}); err != nil || len(found) > 0 {
				t.Errorf("elsewhere: %+v, %v", found, err)
			}
		}
		must(t, errOf(db.Forget(t.Context(), theChannel, operator, "o1")))
		if n := db.count(t, "hook_events", "channel_id = 'C1'"); n > 0 {
			t.Errorf("%d are left of a channel that was forgotten", n)
		}
	})
}
