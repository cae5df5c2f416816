package activities

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// syncChannels saves the channels that the bot is in.
func (b *bundle) syncChannels() {
	b.Helper()
	if _, err := runWithoutInput(b.SyncChannels); err != nil {
		b.Fatal(err)
	}
}

// saveThreads saves n threads of one reply each, the oldest first.
func (b *bundle) saveThreads(channel string, n int) (scopes []chat.Scope) {
	b.Helper()
	var said []chat.Message
	began := time.Now().Add(-time.Hour)
	for i := range n {
		parent := chat.TS(began.Add(time.Duration(i) * time.Second))
		reply := chat.TS(began.Add(time.Duration(i)*time.Second + time.Millisecond))
		said = append(said,
			chat.Message{Team: "T1", Channel: channel, TS: parent, UserID: b.Alice.ID, Text: "does anybody know?"},
			chat.Message{Team: "T1", Channel: channel, TS: reply, ThreadTS: parent, UserID: b.Alice.ID, Text: "I do."})
		scopes = append(scopes, chat.Scope{Team: "T1", Channel: channel, Thread: parent})
	}
	if err := b.Store.SaveHistory(b.Context(), said); err != nil {
		b.Fatal(err)
	}
	return scopes
}

func (b *bundle) findScopes(in FindScopesInput) FindScopesOutput {
	b.Helper()
	out, err := runOnce[FindScopesOutput](b.FindScopes, in)
	if err != nil {
		b.Fatal(err)
	}
	if out.Team != "T1" {
		b.Errorf("the workspace is %q", out.Team)
	}
	return out
}

func TestFindScopesPages(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		other := b.Workspace.AddChannel(workspace.Public, "other", b.Workspace.Bot().UserID)
		b.syncChannels()
		at := time.Now()
		first, second := b.saveThreads(b.General, 150), b.saveThreads(other, 100)
		if other < b.General {
			first, second = second, first
		}
		want := slices.Concat(first, second)

		in := FindScopesInput{Threads: true, At: at}
		got := b.findScopes(in)
		if !slices.Equal(got.Scopes, want[:scopesPageSize]) || got.Next == nil || *got.Next != want[scopesPageSize-1] {
			t.Errorf("%d scopes and then %v, want %d", len(got.Scopes), got.Next, scopesPageSize)
		}
		in.After = *got.Next
		if got := b.findScopes(in); !slices.Equal(got.Scopes, want[scopesPageSize:]) || got.Next != nil {
			t.Errorf("%d scopes and then %v, want the other %d", len(got.Scopes), got.Next, len(want)-scopesPageSize)
		}
		got = b.findScopes(FindScopesInput{At: at})
		channels := []chat.Scope{{Team: "T1", Channel: first[0].Channel}, {Team: "T1", Channel: second[0].Channel}}
		if !slices.Equal(got.Scopes, channels) || got.Next != nil {
			t.Errorf("channels %v and then %v, want %v", got.Scopes, got.Next, channels)
		}
	})
}

// A page without any scope left need not be the last one.
func TestFindScopesLeavesOutModeOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bot := b.Workspace.Bot().UserID
	names := map[string]string{b.General: "general"}
	for _, name := range []string{"off", "mention"} {
		names[b.Workspace.AddChannel(workspace.Public, name, bot)] = name
	}
	b.syncChannels()
	b.channels.set(func(f config.ChannelFacts) config.ChannelSettings {
		s := b.settings
		if names[f.ID] != f.Name {
			t.Errorf("asked for the settings of %s as %q", f.ID, f.Name)
		}
		s.Mode = map[string]config.Mode{"off": config.ModeOff, "mention": config.ModeMention}[f.Name]
		return s
	})
	at := time.Now()
	var want []chat.Scope
	for id, name := range names {
		found := b.saveThreads(id, map[string]int{"off": scopesPageSize + 50}[name]+1)
		if name != "off" {
			want = append(want, found...)
		}
	}
	var got []chat.Scope
	parts := 0
	for in := (FindScopesInput{Threads: true, At: at}); ; parts++ {
		out := b.findScopes(in)
		got = append(got, out.Scopes...)
		if out.Next == nil {
			break
		}
		in.After = *out.Next
	}
	byID := func(a, b chat.Scope) int { return strings.Compare(a.Channel+a.Thread, b.Channel+b.Thread) }
	slices.SortFunc(want, byID)
	if !slices.Equal(got, want) || parts != 1 {
		t.Errorf("%v after %d parts, want %v after one", got, parts, want)
	}
	for _, s := range b.findScopes(FindScopesInput{At: at}).Scopes {
		if names[s.Channel] == "off" {
			t.Error("a channel where the bot is off")
		}
	}
}

