package store

import (
	"errors"
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
			{Order: Order{ID: "1", Scope: general, Kind: "snooze", Until: century}, thread: century}, // repeated, too late
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
		if err := db.db.Order("id").Find(&rows).Error; err != nil {
			t.Fatal(err)
		}
		if len(rows) != 5 || rows[0].Kind != "snooze" || rows[0].OrderedBy != "cli:carol" || !instant(rows[0].OrderedUS).Equal(noon) ||
			!instant(rows[0].UntilUS).Equal(hour) || rows[0].scope() != general || rows[3].UntilUS != 0 {
			t.Errorf("%+v", rows)
		}
		if none, err := db.Silenced(ctx); err != nil || len(none) != 0 {
			t.Errorf("%v, %v", none, err)
		}
	})
}
