package store

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// facts is the Facts of a message, with the decision run/1 and the reply r.
func (db database) facts(t *testing.T, c chat.Conversation, ts string, since time.Time) Facts {
	t.Helper()
	f, err := db.Facts(t.Context(), FactsRequest{Conversation: c, Trigger: ts, Decision: "run/1", Reply: "r", Since: since})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFacts(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		root := said(at(1), "")
		top, thread := of(root), chat.Conversation{Team: team, Channel: channel, Thread: root.TS}
		if got := db.facts(t, top, root.TS, noon); !reflect.DeepEqual(got, Facts{Tail: []chat.Message{}, Set: chat.Set{}}) {
			t.Errorf("of nothing is known %+v", got)
		}
		asked := said(at(2), root.TS)
		asked.Revision, asked.Files = at(3), []chat.File{{ID: "F1", Name: "cat.png", MIME: "image/png"}}
		db.store(t, root, asked)
		db.sync(t, Channel{ID: channel, Name: "general"}, Channel{ID: "C2", Name: "another"})
		confidence, delay := 0.85, 120
		d := Decision{
			Key: "run/1", WorkflowID: thread.ID(), TriggerTS: asked.TS, Revision: at(3), Source: "judgment", ShouldRespond: true, Reason: "nobody answered",
			Confidence: &confidence, DelaySeconds: &delay, Model: "m", TokensIn: 10, TokensOut: 20, Outcome: "pending", DecidedUS: micros(noon),
		}
		p := parts("r", "one", "two")
		must(t, db.Compose(t.Context(), p, d))
		for i, call := range []Call{
			{TokensIn: 1}, {TokensIn: 20, TokensOut: 300}, {Error: "timeout"},
			{Scope: chat.Scope{Channel: "C2"}, TokensIn: 4000}, {TokensIn: 50000, Ended: noon.Add(-time.Second)},
		} {
			call.Scope.Team = team
			if call.Scope.Channel == "" {
				call.Scope.Channel = channel
			}
			if err := db.SaveCall(t.Context(), call); err != nil {
				t.Fatal(i, err)
			}
		}
		bare := func(m chat.Message) chat.Message {
			return chat.Message{Team: m.Team, Channel: m.Channel, TS: m.TS, ThreadTS: m.ThreadTS, BotID: m.BotID, Own: m.Own}
		}
		want := Facts{
			Decision: &d, ComposedBy: "run/1", Calls: 2, Tokens: 321, Tail: []chat.Message{bare(root), bare(asked)}, Trigger: &asked, ChannelName: "general", Set: chat.Set{},
		}
		if got := db.facts(t, thread, asked.TS, noon); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		want.Calls, want.Tokens, want.Tail, want.Trigger = 0, 0, want.Tail[:1], &root
		if got := db.facts(t, top, root.TS, time.Time{}); !reflect.DeepEqual(got, want) {
			t.Errorf("where cost does not matter: got  %+v\nwant %+v", got, want)
		}
		// One part's attempt is enough for Begun.
		must(t, db.db.Model(&outboxRow{}).Where("part = 1").Update("attempts", 1).Error)
		if !db.facts(t, top, root.TS, noon).Begun {
			t.Error("nobody knows that the reply has begun to be posted")
		}
		elsewhere := chat.Conversation{Team: "T2", Channel: channel}
		if got, err := db.Facts(t.Context(), FactsRequest{Conversation: elsewhere, Trigger: root.TS, Since: noon}); err != nil || !reflect.DeepEqual(got, Facts{Tail: []chat.Message{}, Set: chat.Set{}}) {
			t.Errorf("of another workspace: %+v, %v", got, err)
		}
		gone := asked
		gone.Deleted = true
		db.store(t, gone)
		if got := db.facts(t, thread, asked.TS, noon); got.Trigger == nil || !got.Trigger.Deleted || len(got.Tail) != 1 {
			t.Errorf("of a deleted message: %+v", got)
		}
	})
}

