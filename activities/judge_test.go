package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
	"myao/test/llmtest"
)

func TestJudgmentRules(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) workspace.SayOption { return workspace.At(time.Now().Add(-d)) }
	for _, c := range []struct {
		rule conversation.Rule
		set  func(b *bundle) Task
	}{
		{conversation.RuleModeOff, func(b *bundle) Task {
			b.settings.Mode = config.ModeOff
			return atTopLevel(b.say("hello?"))
		}},
		{conversation.RuleModeMention, func(b *bundle) Task {
			b.settings.Mode = config.ModeMention
			return atTopLevel(b.say("hello?"))
		}},
		{conversation.RuleSilenced, func(b *bundle) Task {
			task := atTopLevel(b.say("hello?"))
			if _, err := runOnce[any](b.RecordOrder, muteOrder(task.Conversation, time.Now().Add(conversation.MuteDuration))); err != nil {
				b.Fatal(err)
			}
			return task
		}},
		{conversation.RuleSpokeLast, func(b *bundle) Task {
			task := atTopLevel(b.say("hello?"))
			b.sayAsBot("here I am", "")
			return task
		}},
		{conversation.RuleTooOld, func(b *bundle) Task {
			return atTopLevel(b.say("hello?", ago(13*time.Hour)))
		}},
		{conversation.RuleAddressesOther, func(b *bundle) Task {
			return atTopLevel(b.say("<@U0BOB> are you there?"))
		}},
		{conversation.RuleAddressesOther, func(b *bundle) Task { // and apps have said much since
			m := b.say("<@U0BOB|bob> are you there?")
			for n := range 25 {
				b.sayAsApp(fmt.Sprint("build ", n, " passed"))
			}
			return atTopLevel(m)
		}},
		{conversation.RuleBotBudget, func(b *bundle) Task {
			b.say("go on, you two")
			var last chat.Message
			for range 3 {
				b.sayAsApp("ping")
				b.sayAsBot("pong", "")
				last = b.sayAsApp("ping")
			}
			return atTopLevel(last)
		}},
		{conversation.RuleNothingLeft, func(b *bundle) Task {
			m := b.say("forget it")
			b.remove(m)
			return atTopLevel(m)
		}},
		{conversation.RuleNothingLeft, func(b *bundle) Task { // of it, but of what was said before
			b.say("hello?")
			m := b.say("<@U0BOB> are you there?")
			b.remove(m)
			return atTopLevel(m)
		}},
	} {
		t.Run(string(c.rule), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			task := c.set(b)
			got, err := runOnce[JudgeOutput](b.Judge, judging(task))
			if err != nil {
				t.Fatal(err)
			}
			want := JudgeOutput{Verdict: chat.Verdict{Reason: c.rule.Reason(), Confidence: 1}, Rule: c.rule}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if again, err := runOnce[JudgeOutput](b.Judge, judging(task)); err != nil || !reflect.DeepEqual(again, want) {
				t.Errorf("an attempt after that: %+v, %v", again, err)
			}
			d := b.decision(task)
			if d.Source != "rule" || d.Rule != string(c.rule) || d.Outcome != "silent" || d.ShouldRespond || d.Reason != c.rule.Reason() || d.SettledUS == nil {
				t.Errorf("the ledger has %+v", d)
			}
			if n := len(b.Model.Calls()); n != 0 {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
}

// sayAsBot posts and records a message of the bot itself.
func (b *bundle) sayAsBot(text, thread string) chat.Message {
	b.Helper()
	own := b.Workspace.Bot()
	ts := b.Workspace.SayAsApp(b.General, workspace.App{BotID: own.BotID, UserID: own.UserID, Name: own.Name}, text, workspace.InThread(thread))
	return b.record(chat.Message{Team: "T1", Channel: b.General, TS: ts, UserID: own.UserID, BotID: own.BotID, Own: true, Text: text})
}

// sayAsApp posts and records a message of another app.
func (b *bundle) sayAsApp(text string) chat.Message {
	b.Helper()
	ts := b.Workspace.SayAsApp(b.General, b.ci, text)
	return b.record(chat.Message{Team: "T1", Channel: b.General, TS: ts, UserID: b.ci.UserID, BotID: b.ci.BotID, Text: text})
}

func TestJudge(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		ninety := 90
		for _, c := range []struct {
			name    string
			reply   llmtest.Reply
			want    chat.Verdict
			outcome conversation.Outcome
			logged  string
		}{
			{"yes", llmtest.Yes("nobody answered", 0.8, 90), chat.Verdict{ShouldRespond: true, Reason: "nobody answered", Confidence: 0.8, DelaySeconds: &ninety}, "pending", `delay_seconds=90 reason="nobody answered"`},
			{"yes at once", llmtest.Yes("urgent", 1, -1), chat.Verdict{ShouldRespond: true, Reason: "urgent", Confidence: 1}, "pending", "delay_seconds=0 reason=urgent"},
			{"no", llmtest.No("lively talk"), chat.Verdict{Reason: "lively talk"}, "silent", `delay_seconds=0 reason="lively talk"`},
		} {
			t.Run(c.name, func(t *testing.T) {
				if strings.HasPrefix(t.Name(), "TestJudgment/sqlite") {
					t.Parallel()
				}
				c.reply.InputTokens, c.reply.OutputTokens = 120, 34
				options := []option{withModel(llmtest.Script(c.reply))}
				if !strings.HasPrefix(t.Name(), "TestJudgment/sqlite") {
					options = append(options, url)
				}
				b := setup(t, options...)
				var log strings.Builder
				b.Logger = slog.New(slog.NewTextHandler(&log, nil))
				task := atTopLevel(b.say("does anybody know?"))
				task.Decision, task.Revision = "run/"+c.name, "7.000000"
				got, err := runOnce[JudgeOutput](b.Judge, judging(task))
				if err != nil {
					t.Fatal(err)
				}
				if !c.want.ShouldRespond {
					// llmtest's own
					c.want.Confidence, c.want.DelaySeconds = got.Verdict.Confidence, got.Verdict.DelaySeconds
				}
				if !reflect.DeepEqual(got, JudgeOutput{Verdict: c.want}) {
					t.Errorf("got  %+v\nwant %+v", got, c.want)
				}
				d := b.decision(task)
				if d.DecidedUS < d.ReadUS || d.ReadUS == 0 || (d.SettledUS == nil) != (c.outcome == "pending") {
					t.Errorf("times in the ledger: %+v", d)
				}
				if d.Prompt == "" || !strings.Contains(d.Signals, `"pending":1`) || !strings.Contains(d.Signals, `"question":true`) {
					t.Errorf("prompt %q and signals %s in the ledger", d.Prompt, d.Signals)
				}
				d.Prompt, d.Signals = "", ""
				d.ReadUS, d.DecidedUS, d.SettledUS = 0, 0, nil
				want := store.Decision{
					Key: task.decisionKey(), WorkflowID: task.Conversation.ID(), TriggerTS: task.Trigger, Revision: "7.000000",
					Source: "judgment", ShouldRespond: c.want.ShouldRespond, Reason: c.want.Reason, Confidence: &got.Verdict.Confidence,
					DelaySeconds: c.want.DelaySeconds, Model: "small", TokensIn: 120, TokensOut: 34, Outcome: c.outcome,
					Wanted: c.want.ShouldRespond,
				}
				if !reflect.DeepEqual(d, want) {
					t.Errorf("the ledger has\n%+v, want\n%+v", d, want)
				}
				if line := log.String(); !strings.Contains(line, c.logged) {
					t.Errorf("logged %q, want %q in it", line, c.logged)
				}
				call := b.Model.Calls()[0]
				if !call.Judgment() || call.Model != "small" || !strings.Contains(call.System, "does anybody know?") || !strings.Contains(call.System, "alice") {
					t.Errorf("the model was asked\n%+v", call)
				}
			})
		}
	})
}

