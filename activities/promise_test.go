package activities

import (
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// What is to be done about a promise when it is due, by the rules that hold then. Asked again, the answer is the
// same, and the model is asked at most once.
func TestRulesOfAPromise(t *testing.T) {
	t.Parallel()
	const verdict = "nobody has said so"
	for name, c := range map[string]struct {
		unless string
		late   time.Duration
		given  func(*bundle, chat.Message)
		// quiet hours hold for up to three hours more.
		quiet bool
		// settled is what the model says.
		settled bool
		want    conversation.CheckResult
		until   time.Duration // from now on, when to check again
		rule    conversation.Rule
		reason  string
		calls   int
		outcome conversation.Outcome
	}{
		"a reminder":               {want: conversation.CheckKeep, reason: reminderReason, outcome: conversation.Pending},
		"a reminder over budget":   {given: (*bundle).spend, want: conversation.CheckKeep, reason: reminderReason, outcome: conversation.Pending},
		"a look, open":             {unless: "it is answered", want: conversation.CheckKeep, reason: verdict, calls: 1, outcome: conversation.Pending},
		"a look, settled":          {unless: "it is answered", settled: true, want: conversation.CheckRelease, reason: verdict, calls: 1, outcome: conversation.Silent},
		"a look over budget":       {unless: "it is answered", given: (*bundle).spend, want: conversation.CheckPlain, reason: promiseReason, outcome: conversation.Pending},
		"not due yet":              {late: -time.Hour, want: conversation.CheckMoved, until: time.Hour},
		"the question is deleted":  {given: (*bundle).remove, want: conversation.CheckWithdraw},
		"mode off":                 {given: func(b *bundle, _ chat.Message) { b.settings.Mode = config.ModeOff }, want: conversation.CheckCancel, rule: conversation.RuleModeOff, outcome: conversation.Silent},
		"muted for a while":        {given: func(b *bundle, m chat.Message) { b.mute(inThread(m).Conversation, 20*time.Second) }, want: conversation.CheckHold, until: 20 * time.Second},
		"muted for long":           {late: 5 * time.Minute, given: func(b *bundle, m chat.Message) { b.mute(inThread(m).Conversation, time.Hour) }, want: conversation.CheckHold, until: 5 * time.Minute},
		"the channel is muted":     {late: time.Hour, given: func(b *bundle, m chat.Message) { b.mute(atTopLevel(m).Conversation, time.Hour) }, want: conversation.CheckHold, until: 10 * time.Minute},
		"muted, and late by a day": {late: 24 * time.Hour, given: func(b *bundle, m chat.Message) { b.mute(inThread(m).Conversation, time.Hour) }, want: conversation.CheckSkip, rule: conversation.RuleSilenced, outcome: conversation.Silent},
		"quiet hours":              {quiet: true, want: conversation.CheckHold},
		"quiet hours, late":        {late: 48 * time.Hour, quiet: true, want: conversation.CheckHold},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(func(llmtest.Call) llmtest.Reply {
				if c.settled {
					return llmtest.No(verdict)
				}
				return llmtest.Yes(verdict, 0.9, 0)
			}))
			b.setNoon(0)
			now := b.Clock()
			asked := b.say("remind me")
			task := inThread(asked)
			task.Occasion = conversation.Occasion{Promise: "p", Number: 1}
			due := now.Add(-c.late).UnixMicro()
			if _, err := b.Store.AddPromise(t.Context(), store.Promise{
				Choice:  store.Choice{ID: "p", TeamID: "T1", ChannelID: b.General, ThreadTS: asked.TS, TriggerTS: asked.TS, Asker: b.Alice.ID},
				What:    "the parcel",
				Unless:  c.unless,
				Zone:    "UTC",
				FirstUS: due,
				DueUS:   due,
			}, store.PromiseLimits{Conversation: 20}); err != nil {
				t.Fatal(err)
			}
			if c.given != nil {
				c.given(b, asked)
			}
			until := now.Add(c.until)
			if c.quiet {
				until = now.Truncate(time.Hour).Add(3 * time.Hour)
				b.settings.QuietHours, _ = config.ParseQuietHours("11:00-15:00")
			}
			for range 2 {
				got, err := runOnce[CheckOutput](b.CheckPromise, CheckInput{task})
				if err != nil || got.Result != c.want || got.By != string(c.rule) {
					t.Errorf("%+v, %v; want %s by %q", got, err, c.want, c.rule)
				}
				if off := got.Until.Sub(until).Abs(); !got.Until.IsZero() && off > 2*time.Second {
					t.Errorf("checked again at %s, want %s", got.Until, until)
				}
			}
			if d := b.decision(task); d.Outcome != c.outcome || d.Rule != string(c.rule) || c.reason != "" && d.Reason != c.reason {
				t.Errorf("the ledger has %+v", d)
			}
			if n := len(b.Model.Calls()); n != c.calls {
				t.Errorf("%d calls of the model, want %d", n, c.calls)
			}
			if p, err := b.Store.Promise(t.Context(), "p"); err != nil || p.Held().IsZero() != (c.want != conversation.CheckHold) {
				t.Errorf("the promise is held until %s, %v", p.Held(), err)
			}
		})
	}
}