// Messages that people send in a thread under the decision's messages, after the judge has read.
func TestFactsNewThreadReply(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		before, first, asked, after := said(at(10), ""), said(at(20), ""), said(at(30), ""), said(at(40), "")
		db.store(t, before, first, asked, after, said(at(50), first.TS))
		db.clock.advance(time.Minute)
		const judging = 5 * time.Second
		db.clock.advance(judging)
		d := Decision{Key: "run/1", WorkflowID: of(asked).ID(), TriggerTS: asked.TS, Source: "judgment", Outcome: "pending", ReadUS: micros(db.clock.now().Add(-judging))}
		must(t, db.Decide(t.Context(), d))
		aside := func(oldest string) string {
			t.Helper()
			f, err := db.Facts(t.Context(), FactsRequest{Conversation: of(asked), Trigger: asked.TS, Decision: "run/1", Oldest: oldest})
			if err != nil {
				t.Fatal(err)
			}
			return f.NewThreadReply
		}
		own, bot, gone := said(at(60), first.TS), said(at(61), first.TS), said(at(62), first.TS)
		own.Own, bot.BotID, gone.Deleted = true, "B1", true
		db.store(t, own, bot, gone, said(at(63), before.TS), said(at(64), after.TS), said(at(65), ""))
		if got := aside(first.TS); got != "" {
			t.Errorf("%s makes the decision outdated, which is no person's, or under another message", got)
		}
		db.clock.advance(-judging / 2)
		answer := said(at(66), first.TS) // while the model is asked
		db.store(t, answer)
		if got := aside(first.TS); got != answer.TS {
			t.Errorf("%q was said aside, want %s", got, answer.TS)
		}
		if got := aside(asked.TS); got != "" {
			t.Errorf("of the last message %q was said aside, want nothing", got)
		}
		if got := aside(""); got != "" {
			t.Errorf("%q was said aside, which nobody has asked for", got)
		}
		db.store(t, said(at(67), asked.TS))
		if got := aside(first.TS); got != at(67) {
			t.Errorf("%q was said aside, want %s", got, at(67))
		}
	})
}

// A conversation is silenced directly or with the top level of its channel.
func TestFactsSilenced(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread, other := chat.Conversation(aThread), chat.Conversation{Team: team, Channel: channel, Thread: at(99)}
		hour, century := noon.Add(time.Hour), noon.AddDate(100, 0, 0)
		for i, step := range []struct {
			of                 chat.Conversation
			until              time.Time
			top, thread, other time.Time
		}{
			{thread, hour, time.Time{}, hour, time.Time{}},
			{thread.Top(), century, century, century, century},
			{thread.Top(), noon, noon, hour, noon},
			{thread.Top(), time.Time{}, time.Time{}, hour, time.Time{}},
		} {
			must(t, db.ApplyOrder(t.Context(), Order{ID: fmt.Sprint(i), Scope: chat.Scope(step.of), Kind: "snooze", By: "cli:carol", Until: step.until}))
			for c, want := range map[chat.Conversation]time.Time{thread.Top(): step.top, thread: step.thread, other: step.other} {
				until, err := db.SilencedUntil(t.Context(), c)
				if got := db.facts(t, c, at(1), noon).SilencedUntil; !got.Equal(want) || err != nil || !until.Equal(want) {
					t.Errorf("step %d: %s is silent until %v, or %v, %v; want %v", i, c.ID(), got, until, err, want)
				}
			}
			if until, err := db.SilencedUntil(t.Context(), other, thread); err != nil || !until.Equal(step.thread) {
				t.Errorf("step %d: one of them is silent until %v, %v; want %v", i, until, err, step.thread)
			}
		}
	})
}