func TestRemember(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(llmtest.Script(llmtest.Text("2026-03-01 alice plans a party"))))
		b.syncChannels()
		parent := b.say("shall we have a party?")
		b.say("with cake", workspace.InThread(parent.TS))
		in := func(s chat.Scope) RememberInput { return RememberInput{Scope: s, At: time.Now()} }
		for _, c := range []struct {
			scope chat.Scope
			calls int
		}{
			{chat.Scope{Team: "T1", Channel: b.General, Thread: parent.TS}, 1},
			{chat.Scope{Team: "T1", Channel: b.General}, 2},
			{chat.Scope{Team: "T1"}, 2},
		} {
			b.Model.Reset()
			for _, want := range []RememberOutput{{Calls: c.calls, Changed: true}, {}} {
				if got, err := runOnce[RememberOutput](b.Remember, in(c.scope)); err != nil || got != want {
					t.Errorf("%s: %+v, %v; want %+v", c.scope, got, err, want)
				}
			}
			if n := len(b.Model.Calls()); n != c.calls {
				t.Errorf("%s: the model was asked %d times, want %d", c.scope, n, c.calls)
			}
			for _, term := range c.scope.Terms() {
				if m, err := b.Store.MemoryVersions(t.Context(), c.scope, term, 10); err != nil || len(m) != 1 || m[0].Text != "2026-03-01 alice plans a party" {
					t.Errorf("%s, %s: %+v, %v", c.scope, term, m, err)
				}
			}
		}
	})
}

func (b *bundle) wantNoMemory(scope chat.Scope) {
	b.Helper()
	for _, term := range scope.Terms() {
		if m, err := b.Store.MemoryVersions(b.Context(), scope, term, 1); err != nil || len(m) > 0 {
			b.Errorf("%s: %+v, %v; want nothing", term, m, err)
		}
	}
}

// A refusal of the messages is final and no error. A bad request may be due to a setting: it is an
// error, after both terms were asked for, because an answer to one would rule out the setting.
func TestRememberRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply llmtest.Reply
		final bool
	}{
		"blocked":     {llmtest.Reply{Blocked: true}, false},
		"bad request": {llmtest.Reply{Status: 400, Message: "PRIVATE words"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(llmtest.Script(c.reply)))
			b.syncChannels()
			b.say("PRIVATE words")
			scope := chat.Scope{Team: "T1", Channel: b.General}
			in := RememberInput{Scope: scope, At: time.Now()}
			out, err := runOnce[RememberOutput](b.Remember, in)
			if c.final {
				app := applicationError(t, err)
				if app.Type() != typeFinal || !app.NonRetryable() || !strings.Contains(app.Message(), "remember "+scope.String()) || strings.Contains(app.Message(), "PRIVATE") {
					t.Errorf("got %s: %v", app.Type(), app)
				}
			} else if err != nil || out != (RememberOutput{Calls: 2}) {
				t.Errorf("got %+v, %v", out, err)
			}
			if n := len(b.Model.Calls()); n != 2 {
				t.Errorf("%d calls in one attempt", n)
			}
			b.wantNoMemory(scope)
			if out, err := runOnce[RememberOutput](b.Remember, in); !c.final && (err != nil || out != (RememberOutput{})) {
				t.Errorf("again: %+v, %v", out, err)
			}
		})
	}
}