// spend uses up the budget of the task's channel.
func (b *bundle) spend(chat.Message) {
	b.settings.DailyCalls = 1
	if err := b.Store.SaveCall(b.Context(), store.Call{Scope: chat.Scope{Team: "T1", Channel: b.General}, Purpose: "response", Model: "large"}); err != nil {
		b.Fatal(err)
	}
}

// Whoever asked is forgotten while a conversation has the promise: nothing is said, and nothing goes on.
func TestForgottenPromise(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := inThread(b.say("remind me"))
	task.Occasion = conversation.Occasion{Promise: "gone", Number: 1}
	if got, err := runOnce[CheckOutput](b.CheckPromise, CheckInput{task}); err != nil || got.Result != conversation.CheckOver {
		t.Errorf("checked: %+v, %v", got, err)
	}
	for _, notice := range []bool{false, true} {
		if got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true, Notice: notice}); err != nil || got.Result != conversation.Gone {
			t.Errorf("composed: %+v, %v", got, err)
		}
	}
	b.compose(task, "You asked me.") // before it was forgotten
	b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Error: "is_archived"})
	_, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task, Addressed: true})
	if app := applicationError(t, err); !app.NonRetryable() || !strings.Contains(app.Message(), "is_archived") {
		t.Errorf("posted: %v", app)
	}
	if got, err := runOnce[EndPromiseOutput](b.EndPromise, EndPromiseInput{Conversation: task.Conversation, Promise: "gone", Number: 1, End: conversation.PromiseFailed}); err != nil || !got.Next.IsZero() {
		t.Errorf("ended: %+v, %v", got, err)
	}
}

// What comes every day ends with its ninetieth time, which says so, whether it could be posted or not. One that is
// skipped is no last one.
func TestLastTimeOfAPromise(t *testing.T) {
	t.Parallel()
	for end, goesOn := range map[conversation.PromiseEnd]bool{conversation.PromiseKept: false, conversation.PromiseFailed: false, conversation.PromiseSkipped: true} {
		b := setup(t)
		asked := b.say("remind me every day")
		if _, err := b.Store.AddPromise(t.Context(), store.Promise{
			Choice: store.Choice{ID: "p", TeamID: "T1", ChannelID: b.General, ThreadTS: asked.TS, TriggerTS: asked.TS, Asker: b.Alice.ID},
			What:   "the parcel",
			Every:  "day",
			Zone:   "UTC",
			DueUS:  b.Clock().UnixMicro(),
		}, store.PromiseLimits{}); err != nil {
			t.Fatal(err)
		}
		for number := 1; number <= 90; number++ {
			as := conversation.PromiseKept
			if number == 90 {
				as = end
			}
			out, err := runOnce[EndPromiseOutput](b.EndPromise, EndPromiseInput{Conversation: asked.Conversation(), Trigger: asked.TS, Promise: "p", Number: number, End: as})
			if want := number < 90 || goesOn; err != nil || out.Next.IsZero() == want {
				t.Fatalf("%s, time %d: %+v, %v", end, number, out, err)
			}
		}
	}
}
