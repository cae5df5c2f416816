package agents

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

const poison = "POISON"

// refusesPoison answers every question with a note, except those that contain the poison.
func refusesPoison(r llmtest.Reply) llmtest.Handler {
	return func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.System, poison) {
			return r
		}
		return note(c)
	}
}

// captureLog returns what the agents log from now on.
func (b *bundle) captureLog() *bytes.Buffer {
	var lines bytes.Buffer
	b.Logger = slog.New(slog.NewTextHandler(&lines, nil))
	return &lines
}

// A message that the model refuses does not keep later messages from being remembered, and is
// not asked about again and again. Days pass between the messages, but not for the
// database. So a message stored just before a run is new to the next run, too, as long as
// it is not too old.
func TestRefusedMessageBlocksNoMemory(t *testing.T) {
	for name, refusal := range map[string]llmtest.Reply{
		"blocked": {Blocked: true, InputTokens: 9}, "filtered by Azure": {Status: 400, Code: "content_filter", Message: "POISON is bad"},
	} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, b *bundle) {
				b.useProvider(config.ProviderOpenAI)
				if refusal.Blocked {
					b.useProvider(config.ProviderGemini)
				}
				lines := b.captureLog()
				b.Model.Handle(refusesPoison(refusal))
				b.addChannels(public("C1", "general"))
				for _, day := range []struct {
					after       int
					text        string
					long, short int      // the versions in force
					told        []string // terms in the log
				}{
					{0, "the plan", 1, 1, nil},
					{2, poison, 1, 1, []string{"short-term", "long-term"}},
					{4, "the second plan", 1, 2, []string{"long-term"}},
					{6, "the third plan", 2, 3, nil},
					{30, "the fourth plan", 3, 4, nil},
				} {
					after := time.Duration(day.after) * 24 * time.Hour
					said := b.say("C1", time.Hour-after, day.text)
					lines.Reset()
					when := fmt.Sprint("day ", day.after)
					b.wantKinds(when, b.remember(channel("C1"), after), channelShort, channelLong)
					if long, short := b.currentMemories(channel("C1")); long.Version != day.long || short.Version != day.short {
						t.Errorf("%s: versions %d and %d are in force, want %d and %d", when, long.Version, short.Version, day.long, day.short)
					}
					b.wantKinds(when+", again", b.remember(channel("C1"), after+time.Second))
					if n := strings.Count(lines.String(), "\n"); n != len(day.told) {
						t.Errorf("%s: %d lines of log, want %d", when, n, len(day.told))
					}
					for _, term := range day.told {
						b.WantWords(when, lines.String(), term+" memory", `scope="channel C1"`, "last="+said.TS, "blocked", "!"+poison, "!plan")
					}
				}
			})
		})
	}
}

// If one term is refused the other is renewed. Each new message asks for the short-term memory
// again, until the refused message has left its window.
func TestRefusalOfOneTerm(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		for n, c := range []struct {
			refused string
			reply   llmtest.Reply
		}{
			{channelShort, llmtest.Reply{Blocked: true}}, {channelShort, llmtest.Fail(400)}, {channelShort, llmtest.Fail(422)},
			{channelLong, llmtest.Reply{Blocked: true}}, {channelLong, llmtest.Fail(400)}, {channelLong, llmtest.Fail(413)},
		} {
			id := fmt.Sprint("C", n)
			b.addChannels(public(id, id))
			b.Model.Handle(func(call llmtest.Call) llmtest.Reply {
				if kindOf(call) == c.refused && strings.Contains(call.System, poison) {
					return c.reply
				}
				return note(call)
			})
			other := 0
			for hour, want := range []int{0: 1, 1: 1, 2: 1, 72: 0, 120: 2} { // the version of the refused term
				if want == 0 && hour != 72 {
					continue
				}
				text := "hello"
				if hour == 1 {
					text = poison
				}
				at := time.Duration(hour) * time.Hour
				b.say(id, -at, text)
				when := fmt.Sprintf("%s of %d, hour %d", c.refused, n, hour)
				b.wantKinds(when, b.remember(channel(id), at), channelShort, channelLong)
				other++
				long, short := b.currentMemories(channel(id))
				got, gone := long.Version, short.Version
				if c.refused == channelShort {
					got, gone = gone, got
				}
				if gone != other || want > 0 && (got < want || want == 1 && got > 1) {
					t.Errorf("%s: versions %d and %d are in force", when, long.Version, short.Version)
				}
			}
		}
	})
}