func TestFactsTail(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		parent, deleted := said(at(10), ""), said(at(14), at(10))
		deleted.Deleted = true
		db.store(t, said(at(12), parent.TS), parent, said(at(11), ""), said(at(13), parent.TS), deleted, said(at(15), ""))
		thread := chat.Conversation{Team: team, Channel: channel, Thread: parent.TS}
		for c, want := range map[chat.Conversation]string{
			thread.Top(): "10 11 15 ", thread: "10 12 13 ", {Team: team, Channel: "C9"}: "",
		} {
			if got := seconds(db.facts(t, c, at(1), noon).Tail); got != want {
				t.Errorf("the tail of %s is %s, want %s", c.ID(), got, want)
			}
		}
		// With people the tail is short. Among bots it has all their messages.
		length := func(c chat.Conversation) int { return len(db.facts(t, c, at(1), noon).Tail) }
		for n := range 40 {
			db.store(t, said(at(100+n), parent.TS))
		}
		if got := length(thread); got != 20+1 {
			t.Errorf("the tail has %d messages, want 20 and the parent", got)
		}
		for n := range 40 {
			m := said(at(200+n), parent.TS)
			if m.BotID = "B1"; n%2 == 0 {
				m.BotID, m.Own = "", true
			}
			db.store(t, m)
		}
		tail := db.facts(t, thread, at(1), noon).Tail
		if len(tail) != 2+40+40+1 || !tail[len(tail)-2].Own || tail[len(tail)-2].ByBot() == tail[10].ByBot() {
			t.Errorf("the tail has %d messages, want all of them; the last but one is %+v", len(tail), tail[len(tail)-2])
		}
		db.store(t, said(at(300), parent.TS))
		if got := length(thread); got != 20+1 {
			t.Errorf("once a person speaks the tail has %d messages", got)
		}
	})
}

func TestFactsSaw(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		saw := func(c chat.Conversation, want time.Time) {
			t.Helper()
			if got := db.facts(t, c, at(1), noon).Saw; !got.Equal(want) {
				t.Errorf("the author of the newest of %s had read up to %v, want %v", c.ID(), got, want)
			}
		}
		own := said(at(5), "")
		own.Own = true
		must(t, db.MarkPosted(t.Context(), db.compose(t, parts("r", "text"))[0], own))
		db.store(t, in("C2", own)) // another message with the same ts
		thread := chat.Conversation{Team: team, Channel: channel, Thread: own.TS}
		saw(of(own), noon)
		saw(thread, noon) // no replies yet
		saw(chat.Conversation{Team: team, Channel: "C2"}, time.Time{})
		saw(chat.Conversation{Team: team, Channel: channel, Thread: at(9)}, time.Time{})
		db.store(t, said(at(6), own.TS))
		saw(of(own), noon)
		saw(thread, time.Time{})
		db.store(t, said(at(7), ""))
		saw(of(own), time.Time{})
	})
}

// Where a message came through an app, its facts tell how often such messages were answered, and what was said above
// the thread that it has opened.
func TestFactsThroughApps(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		through := func(m chat.Message) chat.Message { m.Through = "B7"; return m }
		own := func(m chat.Message) chat.Message { m.Own, m.BotID = true, "BBOT"; return m }
		messages := []chat.Message{said(at(1), ""), own(said(at(2), "")), through(said(at(3), "")), own(said(at(4), at(3))), through(said(at(5), at(3)))}
		db.store(t, messages...)
		for i, trigger := range []string{at(3), at(3), at(5), at(1)} {
			// two parts of one answer; the last is to a word by hand
			db.insert(t, &outboxRow{Key: fmt.Sprint("k", i), TeamID: team, ChannelID: channel, TriggerTS: trigger, SentTS: chat.TS(noon.Add(time.Duration(-i) * time.Minute))})
		}
		db.insert(t, &outboxRow{Key: "old", TeamID: team, ChannelID: channel, TriggerTS: at(5), SentTS: chat.TS(noon.Add(-2 * conversation.AppPause))})
		c := chat.Conversation{Team: team, Channel: channel, Thread: at(3)}
		f, err := db.Facts(t.Context(), FactsRequest{Conversation: c, Trigger: at(5)})
		var tail []string
		for _, m := range f.Tail {
			tail = append(tail, m.TS)
		}
		if want := []string{at(1), at(2), at(3), at(4), at(5)}; err != nil || f.ThroughApps != 2 || !slices.Equal(tail, want) || f.Tail[4].Through == "" {
			t.Errorf("%d answers, the tail %v, %v; want 2 and %v", f.ThroughApps, tail, err, want)
		}
		if f, err = db.Facts(t.Context(), FactsRequest{Conversation: c, Trigger: at(1)}); err != nil || f.ThroughApps != 0 || len(f.Tail) != 3 {
			t.Errorf("of a word by hand: %d answers, a tail of %d, %v", f.ThroughApps, len(f.Tail), err)
		}
	})
}