// A verdict that cannot be read, is cut or names too long a delay is asked for once more, with the fault told.
func TestVerdictIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	broken := llmtest.Reply{Text: `{"should_respond": "perhaps"}`, InputTokens: 10, OutputTokens: 1}
	cut := llmtest.Reply{Text: `{"should_respond": tr`, Cut: true, InputTokens: 10, OutputTokens: 1}
	someDay := llmtest.Yes("some day", 0.5, 86400)
	someDay.InputTokens, someDay.OutputTokens = 10, 1
	for name, c := range map[string]struct {
		first, second llmtest.Reply
		fault         string // told the second time
		want          string // the reason of the verdict; empty: none
		delay         int
		limit         int // of the second answer, in limits of the first
	}{
		"and read then":             {broken, llmtest.Yes("somebody asked", 0.7, 0), "should_respond", "somebody asked", 0, 1},
		"and given up then":         {broken, broken, "should_respond", "", 0, 1},
		"a cut one too":             {cut, llmtest.No("quiet"), "cut at max_output_tokens", "quiet", 0, 4},
		"cut twice":                 {cut, cut, "cut at max_output_tokens", "", 0, 4},
		"a delay that is corrected": {someDay, llmtest.Yes("soon", 0.5, 60), "delay_seconds is 86400", "soon", 60, 1},
		"and one insisted on":       {someDay, someDay, "delay_seconds is 86400", "some day", 600, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.second.InputTokens, c.second.OutputTokens = 20, 2
			b := setup(t, withModel(llmtest.Script(c.first, c.second)))
			task := atTopLevel(b.say("does anybody know?"))
			got, err := runOnce[JudgeOutput](b.Judge, judging(task))
			calls := b.Model.Calls()
			if len(calls) != 2 {
				t.Fatalf("%d calls, want 2; %v", len(calls), err)
			}
			first, second := calls[0].System+calls[0].User, calls[1].System+calls[1].User
			if strings.Count(second, c.fault) <= strings.Count(first, c.fault) {
				t.Errorf("the fault is not told the second time:\n%s", calls[1].User)
			}
			if *calls[1].MaxTokens != c.limit**calls[0].MaxTokens {
				t.Errorf("it was asked with limits of %d and %d", *calls[0].MaxTokens, *calls[1].MaxTokens)
			}
			if c.want == "" {
				if app := applicationError(t, err); !app.NonRetryable() || app.Type() != typeFinal || c.first.Cut && !strings.Contains(app.Error(), c.fault) {
					t.Errorf("got %v", app)
				}
				return
			}
			if delay := got.Verdict.DelaySeconds; err != nil || got.Verdict.Reason != c.want || got.Verdict.ShouldRespond && (delay == nil || *delay != c.delay) {
				t.Errorf("got %+v, %v", got, err)
			}
			if d := b.decision(task); d.TokensIn != 30 || d.TokensOut != 3 {
				t.Errorf("the ledger has %d tokens in, %d out; want those of both calls", d.TokensIn, d.TokensOut)
			}
		})
	}
	t.Run("cut twice before its first word", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withModel(llmtest.Script(llmtest.Reply{Cut: true})))
		_, err := runOnce[JudgeOutput](b.Judge, judging(atTopLevel(b.say("does anybody know?"))))
		if app := applicationError(t, err); app.Type() != typeFinal || !strings.Contains(app.Error(), "cut at max_output_tokens") {
			t.Errorf("got %v", app)
		}
	})
}