// runWithRetries runs an activity as a worker does, attempt after attempt, with the pauses skipped.
func runWithRetries[T any](do any, in any) (out T, err error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(2 * time.Minute)
	env.SetWorkerOptions(patient())
	env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: "do"})
	env.ExecuteWorkflow(func(ctx workflow.Context) (out T, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 10},
		})
		err = workflow.ExecuteActivity(ctx, "do", in).Get(ctx, &out)
		return out, err
	})
	err = env.GetWorkflowResult(&out)
	return out, err
}

// Each empty answer costs as much as a full one.
func TestThreeEmptyAnswersAreFinal(t *testing.T) {
	t.Parallel()
	empty := llmtest.Reply{}
	for name, c := range map[string]struct {
		replies []llmtest.Reply
		calls   int
		final   bool
	}{
		"always":      {[]llmtest.Reply{empty}, 3, true},
		"three times": {[]llmtest.Reply{empty, empty, empty, llmtest.Text("a party")}, 3, true},
		"twice":       {[]llmtest.Reply{empty, empty, llmtest.Text("a party")}, 4, false}, // short and long
		"none":        {[]llmtest.Reply{llmtest.Fail(503), llmtest.Fail(503), llmtest.Fail(503), llmtest.Text("a party")}, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(llmtest.Script(c.replies...)))
			b.syncChannels()
			b.say("shall we have a party?")
			_, err := runWithRetries[RememberOutput](b.Remember, RememberInput{Scope: chat.Scope{Team: "T1", Channel: b.General}, At: time.Now()})
			if c.final {
				if app := applicationError(t, err); app.Type() != typeFinal || !app.NonRetryable() {
					t.Errorf("got %v", err)
				}
			} else if err != nil {
				t.Error(err)
			}
			if n := len(b.Model.Calls()); n != c.calls {
				t.Errorf("the model was asked %d times, want %d", n, c.calls)
			}
		})
	}
}

// The draft of a failed attempt is not paid for again.
func TestRememberKeepsDraftsOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Text("first"), llmtest.Fail(503), llmtest.Text("second"))))
	b.syncChannels()
	b.say("shall we have a party?")
	scope := chat.Scope{Team: "T1", Channel: b.General}
	got, err := runWithRetries[RememberOutput](b.Remember, RememberInput{Scope: scope, At: time.Now()})
	if want := (RememberOutput{Calls: 1, Changed: true}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	var texts []string
	for _, term := range scope.Terms() {
		m, err := b.Store.MemoryVersions(t.Context(), scope, term, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range m {
			texts = append(texts, m.Text)
		}
	}
	if want := []string{"first", "second"}; !slices.Equal(texts, want) || len(b.Model.Calls()) != 3 {
		t.Errorf("%q of %d calls, want %q of 3", texts, len(b.Model.Calls()), want)
	}
}

// A dead worker is noticed within fifteen seconds. With a longer timeout there is still time for one
// heartbeat.
func TestHeartbeatInterval(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]time.Duration{
		0: 2 * time.Second, 10 * time.Second: 2 * time.Second, 15 * time.Second: 12 * time.Second,
	} {
		if got := heartbeatIntervalFor(limit); got != want {
			t.Errorf("within %s: every %s, want %s", limit, got, want)
		}
	}
}

// Remember sends heartbeats while it waits for a model.
func TestRememberHeartbeats(t *testing.T) {
	t.Parallel()
	beat := make(chan struct{})
	once := sync.OnceFunc(func() { close(beat) })
	b := setup(t, withModel(func(llmtest.Call) llmtest.Reply {
		select {
		case <-beat:
		case <-time.After(time.Minute):
			t.Error("no heartbeat")
		}
		return llmtest.Text("- 2026-01-01 at last")
	}))
	b.syncChannels()
	b.say("hello?")
	env := newEnvironment(b.Remember)
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { once() })
	if _, err := env.ExecuteActivity(b.Remember, RememberInput{Scope: chat.Scope{Team: "T1", Channel: b.General}, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
}