// A failure that is not about the messages does not move the cursor.
func TestOutagesLeaveNothingOut(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		b.say("C1", time.Hour, "first")
		b.remember(channel("C1"), 0)
		long, short := b.currentMemories(channel("C1"))
		before, err := b.Store.CurrentMemory(t.Context(), channel("C1"))
		if err != nil {
			t.Fatal(err)
		}
		b.say("C1", 0, "second")
		ok, blocked := llmtest.Text("- noted"), llmtest.Reply{Blocked: true}
		for _, c := range []struct {
			name    string
			replies []llmtest.Reply
		}{
			{"an outage", []llmtest.Reply{llmtest.Fail(503)}},
			{"an outage in between", []llmtest.Reply{ok, llmtest.Fail(503)}},
			{"an outage after a refusal", []llmtest.Reply{blocked, llmtest.Fail(503)}},
			{"too many requests", []llmtest.Reply{blocked, llmtest.Fail(429)}},
			{"dropped", []llmtest.Reply{blocked, {Drop: true}}},
			{"empty", []llmtest.Reply{blocked, {}}},
			{"a wrong key", []llmtest.Reply{llmtest.Fail(401)}},
			{"a key that became wrong", []llmtest.Reply{blocked, llmtest.Fail(403)}},
			{"Google's wrong key", []llmtest.Reply{{Status: 400, Code: "API_KEY_INVALID"}}},
			{"no such model", []llmtest.Reply{llmtest.Fail(404)}},
			{"no such model any more", []llmtest.Reply{blocked, llmtest.Fail(404)}},
			{"no money", []llmtest.Reply{blocked, llmtest.Fail(402)}},
			{"a setting that the model does not know", []llmtest.Reply{llmtest.Fail(400)}},
			{"the same after a refusal", []llmtest.Reply{blocked, llmtest.Fail(400)}},
		} {
			b.Model.Handle(llmtest.Script(c.replies...))
			b.say("C1", 0, c.name) // outdates the drafts
			if _, err := b.Remember(b.Context(), channel("C1"), b.now.Add(time.Minute), 1); err == nil {
				t.Errorf("%s: no error", c.name)
			}
			if after, err := b.Store.CurrentMemory(t.Context(), channel("C1")); err != nil || after.Cursor != before.Cursor || !after.Read.Equal(before.Read) {
				t.Errorf("%s: the cursor has moved from %+v to %+v, %v", c.name, before.Cursor, after.Cursor, err)
			}
			if l, s := b.currentMemories(channel("C1")); l.ID != long.ID || s.ID != short.ID {
				t.Errorf("%s: %q and %q are in force", c.name, l.Text, s.Text)
			}
		}
		b.Model.Handle(note)
		calls := b.remember(channel("C1"), time.Hour)
		b.wantKinds("at last", calls, channelShort, channelLong)
		b.WantWords("long", material(calls[1]), "second", "the same after a refusal")
	})
}

// What the workspace must not keep is dropped, even if its new memory is refused.
func TestRefusalOfThreadsAndWorkspace(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"), public("C2", "random"))
		parent := b.say("C1", time.Hour, "the parent")
		b.reply(parent, time.Hour, "first reply")
		b.say("C2", time.Hour, "something else")
		b.remember(thread(parent), 0)
		b.reply(parent, 0, poison)
		b.Model.Handle(refusesPoison(llmtest.Reply{Blocked: true}))
		b.wantKinds("a thread", b.remember(thread(parent), 0), ofThread)
		if _, short := b.currentMemories(thread(parent)); short.Version != 1 {
			t.Errorf("version %d is in force of the thread", short.Version)
		}
		b.wantKinds("a thread, again", b.remember(thread(parent), 0))

		b.Model.Handle(note)
		for _, s := range []chat.Scope{channel("C1"), channel("C2"), workspace} {
			b.remember(s, 0)
		}
		b.Model.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Blocked: true} })
		b.addChannels(private("C2", "random"))
		made, err := b.Remember(b.Context(), workspace, b.now.Add(time.Minute), 1)
		if err != nil || made != (RememberResult{Calls: 2, Changed: true}) {
			t.Errorf("%+v, %v", made, err)
		}
		if long, _ := b.currentMemories(workspace); long.Text != "" {
			t.Errorf("%q is in force, and must not be known any more", long.Text)
		}
	})
}

// A refusal reports no change, and is saved as a failed call.
func TestRefusalIsSaved(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	b.say("C1", time.Hour, poison)
	b.Model.Handle(refusesPoison(llmtest.Reply{Blocked: true, InputTokens: 9}))
	if made, err := b.Remember(b.Context(), channel("C1"), b.now, 1); err != nil || made != (RememberResult{Calls: 2}) {
		t.Errorf("%+v, %v", made, err)
	}
	if calls, tokens, err := b.Store.Spent(t.Context(), "T1", "C1", b.now.Add(-time.Hour)); err != nil || calls != 2 || tokens != 18 {
		t.Errorf("%d calls of %d tokens, %v", calls, tokens, err)
	}
	b.Model.Handle(refusesPoison(llmtest.Fail(400)))
	b.say("C1", 0, "a setting, perhaps")
	var e *llm.Error
	if made, err := b.Remember(b.Context(), channel("C1"), b.now, 1); !errors.As(err, &e) || e.Status != 400 || made.Calls != 2 {
		t.Errorf("%+v, %v", made, err)
	}
}