// The three activities that ask a model take its failures alike, and nothing is written down.
func TestFailuresOfTheModel(t *testing.T) {
	t.Parallel()
	type activity struct {
		name string
		run  func(*bundle, Task, chat.Scope) error
	}
	judge := activity{"judge", func(b *bundle, task Task, _ chat.Scope) error {
		_, err := runOnce[JudgeOutput](b.Judge, judging(task))
		return err
	}}
	compose := activity{"compose", func(b *bundle, task Task, _ chat.Scope) error {
		_, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true})
		return err
	}}
	remember := activity{"remember", func(b *bundle, _ Task, scope chat.Scope) error {
		_, err := runOnce[RememberOutput](b.Remember, RememberInput{Scope: scope, At: time.Now()})
		return err
	}}
	all := []activity{judge, compose, remember}
	for name, c := range map[string]struct {
		reply llmtest.Reply
		in    []activity // the others take it otherwise
		kind  string
		after time.Duration
	}{
		"unavailable":                {llmtest.Fail(503), all, typeUnavailable, 0},
		"dropped":                    {llmtest.Reply{Drop: true}, all, typeUnavailable, 0},
		"rate limited":               {llmtest.Reply{Status: 429, RetryAfter: "7"}, all, typeRateLimited, 7 * time.Second},
		"rate limited, a time named": {llmtest.Reply{Status: 429, RetryInfo: 9 * time.Second}, all, typeRateLimited, 9 * time.Second},
		"empty":                      {llmtest.Reply{}, all, typeUnavailable, 0},
		"blank":                      {llmtest.Text(" \n\t"), all, typeUnavailable, 0},
		"not to be seen":             {llmtest.Text("\u200b\u202e"), all, typeUnavailable, 0},
		"cut before the first word":  {llmtest.Reply{Cut: true}, []activity{compose}, typeFinal, 0},
		"cut before one to be seen":  {llmtest.Reply{Text: "\u200b", Cut: true}, []activity{compose}, typeFinal, 0},
		"blocked":                    {llmtest.Reply{Blocked: true}, []activity{judge, compose}, typeFinal, 0},
		"key refused":                {llmtest.Fail(401), all, typeFinal, 0},
		"no such model":              {llmtest.Fail(404), all, typeFinal, 0},
		"no money":                   {llmtest.Reply{Status: 429, Code: "insufficient_quota"}, all, typeFinal, 0},
		"no JSON":                    {llmtest.Reply{Status: 400, Code: "json_validate_failed"}, []activity{judge}, typeUnavailable, 0},
	} {
		for _, in := range c.in {
			t.Run(name+"/"+in.name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, withModel(llmtest.Script(c.reply)))
				b.syncChannels()
				task := atTopLevel(b.say("does anybody know PRIVATE words?"))
				scope := chat.Scope(task.Conversation)
				app := applicationError(t, in.run(b, task, scope))
				if app.Type() != c.kind || app.NonRetryable() != (c.kind == typeFinal) || app.NextRetryDelay() != c.after {
					t.Errorf("got %s after %s: %v; want %s after %s", app.Type(), app.NextRetryDelay(), app, c.kind, c.after)
				}
				if !strings.Contains(app.Message(), in.name) || strings.Contains(app.Message(), "PRIVATE") {
					t.Errorf("says %q", app.Message())
				}
				if n := len(b.Model.Calls()); n != 1 && !c.reply.Cut {
					t.Errorf("%d calls in one attempt", n)
				}
				b.wantNoMemory(scope)
				if d, p := b.decision(task), b.outbox(task); d.Key != "" || len(p) > 0 {
					t.Errorf("the ledger has %+v and the outbox %+v, want nothing yet", d, p)
				}
			})
		}
	}
}

