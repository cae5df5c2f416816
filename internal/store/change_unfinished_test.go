package store

import (
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Work counts as unfinished from when it could have been finished until somebody or something ends it.
func TestUnfinished(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		var from time.Time
		const none = -1
		is := func(when string, decision, post, step time.Duration) {
			t.Helper()
			got, err := db.Unfinished(t.Context(), from)
			ok(err)
			from = got.From
			if decision != none && got.Conversation == "" {
				t.Errorf("%s: nothing says which conversation", when)
			}
			for what, ages := range map[string][2]time.Duration{
				"decision": {age(got.Decision), decision}, "post": {age(got.Post), post}, "step": {age(got.Step), step},
			} {
				if ages[0] != ages[1] {
					t.Errorf("%s: the oldest %s is of noon + %v, want %v", when, what, ages[0], ages[1])
				}
			}
		}
		second := func() { db.clock.advance(time.Second) }
		relay := func(c chat.Conversation) {
			t.Helper()
			for _, change := range db.pending(t, c) {
				ok(db.MarkRelayed(t.Context(), []int64{change.ID}))
			}
		}
		is("at first", none, none, none)

		// A mention at the top level is told to the channel and to its thread, which answers. Once told, it counts.
		mention := said(at(1), "")
		here, thread := of(mention), chat.Conversation{Team: team, Channel: channel, Thread: mention.TS}
		db.record(t, mention, func(Known) Entry {
			addressed := conversation.Change{TS: mention.TS, Kind: conversation.Addressed}
			return Entry{Message: &mention, Changes: []Change{{Conversation: here, Change: addressed}, {Conversation: thread, Change: addressed}}}
		})
		is("not relayed yet", none, none, none)
		second() // 1
		relay(here)
		is("told to its channel", none, none, none)
		second() // 2
		relay(thread)
		is("told to its thread", 2*time.Second, none, none)

		// What it looks up, and what it posts.
		second() // 3
		steps, err := db.SaveTurn(t.Context(), thread, mention.TS, Turn{Decision: "run/1", Steps: []Step{{CallID: "a", Tool: "x", State: StepWaiting}, {CallID: "b", Tool: "x", State: StepProposed}}})
		ok(err)
		is("it looks something up", 2*time.Second, none, 3*time.Second)
		_, err = db.BeginStep(t.Context(), steps[0].ID)
		ok(err)
		is("still", 2*time.Second, none, 3*time.Second)
		ok(db.EndStep(t.Context(), steps[0].ID, StepResult{Output: "found"}))
		is("it found something", 2*time.Second, none, none)
		second() // 4
		d := Decision{Key: "run/1", WorkflowID: thread.ID(), TriggerTS: mention.TS, Source: "addressed", ShouldRespond: true, Outcome: conversation.Pending}
		reply := Part{Key: "k", Reply: "r", Team: team, Channel: channel, Thread: mention.TS, Trigger: mention.TS, Text: "hi", Decision: d.Key}
		ok(db.Compose(t.Context(), []Part{reply}, d))
		is("written", 2*time.Second, 4*time.Second, none)
		_, err = db.MarkReplied(t.Context(), reply, said(at(9), mention.TS))
		ok(err)
		is("posted", none, none, none)

		// A yes counts once its delay is over. What is given up counts no more, with its posts and steps.
		delay := 60
		ok(db.Decide(t.Context(), Decision{Key: "run/2", WorkflowID: here.ID(), TriggerTS: at(20), Source: "judgment", Confidence: new(0.9), DelaySeconds: &delay, Outcome: conversation.Pending}))
		is("delayed", 64*time.Second, none, none)
		d2 := Decision{Key: "run/2", WorkflowID: here.ID(), TriggerTS: at(20), Source: "judgment", Outcome: conversation.Pending}
		ok(db.Compose(t.Context(), []Part{{Key: "k2", Reply: "r2", Team: team, Channel: channel, Trigger: at(20), Text: "hi", Decision: "run/2"}}, d2))
		_, err = db.SaveTurn(t.Context(), here, at(20), Turn{Decision: "run/2", Steps: []Step{{CallID: "a", Tool: "x", State: StepWaiting}}})
		ok(err)
		is("under way", 64*time.Second, 4*time.Second, 4*time.Second)
		ok(db.Settle(t.Context(), "run/2", conversation.Withdrawn, at(21)))
		is("withdrawn", none, none, none)

		// A deleted mention needs no decision, and a later outcome is one for all before it.
		for i, end := range []func(m chat.Message){
			func(m chat.Message) { db.record(t, m, keep(m, conversation.Deleted)) },
			func(m chat.Message) {
				second()
				ok(db.Decide(t.Context(), Decision{Key: "later", WorkflowID: of(m).ID(), TriggerTS: at(29), Source: "rule", Outcome: conversation.Silent}))
			},
		} {
			m := said(at(30+i), at(1))
			second()
			db.record(t, m, keep(m, conversation.Addressed))
			relay(of(m))
			is("another mention", db.clock.now().Sub(noon), none, none)
			end(m)
			is("which is over", none, none, none)
		}

		m := said(at(40), at(1))
		second()
		db.record(t, m, keep(m, conversation.Addressed))
		relay(of(m))
		is("one more", db.clock.now().Sub(noon), none, none)
		db.clock.advance(unfinishedSince + time.Second)
		is("a day later", none, none, none)
	})
}

// age is a time after noon; -1 for the zero time.
func age(at time.Time) time.Duration {
	if at.IsZero() {
		return -1
	}
	return at.Sub(noon)
}

func TestRunsAndChannelsAreCounted(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		before, err := db.LastRuns(t.Context())
		if err != nil || len(before) != 3 || time.Since(before["memory"]).Abs() > 24*time.Hour {
			t.Errorf("before the first run: %v, %v; want when the table was made", before, err)
		}
		must(t, db.RecordRun(t.Context(), "memory"))
		last, err := db.LastRuns(t.Context())
		if err != nil || !last["memory"].Equal(noon) || !last["retention"].Equal(before["retention"]) {
			t.Errorf("memory ran at noon, but the last runs are %v, %v", last, err)
		}
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2"})
		db.sync(t, Channel{ID: "C1"}) // it has left the other
		if n, err := db.CountJoined(t.Context()); err != nil || n != 1 {
			t.Errorf("in %d channels, %v; want 1", n, err)
		}
	})
}
