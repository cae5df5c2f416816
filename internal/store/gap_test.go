package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

// Of each gap every channel is read once. Those read longest ago come first, then the most recently active.
func TestUnreadChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		want := func(when string, due bool, channels ...string) {
			t.Helper()
			gaps, failed := db.Gaps(t.Context(), team)
			got, total, err := db.UnreadChannels(t.Context(), team, gaps.Newest, nil, 100)
			if err != nil || failed != nil || !slices.Equal(got, channels) || total != len(channels) || gaps.Due != due {
				t.Errorf("%s: %q of %d, %+v, %v, %v; want %q, due %v", when, got, total, gaps, err, failed, channels, due)
			}
		}
		read := func(gap int64, channels ...string) {
			t.Helper()
			for _, c := range channels {
				must(t, db.MarkRead(t.Context(), team, c, gap))
			}
		}
		want("a new database", false)
		must(t, db.OpenGap(t.Context()))
		want("no channel is known", true)
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2"}, Channel{ID: "C3"}, Channel{ID: "C4", Archived: true})
		for i, c := range []string{"C1", "C3"} {
			m := said(at(i), "")
			m.Channel = c
			must(t, db.SaveHistory(t.Context(), []chat.Message{m}))
		}
		want("all", true, "C3", "C1", "C2")
		read(1, "C3", "C1")
		if got, total, err := db.UnreadChannels(t.Context(), team, 1, []string{"C2"}, 1); err != nil || got != nil || total != 0 {
			t.Errorf("except the last: %q of %d, %v", got, total, err)
		}
		must(t, db.CloseGap(t.Context(), team))
		want("one is left", true, "C2")
		must(t, db.OpenGap(t.Context()))
		want("another gap, before the first was read up", true, "C2", "C3", "C1")
		if got, total, err := db.UnreadChannels(t.Context(), team, 2, []string{"C3"}, 1); err != nil || fmt.Sprint(got, total) != "[C2] 2" {
			t.Errorf("the first: %q of %d, %v", got, total, err)
		}
		if got, _, err := db.UnreadChannels(t.Context(), team, 1, nil, 10); err != nil || !slices.Equal(got, []string{"C2"}) {
			t.Errorf("since the first gap: %q, %v", got, err)
		}
		read(2, "C1", "C2")
		read(1, "C3", "C1") // marks do not move back
		want("read since the first gap only", true, "C3")
		read(2, "C3")
		want("read and not closed", true)
		must(t, db.CloseGap(t.Context(), team))
		want("closed", false)
		if g, err := db.Gaps(t.Context(), team); err != nil || g.Newest != 2 || g.Closed != db.now() {
			t.Errorf("%+v, %v", g, err)
		}
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C3"}, Channel{ID: "C5"})
		want("a new channel", true, "C5")
		read(2, "C5")
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2"}, Channel{ID: "C3"}, Channel{ID: "C5"})
		want("one that was joined again", true, "C2")
		read(2, "C2")
		want("without a gap", false)
	})
}

func TestStarters(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		save := func(id string, at time.Duration, settled bool) Starter {
			t.Helper()
			x := Starter{ID: id, Beat: noon.Add(at), Settled: settled}
			must(t, db.SaveStarter(t.Context(), x))
			return x
		}
		want := func(want ...Starter) {
			t.Helper()
			if got, err := db.Starters(t.Context()); err != nil || !slices.Equal(got, want) {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		}
		a := save("a", 0, false)
		b := save("b", time.Minute, false)
		want(a, b)
		b = save("b", 2*time.Minute, true)
		c := save("c", starterLifetime+time.Minute, false) // a was killed an hour ago
		want(b, c)
		must(t, db.RemoveStarter(t.Context(), "b"))
		want(c)
	})
}