// After too many failures of the model, or too long a time of them, the error is final. Other failures
// do not count.
func TestFailuresOfAModelAreCounted(t *testing.T) {
	t.Parallel()
	many := func(n int, c store.Call) (calls []store.Call) {
		for range n {
			calls = append(calls, c)
		}
		return calls
	}
	for name, c := range map[string]struct {
		reply  llmtest.Reply
		before []store.Call
		final  bool
	}{
		"failed 44 times before":      {llmtest.Fail(503), many(44, store.Call{Error: "unavailable"}), true},
		"failed 43 times before":      {llmtest.Fail(503), many(43, store.Call{Error: "unavailable"}), false},
		"in several ways":             {llmtest.Fail(503), append(many(22, store.Call{Error: "unavailable"}), many(22, store.Call{Error: "rate_limited"})...), true},
		"called off 44 times before":  {llmtest.Fail(503), many(44, store.Call{Error: "canceled"}), false},
		"for another decision":        {llmtest.Fail(503), many(44, store.Call{Error: "unavailable", Decision: "run/2"}), false},
		"hung for nine minutes":       {llmtest.Fail(503), many(5, store.Call{Error: "timeout", Latency: 115 * time.Second}), true},
		"hung for less":               {llmtest.Fail(503), many(4, store.Call{Error: "timeout", Latency: 115 * time.Second}), false},
		"answered for a long time":    {llmtest.Fail(503), many(5, store.Call{Latency: 115 * time.Second}), false},
		"empty twice before":          {llmtest.Reply{}, many(2, store.Call{Error: "empty"}), true},
		"empty once before":           {llmtest.Reply{}, many(1, store.Call{Error: "empty"}), false},
		"empty after other failures":  {llmtest.Reply{}, many(9, store.Call{Error: "unavailable"}), false},
		"another failure after empty": {llmtest.Fail(503), many(2, store.Call{Error: "empty"}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(llmtest.Script(c.reply)))
			task := atTopLevel(b.say("does anybody know?"))
			for _, call := range c.before {
				call.Scope, call.Decision = chat.Scope(task.Conversation), cmp.Or(call.Decision, task.decisionKey())
				for _, call.Purpose = range []string{llm.PurposeJudgment, llm.PurposeResponse} {
					if err := b.Store.SaveCall(t.Context(), call); err != nil {
						t.Fatal(err)
					}
				}
			}
			_, err := runOnce[JudgeOutput](b.Judge, judging(task))
			if app := applicationError(t, err); app.NonRetryable() != c.final {
				t.Errorf("%v; want a final error: %v", app, c.final)
			}
			_, err = runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task})
			if app := applicationError(t, err); app.NonRetryable() != c.final {
				t.Errorf("composing: %v; want a final error: %v", app, c.final)
			}
		})
	}
}

