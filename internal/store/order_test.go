package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestApplyOrder(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		general := chat.Scope{Team: team, Channel: channel}
		thread := chat.Scope{Team: team, Channel: channel, Thread: "1.000000"}
		hour, century := noon.Add(time.Hour), noon.AddDate(100, 0, 0)
		for _, step := range []struct {
			Order
			err         error
			top, thread time.Time // silent until
		}{
			{Order: Order{ID: "1", Scope: general, Kind: "snooze", Until: hour}, top: hour},
			{Order: Order{ID: "2", Scope: thread, Kind: "mute", Until: century}, top: hour, thread: century},
			{Order: Order{ID: "3", Scope: thread, Kind: "drop"}, top: hour, thread: century},
			{Order: Order{ID: "4", Scope: general, Kind: "unmute"}, thread: century},
			// repeated, too late
			{Order: Order{ID: "1", Scope: general, Kind: "snooze", Until: century}, thread: century},
			{Order: Order{ID: "1", Scope: thread, Kind: "snooze", Until: hour}, err: ErrOrderIDTaken, thread: century},
			{Order: Order{ID: "3", Scope: thread, Kind: "unmute"}, err: ErrOrderIDTaken, thread: century},
			{Order: Order{ID: "5", Scope: thread, Kind: "unmute"}},
		} {
			step.By, step.At = "cli:carol", noon
			if err := db.ApplyOrder(ctx, step.Order); !errors.Is(err, step.err) {
				t.Errorf("%s %s: %v, want %v", step.Kind, step.ID, err, step.err)
			}
			thread, other := chat.Conversation(thread), chat.Conversation{Team: team, Channel: "C2"}
			got, err := db.Silenced(ctx, thread, other)
			if err != nil || !got[thread.Top().ID()].Equal(step.top) || !got[thread.ID()].Equal(step.thread) || !got[other.ID()].IsZero() {
				t.Errorf("after %s %s: %v, %v; want %s and %s", step.Kind, step.ID, got, err, step.top, step.thread)
			}
		}
		var rows []orderRow
		must(t, db.db.Order("id").Find(&rows).Error)
		if len(rows) != 5 || rows[0].Kind != "snooze" || rows[0].OrderedBy != "cli:carol" || !instant(rows[0].OrderedUS).Equal(noon) ||
			!instant(rows[0].UntilUS).Equal(hour) || rows[0].scope() != general || rows[3].UntilUS != 0 {
			t.Errorf("%+v", rows)
		}
		if none, err := db.Silenced(ctx); err != nil || len(none) != 0 {
			t.Errorf("%v, %v", none, err)
		}
	})
}

// A mute of the workspace silences every conversation in it, and no other workspace. It neither
// begins nor ends the mute of a channel.
func TestMuteEverywhere(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		thread := chat.Conversation{Team: team, Channel: channel, Thread: "1.000000"}
		elsewhere := chat.Conversation{Team: "T2", Channel: channel}
		century := time.Now().AddDate(100, 0, 0).Truncate(time.Second)
		for i, step := range []struct {
			kind                   string
			scope                  chat.Scope
			until                  time.Time
			thread, top, elsewhere bool // silent
			by                     string
		}{
			{"mute", chat.Scope{Team: team}, century, true, true, false, "cli:0"},
			{"mute", chat.Scope(thread), century, true, true, false, "cli:0"},
			{"mute", chat.Scope{Team: team}, century, true, true, false, "cli:2"},
			{"unmute", chat.Scope(thread.Top()), time.Time{}, true, true, false, "cli:2"},
			{"unmute", chat.Scope{Team: team}, time.Time{}, true, false, false, ""},
			{"unmute", chat.Scope{Team: team}, time.Time{}, true, false, false, ""},
		} {
			order := Order{ID: fmt.Sprint(i), Scope: step.scope, Kind: step.kind, By: fmt.Sprint("cli:", i), Until: step.until, At: noon.Add(time.Duration(i) * time.Second)}
			must(t, db.ApplyOrder(ctx, order))
			for c, want := range map[chat.Conversation]bool{thread: step.thread, thread.Top(): step.top, elsewhere: step.elsewhere} {
				if until, err := db.SilencedUntil(ctx, c); err != nil || until.After(time.Now()) != want {
					t.Errorf("step %d: %s is silent until %s, %v; want %v", i, c.ID(), until, err, want)
				}
				if f := db.facts(t, c, at(1), noon); f.SilencedUntil.After(time.Now()) != want || f.MutedUntil.After(time.Now()) != (c.Team == team && step.by != "") {
					t.Errorf("step %d: the facts of %s: %+v", i, c.ID(), f)
				}
			}
			by := ""
			if o, err := db.MutedEverywhere(ctx, team); err != nil {
				t.Fatal(err)
			} else if o != nil {
				by = o.By
			}
			if by != step.by {
				t.Errorf("step %d: muted everywhere by %q, want %q", i, by, step.by)
			}
		}
		orders, err := db.MutesEverywhere(ctx, team, noon.Add(3*time.Second), 10)
		if err != nil || len(orders) != 3 || orders[0].ID != "2" || orders[2].ID != "5" {
			t.Errorf("%+v, %v", orders, err)
		}
	})
}
