package store

import (
	"errors"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Nothing of a retracted reply is posted any more, however an attempt that had begun ends.
func TestRetractStopsAReply(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		p := db.compose(t, parts("r", "one", "two", "three"))
		db.begin(t, p[0], 15*time.Second, true, "the first part")
		must(t, db.MarkPosted(ctx, p[0], chat.Message{Team: team, Channel: channel, TS: at(90), Text: "one"}))
		db.clock.advance(2 * time.Second)
		db.begin(t, p[1], 15*time.Second, true, "the second part")
		order := Order{ID: "1", Scope: chat.Scope{Team: team, Channel: channel}, Kind: "retract", By: "cli:carol", Subject: at(90)}
		for range 2 {
			must(t, db.Retract(ctx, "r", order))
		}
		states := func(want ...Delivery) {
			t.Helper()
			for i, p := range db.parts(t, "r") {
				if p.State != want[i] {
					t.Errorf("part %d is %s, want %s", i, p.State, want[i])
				}
			}
		}
		states(Sent, Retracted, Retracted)

		// The attempt timed out, and may have its effect for a while.
		later := db.clock.now().Add(30 * time.Second)
		must(t, db.EndSend(ctx, p[1], Sending, later, "timeout"))
		states(Sent, Retracted, Retracted)
		if unconfirmed, err := db.Unconfirmed(ctx, team, channel, at(93)); err != nil || len(unconfirmed) != 1 || !unconfirmed[0].LeasedUntil.Equal(later) {
			t.Errorf("%+v, %v", unconfirmed, err)
		}
		db.clock.advance(time.Minute)
		for _, part := range db.parts(t, "r")[1:] {
			for _, seen := range []Part{p[part.Number], part} {
				if seen.State == Retracted {
					continue // no caller begins such a part
				}
				if _, err := db.BeginSend(ctx, seen, time.Second, time.Second); !errors.Is(err, ErrUnderWay) {
					t.Errorf("part %d begins: %v", part.Number, err)
				}
			}
		}

		// What Slack had taken nevertheless is known, and can be deleted.
		must(t, db.MarkPosted(ctx, p[1], chat.Message{Team: team, Channel: channel, TS: at(93), Text: "two"}))
		states(Sent, Sent, Retracted)
		db.index(t)
		for i, ts := range []string{at(90), at(93)} {
			if reply, err := db.ReplyOf(ctx, team, channel, ts); err != nil || reply != "r" {
				t.Errorf("%s is of reply %q, %v", ts, reply, err)
			}
			must(t, db.MarkRetracted(ctx, p[i].Key, chat.Message{Team: team, Channel: channel, TS: ts, Text: "x"}))
			if m, err := db.Message(ctx, team, channel, ts); err != nil || !m.Deleted || m.Text != "" {
				t.Errorf("%+v, %v", m, err)
			}
		}
		states(Retracted, Retracted, Retracted)
		db.wantRows(t, 0, "search", "TRUE")
		must(t, db.SettleRetracted(ctx, p[0].Decision, "cli:carol"))
		must(t, db.Settle(ctx, p[0].Decision, conversation.OutcomePosted, "r"))
		if d, err := db.Decision(ctx, p[0].Decision); err != nil || d.Outcome != conversation.Retracted || d.OutcomeBy != "cli:carol" {
			t.Errorf("%+v, %v", d, err)
		}
	})
}
