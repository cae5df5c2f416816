package activities

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

func isSecondLook(c llmtest.Call) bool { return strings.Contains(string(c.Schema), `"post"`) }

// withSecondLooks answers judgments with a yes, replies with "Seven.", and second looks in turn.
func withSecondLooks(confidence float64, looks ...llmtest.Reply) option {
	judge, look := llmtest.Yes("nobody answered", confidence, 0), llmtest.Script(looks...)
	return withModel(func(c llmtest.Call) llmtest.Reply {
		switch {
		case isSecondLook(c):
			return look(c)
		case c.Judgment():
			return judge
		}
		return llmtest.Text("Seven.")
	})
}

func lookAnswer(post bool, reason string) llmtest.Reply {
	return llmtest.Text(fmt.Sprintf(`{"reason": %q, "post": %v}`, reason, post))
}

// looks returns the second looks that the model was asked for.
func (b *bundle) looks() (looks []llmtest.Call) {
	for _, c := range b.Model.Calls() {
		if isSecondLook(c) {
			looks = append(looks, c)
		}
	}
	return looks
}

// A second look reads the draft and the conversation afresh. Its no is silence, and asks no model
// again where the attempt's result is lost.
func TestSecondLook(t *testing.T) {
	t.Parallel()
	newAnswer := regexp.MustCompile(`I have counted eight\n\((\d+|under 1) min ago\) \[new\]\n`)
	for _, test := range []struct {
		mode         config.SecondLook
		post         bool
		later        time.Duration // since the judgment
		looks        int
		wantsSilence bool
	}{
		{config.SecondLookOff, true, time.Hour, 0, false},
		{config.SecondLookOff, false, time.Hour, 0, false},
		{config.SecondLookWaited, true, 0, 0, false},
		{config.SecondLookWaited, false, 0, 0, false},
		{config.SecondLookWaited, true, time.Hour, 1, false},
		{config.SecondLookWaited, false, time.Hour, 1, true},
		{config.SecondLookAlways, true, 0, 1, false},
		{config.SecondLookAlways, false, 0, 1, true},
	} {
		t.Run(fmt.Sprintf("%s_%v_%s", test.mode, test.post, test.later), func(t *testing.T) {
			t.Parallel()
			b := setup(t, withSecondLooks(0.9, lookAnswer(test.post, "I have read it")))
			b.SecondLook = test.mode
			task := atTopLevel(b.say("how many dwarfs?"))
			b.judge(task)
			b.say("I have counted eight", workspace.InThread(task.Trigger))
			b.Clock = func() time.Time { return time.Now().Add(test.later) }
			want := conversation.Done
			if test.wantsSilence {
				want = conversation.Silenced
			}
			for range 2 { // the first attempt's result is lost
				if got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task}); err != nil || got.Result != want {
					t.Fatalf("got %+v, %v, want %s", got, err, want)
				}
			}
			looks := b.looks()
			if len(looks) != test.looks || len(b.Model.Calls()) != 2+test.looks {
				t.Fatalf("%d second looks in %d calls, want %d", len(looks), len(b.Model.Calls()), test.looks)
			}
			for _, c := range looks {
				if c.Model != "small" || !strings.Contains(c.System, "\n\nSeven.\n\n") || !newAnswer.MatchString(c.System) {
					t.Errorf("%s was asked\n%s", c.Model, c.System)
				}
			}
			d, parts := b.decision(task), b.outbox(task)
			if !d.ShouldRespond || d.Source != "judgment" || d.Rule != "" || d.Reason != "nobody answered" {
				t.Errorf("the ledger has %+v, want the judgment", d)
			}
			calls, err := b.Store.CallSummaries(t.Context(), d.Key, llm.PurposeJudgment)
			if err != nil || len(calls) != 1 || calls[0].Calls != 1+test.looks {
				t.Errorf("the ledger has the calls %+v, %v, want %d", calls, err, 1+test.looks)
			}
			switch {
			case test.wantsSilence && (d.Outcome != conversation.Silent || d.OutcomeBy != "second_look" || len(parts) != 0):
				t.Errorf("after a no: %s by %s, and the outbox has %+v", d.Outcome, d.OutcomeBy, parts)
			case !test.wantsSilence && (d.Outcome != conversation.Pending || len(parts) != 1 || parts[0].Text != "Seven."):
				t.Errorf("%s by %s, and the outbox has %+v", d.Outcome, d.OutcomeBy, parts)
			}
		})
	}
}