// If the database cannot be written, retries do not pay for calls without end.
func TestUnsavedAnswersAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table  string
		reply  llmtest.Reply
		before int // answers
		calls  int
		final  bool
	}{
		"failures without an account": {"model_calls", llmtest.Fail(503), 0, 1, false},
		"without an outbox":           {"outbox", llmtest.Text("Seven."), 8, 2, true},
		"without a ledger":            {"decisions", llmtest.Text("Seven."), 9, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(llmtest.Script(c.reply)))
			task := inThread(b.say(b.Mention("how many dwarfs?")))
			for range c.before {
				if err := b.Store.SaveCall(t.Context(), store.Call{Decision: task.decisionKey(), Purpose: llm.PurposeResponse}); err != nil {
					t.Fatal(err)
				}
			}
			b.FillTable(c.table)
			_, err := runWithRetries[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true})
			if app := applicationError(t, err); app.NonRetryable() != c.final {
				t.Errorf("ended with %v; want a final error: %v", app, c.final)
			}
			if n := len(b.Model.Calls()); n != c.calls {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
		})
	}
}

// A silence counts only once it is in the ledger.
func TestUnsavedSilenceIsRetried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode   config.Mode
		decide func(b *bundle, t Task) error
	}{
		"by a rule": {config.ModeOff, func(b *bundle, task Task) error {
			_, err := runOnce[JudgeOutput](b.Judge, judging(task))
			return err
		}},
		"by the model": {config.ModeJudge, func(b *bundle, task Task) error {
			_, err := runOnce[JudgeOutput](b.Judge, judging(task))
			return err
		}},
		"of a mention": {config.ModeOff, func(b *bundle, task Task) error {
			_, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true})
			return err
		}},
		"for want of a judgment": {config.ModeJudge, func(b *bundle, task Task) error {
			_, err := runOnce[any](b.Settle, SettleInput{Task: task, Outcome: conversation.Silent})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(llmtest.Script(llmtest.No("nothing to add"))))
			b.settings.Mode = c.mode
			task := atTopLevel(b.say("how many dwarfs?"))
			empty := b.FillTable("decisions")
			if app := applicationError(t, c.decide(b, task)); app.NonRetryable() {
				t.Errorf("got %v, want a retryable error", app)
			}
			empty()
			if err := c.decide(b, task); err != nil {
				t.Fatal(err)
			}
			if d := b.decision(task); d.Outcome != "silent" || d.ShouldRespond {
				t.Errorf("the ledger has %+v", d)
			}
		})
	}
}