// Where config.SecondLookWaited looks again.
func TestSecondLookWaited(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		for _, test := range []struct {
			name       string
			confidence float64 // of at least 0.5
			later      time.Duration
			react      func(b *bundle, m chat.Message)
			want       int
		}{
			{name: "at once and sure", confidence: 0.9},
			{name: "just before the time", confidence: 0.9, later: 30 * time.Second},
			{name: "after a minute", confidence: 0.9, later: time.Minute, want: 1},
			{name: "hardly sure enough", confidence: 0.65, want: 1},
			{name: "just sure enough", confidence: 0.66},
			{name: "a reaction since", confidence: 0.9, want: 1, react: func(b *bundle, m chat.Message) { b.react(m, time.Now(), false) }},
			{name: "a reaction before", confidence: 0.9, react: func(b *bundle, m chat.Message) { b.react(m, time.Now().Add(-time.Hour), false) }},
			{name: "a reaction taken back", confidence: 0.9, react: func(b *bundle, m chat.Message) {
				b.react(m, time.Now(), false)
				b.react(m, time.Now().Add(time.Second), true)
			}},
			{name: "a reaction in a thread below", confidence: 0.9, react: func(b *bundle, m chat.Message) {
				b.react(b.say("in here", workspace.InThread(m.TS)), time.Now(), false)
			}},
		} {
			b := setup(t, url, withSecondLooks(test.confidence, lookAnswer(true, "still open")))
			b.SecondLook, b.settings.MinConfidence = config.SecondLookWaited, 0.5
			m := b.say("how many dwarfs?")
			task := atTopLevel(m)
			task.Decision = "run of " + strings.ReplaceAll(test.name, " ", "-") + "/1"
			b.judge(task)
			if test.react != nil {
				test.react(b, m)
			}
			b.Clock = func() time.Time { return time.Now().Add(test.later) }
			if got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task}); err != nil || got.Result != conversation.Done {
				t.Errorf("%s: got %+v, %v", test.name, got, err)
			}
			if n := len(b.looks()); n != test.want {
				t.Errorf("%s: %d second looks, want %d", test.name, n, test.want)
			}
		}
	})
}

// react records that alice put a reaction under a message or took it back.
func (b *bundle) react(m chat.Message, at time.Time, removed bool) {
	b.Helper()
	if err := b.Store.PutReaction(b.Context(), store.Reaction{
		Team: m.Team, Channel: m.Channel, TS: m.TS, User: b.Alice.ID, Name: "eyes", Removed: removed, At: at,
	}); err != nil {
		b.Fatal(err)
	}
}

// A reply that somebody wants is not looked at again.
func TestNoSecondLookAtWantedReplies(t *testing.T) {
	t.Parallel()
	b := setup(t, withSecondLooks(0.9, lookAnswer(false, "no")))
	b.SecondLook = config.SecondLookAlways
	for i, in := range []ComposeInput{{Addressed: true}, {Ordered: true}, {Notice: true}} {
		in.Task = atTopLevel(b.say("how many dwarfs?"))
		in.Task.Decision = fmt.Sprintf("run/%d", i+1)
		b.judge(in.Task)
		if got, err := runOnce[ReplyOutput](b.Compose, in); err != nil || got.Result != conversation.Done {
			t.Errorf("%+v: got %+v, %v", in, got, err)
		}
	}
	if n := len(b.looks()); n != 0 {
		t.Errorf("%d second looks, want none", n)
	}
}

// A judge that fails for good has said yes. Until then its failures are retried, each with another
// draft, but not for long.
func TestSecondLookThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		looks         []llmtest.Reply
		errors, asked int
		silent        bool
	}{
		"unreadable twice":             {[]llmtest.Reply{llmtest.Text("{}")}, 0, 2, false},
		"unreadable once":              {[]llmtest.Reply{llmtest.Text("{}"), lookAnswer(false, "settled")}, 0, 2, true},
		"refused for good":             {[]llmtest.Reply{llmtest.Fail(400)}, 0, 1, false},
		"unavailable once":             {[]llmtest.Reply{llmtest.Fail(503), lookAnswer(false, "settled")}, 1, 2, true},
		"unavailable all the time":     {[]llmtest.Reply{llmtest.Fail(503)}, maxDrafts - 1, maxDrafts, false},
		"unavailable, then unreadable": {[]llmtest.Reply{llmtest.Fail(503), llmtest.Text("no")}, 1, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withSecondLooks(0.9, test.looks...))
			b.SecondLook = config.SecondLookAlways
			task := atTopLevel(b.say("how many dwarfs?"))
			b.judge(task)
			got, errs := runUntilDone[ReplyOutput](t, b.Compose, ComposeInput{Task: task})
			if len(errs) != test.errors || (got.Result == conversation.Silenced) != test.silent || (len(b.outbox(task)) == 0) != test.silent {
				t.Errorf("got %+v after %v, and the outbox has %+v", got, errs, b.outbox(task))
			}
			if n := len(b.looks()); n != test.asked {
				t.Errorf("%d second looks, want %d", n, test.asked)
			}
		})
	}
}