// Somebody answers in the thread while Slack is asked for names, after the messages were read. The
// edit of an older message is no answer.
func TestThreadReplyDuringTheJudgment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		aside func(b *bundle, asked chat.Message)
		want  conversation.Result
	}{
		"an answer": {func(b *bundle, asked chat.Message) { b.say("seven", workspace.InThread(asked.TS)) }, conversation.Outdated},
		"an edit": {func(b *bundle, asked chat.Message) {
			b.record(chat.Message{
				Team: "T1", Channel: b.General, TS: chat.TS(asked.Time().Add(-time.Hour)), ThreadTS: asked.TS, UserID: b.Alice.ID, Text: "interesting", Revision: asked.TS,
			})
		}, conversation.Done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b *bundle
			var asked chat.Message
			var once sync.Once
			b = setup(t, withModel(llmtest.Script(llmtest.Yes("nobody answered", 0.8, 60), llmtest.Text("Seven."))), func(s *inprocess.Options) {
				s.Wrap = func(h http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if strings.HasSuffix(r.URL.Path, "/users.info") {
							once.Do(func() { c.aside(b, asked) })
						}
						h.ServeHTTP(w, r)
					})
				}
			})
			asked = b.say("how many dwarfs?")
			b.judge(atTopLevel(asked))
			once.Do(func() { t.Error("nobody asked for names") })
			got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: atTopLevel(asked), Oldest: asked.TS})
			if err != nil || got.Result != c.want {
				t.Errorf("got %+v, %v; want %s", got, err, c.want)
			}
		})
	}
}

// A call ends before its attempt does, so that there is time to save it.
func TestTimedOutCallIsSaved(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Reply{Delay: time.Hour})))
	asked := &shortModel{Model: b.Agents.ByUse.Response.Model}
	b.Agents.ByUse.Response.Model = asked
	task := inThread(b.say("hello?"))
	ctx, cancel := context.WithTimeout(timeout.Extend(t.Context()), time.Minute)
	defer cancel()
	_, err := b.composeReply(ctx, ComposeInput{Task: task, Addressed: true})
	if ctx.Err() != nil || llm.KindOf(err) != "timeout" {
		t.Errorf("ended with %v, and the attempt with %v", err, ctx.Err())
	}
	if end, _ := ctx.Deadline(); !asked.until.Equal(end.Add(-writeTimeout)) {
		t.Errorf("asked until %s of an attempt until %s, want %s before", asked.until, end, writeTimeout)
	}
	if got, err := b.Store.CallSummaries(t.Context(), task.decisionKey(), llm.PurposeResponse); err != nil || len(got) != 1 || got[0].Error != "timeout" {
		t.Errorf("the account has %v, %v; want one timeout", got, err)
	}
}

// shortModel waits at most a second for a model, and notes the deadline it was given.
type shortModel struct {
	llm.Model
	until time.Time
}

func (h *shortModel) Generate(ctx context.Context, r llm.Request) (llm.Response, error) {
	h.until, _ = ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return h.Model.Generate(ctx, r)
}

// After a lost result the decision in the ledger holds, and the model is not asked again. Otherwise
// the ledger might differ from what happens.
func TestJudgeAfterALostResult(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Yes("somebody asked", 0.7, 30), llmtest.No("on second thought"))))
	task := atTopLevel(b.say("does anybody know?"))
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(2 * time.Minute)
	env.SetWorkerOptions(patient())
	env.RegisterActivityWithOptions(func(ctx context.Context, in JudgeInput) (JudgeOutput, error) {
		out, err := b.Judge(ctx, in)
		if err == nil && activity.GetInfo(ctx).Attempt == 1 {
			return JudgeOutput{}, errors.New("the worker dies before it reports")
		}
		return out, err
	}, activity.RegisterOptions{Name: "Judge"})
	env.ExecuteWorkflow(func(ctx workflow.Context) (out JudgeOutput, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		err = workflow.ExecuteActivity(ctx, "Judge", judging(task)).Get(ctx, &out)
		return out, err
	})
	var got JudgeOutput
	if err := env.GetWorkflowResult(&got); err != nil {
		t.Fatal(err)
	}
	thirty := 30
	want := JudgeOutput{Verdict: chat.Verdict{ShouldRespond: true, Reason: "somebody asked", Confidence: 0.7, DelaySeconds: &thirty}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if n := len(b.Model.Calls()); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
	if d := b.decision(task); d.Outcome != "pending" || !d.ShouldRespond {
		t.Errorf("the ledger has %+v", d)
	}
}

// A reset workflow judges the same message again, or judges another one under the same number.
func TestJudgeAfterAReset(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Fail(400), llmtest.Yes("somebody asked", 0.7, 30), llmtest.No("on second thought"))))
	judge := func(task Task) (JudgeOutput, error) {
		return runOnce[JudgeOutput](b.Judge, judging(task))
	}
	first := atTopLevel(b.say("does anybody know?"))
	if _, err := judge(first); err == nil {
		t.Fatal("no error")
	}
	if _, err := runOnce[any](b.Settle, SettleInput{Task: first, Outcome: "failed", By: "no model"}); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"after it had failed", "after it had been made"} {
		got, err := judge(first)
		if err != nil || !got.Verdict.ShouldRespond || got.Verdict.Reason != "somebody asked" || *got.Verdict.DelaySeconds != 30 {
			t.Errorf("%s: got %+v, %v", when, got, err)
		}
	}
	other := atTopLevel(b.say("and this?"))
	other.Decision = first.Decision
	if got, err := judge(other); err != nil || got.Verdict.ShouldRespond {
		t.Errorf("another message: got %+v, %v", got, err)
	}
	if d := b.decision(first); d.Reason != "somebody asked" || d.Model == "" {
		t.Errorf("the ledger has %+v", d)
	}
	if d := b.decision(other); d.Reason != "on second thought" || d.Outcome != "silent" {
		t.Errorf("the ledger has %+v of the other", d)
	}
	if n := len(b.Model.Calls()); n != 3 {
		t.Errorf("the model was asked %d times, want 3", n)
	}
}

// The bot spoke last, but had not read the message when it wrote.
func TestSpokeLastWithoutReadingTheMessage(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Text("Yes, I am."), llmtest.No("read it"))))
	first := b.say("are you there?")
	task := atTopLevel(first)
	if _, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true}); err != nil {
		t.Fatal(err)
	}
	meanwhile := atTopLevel(b.say("and can you help?"))
	meanwhile.Decision = "run/2"
	if _, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err != nil {
		t.Fatal(err)
	}
	got, err := runOnce[JudgeOutput](b.Judge, judging(meanwhile))
	if err != nil || got.Rule != conversation.NoRule || got.Verdict.Reason != "read it" {
		t.Errorf("got %+v, %v; want the model's judgment", got, err)
	}
	task.Decision = "run/3"
	if got, err := runOnce[JudgeOutput](b.Judge, judging(task)); err != nil || got.Rule != conversation.RuleSpokeLast {
		t.Errorf("of what it had read: %+v, %v; want %s", got, err, conversation.RuleSpokeLast)
	}
}

// Below min_confidence a yes is silence. The ledger keeps what was wanted, and by which threshold.
func TestJudgeBelowMinConfidence(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		confidence float64
		spoke      bool
	}{{0.5, false}, {0.7, true}} {
		b := setup(t, withModel(llmtest.Script(llmtest.Yes("nobody answered", test.confidence, 30))))
		b.settings.MinConfidence = 0.7
		task := atTopLevel(b.say("does anybody know?"))
		got, err := runOnce[JudgeOutput](b.Judge, judging(task))
		if err != nil {
			t.Fatal(err)
		}
		rule := conversation.RuleLowConfidence
		if test.spoke {
			rule = conversation.NoRule
		}
		d := b.decision(task)
		if got.Verdict.ShouldRespond != test.spoke || got.Rule != rule || (got.Verdict.DelaySeconds != nil) != test.spoke {
			t.Errorf("at %v: %+v", test.confidence, got)
		}
		if d.ShouldRespond != test.spoke || d.Rule != string(rule) || !d.Wanted || d.MinConfidence != 0.7 || *d.Confidence != test.confidence || d.Reason != "nobody answered" ||
			(d.Outcome == conversation.Silent) == test.spoke {
			t.Errorf("at %v the ledger has %+v", test.confidence, d)
		}
		again, err := runOnce[JudgeOutput](b.Judge, judging(task)) // of an attempt that was lost
		if err != nil || !reflect.DeepEqual(again.Rule, got.Rule) || again.Verdict.ShouldRespond != test.spoke || len(b.Model.Calls()) != 1 {
			t.Errorf("at %v, asked again: %+v, %v", test.confidence, again, err)
		}
	}
}
