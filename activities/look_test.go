package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// fakeTools offers search_messages, which answers as run says.
type fakeTools struct {
	run func(input string) (string, bool, error)

	mu     sync.Mutex
	places []tools.Place
	inputs []string
}

func (f *fakeTools) Offered(_ context.Context, p tools.Place) ([]tools.Offer, error) {
	if !slices.Contains(p.Allowed, "search_messages") {
		return nil, nil
	}
	return []tools.Offer{{Tool: llm.Tool{Name: "search_messages", Description: "finds", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)}}}, nil
}

func (f *fakeTools) Refuses(input json.RawMessage) string {
	if strings.Contains(string(input), "password") {
		return "refused"
	}
	return ""
}

func (f *fakeTools) Prepare(context.Context, tools.Place, string, json.RawMessage) (prepared, refused string, err error) {
	return "", "there is no such tool", nil
}

func (f *fakeTools) Run(_ context.Context, p tools.Place, _, name string, input json.RawMessage) (tools.Result, error) {
	f.mu.Lock()
	f.places, f.inputs = append(f.places, p), append(f.inputs, string(input))
	f.mu.Unlock()
	if name != "search_messages" {
		return tools.Result{Text: "there is no such tool", Failed: true}, nil
	}
	text, failed, err := f.run(string(input))
	return tools.Result{Text: text, Failed: failed}, err
}

// withTools gives activities a tool that repeats its input, and the default limits.
func (b *bundle) withTools() *fakeTools {
	f := &fakeTools{run: func(input string) (string, bool, error) { return "found " + input, false, nil }}
	b.Tools, b.Limits = f, config.Default().Tools
	b.settings.Tools = b.Limits.Enabled
	return f
}

func search(queries ...string) llmtest.Reply {
	r := llmtest.Reply{InputTokens: 10, OutputTokens: 1}
	for _, q := range queries {
		r.Calls = append(r.Calls, llm.Call{Name: "search_messages", Input: json.RawMessage(fmt.Sprintf(`{"query":%q}`, q))})
	}
	return r
}

// lookAll carries out all steps of a compose activity's result.
func (b *bundle) lookAll(in ComposeInput, out ReplyOutput) {
	b.Helper()
	for _, st := range out.Steps {
		if _, err := runOnce[any](b.Look, LookInput{Task: in.Task, Step: st.ID, Addressed: in.Addressed}); err != nil {
			b.Fatal(err)
		}
	}
}

// play plays what the workflow does until the reply is composed, and returns the number of rounds.
func (b *bundle) play(in ComposeInput) (rounds int, out ReplyOutput) {
	b.Helper()
	for {
		out, err := runOnce[ReplyOutput](b.Compose, in)
		if err != nil {
			b.Fatal(err)
		}
		if out.Result != conversation.Looking {
			return in.Round, out
		}
		b.lookAll(in, out)
		in.Round++
	}
}

func TestLooksBeforeItReplies(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(llmtest.Script(search("a", "b"), search("c"), llmtest.Reply{Text: "Seven.", InputTokens: 40, OutputTokens: 2})))
		f := b.withTools()
		task := inThread(b.say(b.Mention("how many dwarfs?")))
		in := ComposeInput{Task: task, Addressed: true}
		began := time.Now()
		first, err := runOnce[ReplyOutput](b.Compose, in)
		if err != nil || first.Result != conversation.Looking || len(first.Steps) != 2 || first.Steps[0].Tool != "search_messages" {
			t.Fatalf("got %+v, %v", first, err)
		}
		// The result was lost: what is written down is not paid for again.
		again, err := runOnce[ReplyOutput](b.Compose, in)
		if err != nil || !slices.Equal(again.Steps, first.Steps) || len(b.Model.Calls()) != 1 {
			t.Fatalf("again: %+v, %v after %d calls", again, err, len(b.Model.Calls()))
		}
		b.lookAll(in, first)
		b.lookAll(in, first) // a step that is done is not done again
		if got := fmt.Sprint(f.inputs); got != `[{"query":"a"} {"query":"b"}]` {
			t.Errorf("looked up %s", got)
		}
		if p := f.places[0]; p.Asker != b.Alice.ID || !p.Addressed || p.Trigger != task.Trigger || p.Conversation != task.Conversation {
			t.Errorf("looked up for %+v", p)
		}
		between := time.Now()
		in.Round = 1
		if rounds, out := b.play(in); rounds != 2 || out.Result != conversation.Done {
			t.Fatalf("%d rounds, %+v", rounds, out)
		}
		calls := b.Model.Calls()
		if len(calls) != 3 || len(calls[2].Turns) != 2 || len(calls[2].Tools) != 1 || calls[2].Turns[0].Results[1].Text != `found {"query":"b"}` || calls[2].Turns[1].Results[0].Text != `found {"query":"c"}` {
			t.Fatalf("the model was asked %+v", calls)
		}
		parts := b.outbox(task)
		if len(parts) != 1 || parts[0].Text != "Seven." || parts[0].Read.Before(began.Truncate(time.Microsecond)) || parts[0].Read.After(between) {
			t.Errorf("the outbox has %+v; want that its author began to read between %s and %s", parts, began, between)
		}
		if d := b.decision(task); d.TokensIn != 60 || d.TokensOut != 4 || d.Model != "large" {
			t.Errorf("the ledger has %+v", d)
		}
		steps, err := b.Store.Steps(t.Context(), task.decisionKey())
		if err != nil || len(steps) != 3 || steps[2].State != store.StepDone || steps[2].Attempts != 1 || steps[2].Output != `found {"query":"c"}` || steps[2].Took() < 0 {
			t.Errorf("steps %+v, %v", steps, err)
		}
	})
}

// What is not UTF-8 in a model's answer does not keep it from being saved, and so from being paid once.
func TestATurnThatIsNotUTF8(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		raw := "{\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"search\xff\",\"args\":{\"query\":\"a\xff\"}}}]},\"finishReason\":\"STOP\"}]}"
		b := setup(t, url, withModel(llmtest.Script(llmtest.Reply{Raw: raw})))
		b.withTools()
		in := ComposeInput{Task: inThread(b.say(b.Mention("how many dwarfs?"))), Addressed: true}
		if out, err := runOnce[ReplyOutput](b.Compose, in); err != nil || out.Result != conversation.Looking || len(out.Steps) != 1 {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

// A model that never stops asking ends with a reply: its last round offers nothing.
func TestAModelThatNeverStopsAsking(t *testing.T) {
	for name, c := range map[string]struct {
		limit func(*config.Tools)
		looks int
		shown string
	}{
		"rounds":     {func(l *config.Tools) { l.MaxRounds = 3 }, 6, `found {"query":"b"}`},
		"calls":      {func(l *config.Tools) { l.MaxCalls = 3 }, 3, stepRefused},
		"characters": {func(l *config.Tools) { l.MaxTotalChars = 50 }, 4, "(cut here: "},
		"time":       {func(l *config.Tools) { l.MaxSeconds = 0 }, 2, `found {"query":"b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(func(c llmtest.Call) llmtest.Reply {
				if len(c.Tools) == 0 {
					return llmtest.Text("Seven.")
				}
				return search("a", "b")
			}))
			f := b.withTools()
			c.limit(&b.Limits)
			task := inThread(b.say(b.Mention("how many dwarfs?")))
			_, out := b.play(ComposeInput{Task: task, Addressed: true})
			last := b.Model.Calls()[len(b.Model.Calls())-1]
			if out.Result != conversation.Done || len(f.inputs) != c.looks || len(last.Turns) != 0 || !strings.Contains(last.System, "## Looked up for this answer") || !strings.Contains(last.System, c.shown) {
				t.Errorf("%+v after %d looks; the last prompt has %d turns, and is\n%s", out, len(f.inputs), len(last.Turns), last.System)
			}
		})
	}
}

// What another model has asked for is not sent to this one as if it were its own.
func TestAnotherModelTakesOver(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(search("a"), llmtest.Text("Seven."))))
	b.withTools()
	task := inThread(b.say(b.Mention("how many dwarfs?")))
	in := ComposeInput{Task: task, Addressed: true}
	out, err := runOnce[ReplyOutput](b.Compose, in)
	if err != nil {
		t.Fatal(err)
	}
	b.lookAll(in, out)
	b.settings.Model = "small"
	in.Round = 1
	if out, err = runOnce[ReplyOutput](b.Compose, in); err != nil || out.Result != conversation.Done {
		t.Fatalf("got %+v, %v", out, err)
	}
	if c := b.Model.Calls()[1]; c.Model != "small" || len(c.Tools)+len(c.Turns) > 0 || !strings.Contains(c.System, `found {"query":"a"}`) {
		t.Errorf("it was asked %+v", c)
	}
}

// What was found before the channel was shared is not shown after that, nor what was deleted since.
func TestResultsAreHidden(t *testing.T) {
	t.Parallel()
	for _, since := range []string{"", "shared", "deleted"} {
		b := setup(t, withModel(llmtest.Script(search("a", "b"), llmtest.Text("Seven."))))
		f := b.withTools()
		asked := b.say(b.Mention("how many dwarfs?"))
		other := store.Channel{ID: "C0OTHER", Name: "other", Member: true}
		if _, err := b.Store.SyncChannels(t.Context(), asked.Team, []store.Channel{other, {ID: asked.Channel, Name: "general", Member: true}}); err != nil {
			t.Fatal(err)
		}
		f.run = func(input string) (string, bool, error) {
			channel := asked.Channel
			if strings.Contains(input, "a") {
				channel = other.ID
			}
			return tools.Reference{Channel: channel, TS: asked.TS}.Mark() + " seven", false, nil
		}
		in := ComposeInput{Task: inThread(asked), Addressed: true}
		out, err := runOnce[ReplyOutput](b.Compose, in)
		if err != nil {
			t.Fatal(err)
		}
		b.lookAll(in, out)
		want := []string{"[1] seven", "[2] seven"}
		switch since {
		case "deleted":
			b.record(chat.Message{Team: asked.Team, Channel: other.ID, TS: asked.TS, UserID: b.Alice.ID, Deleted: true})
			want = []string{"(left out: it was deleted)", "[1] seven"}
		case "shared":
			if err := b.Store.SaveChannel(t.Context(), asked.Team, store.Channel{ID: asked.Channel, Name: "general", Member: true, External: true}); err != nil {
				t.Fatal(err)
			}
			want = []string{resultHidden, "[1] seven"}
		}
		in.Round = 1
		b.play(in)
		results := b.Model.Calls()[1].Turns[0].Results
		if got := []string{results[0].Text, results[1].Text}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", since, got, want)
		}
	}
}

func TestResultsAreCut(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(search("a"), llmtest.Text("Seven."))))
	f := b.withTools()
	f.run = func(string) (string, bool, error) { return strings.Repeat("ä", 30) + "\x00\xff", false, nil }
	b.Limits.MaxResultChars = 20
	task := inThread(b.say(b.Mention("how many dwarfs?")))
	b.play(ComposeInput{Task: task, Addressed: true})
	if got, want := b.Model.Calls()[1].Turns[0].Results[0].Text, strings.Repeat("ä", 20)+"\n(cut here: 11 more characters)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClippedKeepsMarkersWhole(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{99: "a \x01C1/1.2\x01 b", 5: "a \n(cut here: 10 more characters)", 10: "a \x01C1/1.2\x01\n(cut here: 2 more characters)"} {
		if got := clipped("a \x01C1/1.2\x01 b", most); got != want {
			t.Errorf("%d: got %q, want %q", most, got, want)
		}
	}
}

// Infrastructure that stays away is a failed result, after some attempts, and no failure of the reply.
func TestAToolThatDoesNotWork(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(search("a"), llmtest.Text("Seven."))))
	f := b.withTools()
	f.run = func(string) (string, bool, error) { return "", false, errors.New("the database is away") }
	task := inThread(b.say(b.Mention("how many dwarfs?")))
	in := ComposeInput{Task: task, Addressed: true}
	out, err := runOnce[ReplyOutput](b.Compose, in)
	if err != nil {
		t.Fatal(err)
	}
	_, errs := runUntilDone[any](t, b.Look, LookInput{Task: task, Step: out.Steps[0].ID, Addressed: true})
	if len(errs) != maxStepAttempts || len(f.inputs) != maxStepAttempts {
		t.Errorf("%d errors and %d attempts, want %d", len(errs), len(f.inputs), maxStepAttempts)
	}
	in.Round = 1
	if _, out := b.play(in); out.Result != conversation.Done {
		t.Errorf("got %+v", out)
	}
	if r := b.Model.Calls()[1].Turns[0].Results[0]; r.Text != stepFailed {
		t.Errorf("the model was told %+v", r)
	}
}

// Nothing is looked up for a reply that is withdrawn, and a name that the model made up is not for a history.
func TestNothingIsLookedUpForAWithdrawnReply(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Reply{Calls: []llm.Call{{Name: "tell_secret_of_alice", Input: json.RawMessage(`{}`)}}})))
	f := b.withTools()
	task := inThread(b.say(b.Mention("how many dwarfs?")))
	in := ComposeInput{Task: task, Addressed: true}
	out, err := runOnce[ReplyOutput](b.Compose, in)
	if err != nil || len(out.Steps) != 1 || out.Steps[0].Tool != "unknown" {
		t.Fatalf("got %+v, %v", out, err)
	}
	if _, err := runOnce[any](b.Settle, SettleInput{Task: task, Addressed: true, Outcome: conversation.Dropped, By: "slack:U1"}); err != nil {
		t.Fatal(err)
	}
	b.lookAll(in, out)
	if len(f.inputs) != 0 {
		t.Errorf("looked up %v", f.inputs)
	}
}

// The same person's next words are answered with the question.
func TestComposeAnswersWhatJoined(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(search("a"), llmtest.Text("Seven."))))
	b.withTools()
	asked := b.say(b.Mention("how many dwarfs?"))
	in := ComposeInput{Task: inThread(asked), Addressed: true}
	out, err := runOnce[ReplyOutput](b.Compose, in)
	if err != nil {
		t.Fatal(err)
	}
	b.lookAll(in, out)
	added := b.say("and their names", workspace.InThread(asked.TS))
	b.say("me too", workspace.InThread(asked.TS))
	in.Round, in.Until = 1, added.TS
	if _, out := b.play(in); out.Result != conversation.Done {
		t.Fatalf("got %+v", out)
	}
	if c := b.Model.Calls()[1]; !strings.Contains(c.User, added.Time().UTC().Format("2006-01-02 15:04:05")) {
		t.Errorf("the instruction is %q, want that it names the newer message", c.User)
	}
	if parts := b.outbox(in.Task); len(parts) != 1 || parts[0].Trigger != asked.TS {
		t.Errorf("the outbox has %+v", parts)
	}
}

// A budget that is used up in the middle of a reply does not end it; a mute does.
func TestRulesBetweenRounds(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(search("a"), llmtest.Text("Seven."))))
	b.withTools()
	b.settings.DailyCalls = 1
	task := inThread(b.say(b.Mention("how many dwarfs?")))
	in := ComposeInput{Task: task, Addressed: true}
	out, err := runOnce[ReplyOutput](b.Compose, in)
	if err != nil || out.Result != conversation.Looking {
		t.Fatalf("got %+v, %v", out, err)
	}
	b.lookAll(in, out)
	in.Round = 1
	b.mute(task.Conversation, time.Hour)
	if out, err := runOnce[ReplyOutput](b.Compose, in); err != nil || out.Result != conversation.Silenced || len(b.Model.Calls()) != 1 {
		t.Errorf("muted: %+v, %v", out, err)
	}
	other := inThread(b.say(b.Mention("again?")))
	if _, out := b.play(ComposeInput{Task: other, Addressed: true}); out.Result != conversation.Done || b.decision(other).Rule != string(conversation.RuleOverBudget) {
		t.Errorf("over budget: %+v, %+v", out, b.decision(other))
	}
}

func TestStopKeepsOutOfTheThread(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(llmtest.Script(llmtest.Yes("nobody answered", 0.9, 0))))
		root := b.say(b.Mention("how many dwarfs?"))
		where := inThread(root).Conversation
		relay := func(text string, change conversation.Change) Task {
			t.Helper()
			m := b.say(text, workspace.InThread(root.TS))
			change.TS = m.TS
			if _, err := b.Store.Record(t.Context(), m, func(store.Known) store.Entry {
				return store.Entry{Message: &m, Handled: true, Changes: []store.Change{{Conversation: where, Change: change}}}
			}); err != nil {
				t.Fatal(err)
			}
			return Task{Conversation: where, Trigger: m.TS, Decision: "run/" + m.TS}
		}
		judged := func(task Task) string {
			t.Helper()
			out, err := runOnce[JudgeOutput](b.Judge, judging(task))
			if err != nil {
				t.Fatal(err)
			}
			return string(out.Rule)
		}
		if rule := judged(relay("hm", conversation.Change{Kind: conversation.Said})); rule != "" {
			t.Errorf("before: %s", rule)
		}
		stop := relay("stop", conversation.Change{Kind: conversation.Said, Stop: true})
		for _, c := range []struct {
			line conversation.Stop
			want string
		}{{conversation.Stopped, "Stopped."}, {conversation.TooLate, "That was too late: my answer was already on its way."}} {
			task := stop
			task.Decision += string(c.line)
			task.Epoch++
			if out, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true, Notice: true, Stop: c.line}); err != nil || out.Result != conversation.Done {
				t.Fatalf("got %+v, %v", out, err)
			}
			if parts := b.outbox(task); len(parts) != 1 || parts[0].Text != c.want || b.decision(task).Reason != stopReason {
				t.Errorf("the outbox has %+v, the ledger %+v", parts, b.decision(task))
			}
			b.compose(task, "cleared")
		}
		if rule := judged(relay("still here", conversation.Change{Kind: conversation.Said})); rule != "stopped" {
			t.Errorf("after: %q", rule)
		}
		b.settings.Mode = config.ModeAll
		said := relay("and now", conversation.Change{Kind: conversation.Addressed})
		if out, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: said, Addressed: true}); err != nil || out.Result != conversation.Silenced {
			t.Errorf("where every message is for it: %+v, %v", out, err)
		}
		now := time.Now().UnixMicro()
		if _, err := b.Store.AddPromise(t.Context(), store.Promise{
			Choice:  store.Choice{ID: "p", TeamID: "T1", ChannelID: b.General, ThreadTS: root.TS, TriggerTS: said.Trigger, Asker: b.Alice.ID},
			What:    "the parcel",
			Zone:    "UTC",
			FirstUS: now,
			DueUS:   now,
		}, store.PromiseLimits{Conversation: 20}); err != nil {
			t.Fatal(err)
		}
		promised := said
		promised.Decision, promised.Occasion = "run/promise", conversation.Occasion{Promise: "p", Number: 1}
		if out, err := runOnce[CheckOutput](b.CheckPromise, CheckInput{promised}); err != nil || out.Result != conversation.CheckKeep {
			t.Errorf("a promise from before is checked: %+v, %v", out, err)
		}
		if out, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: promised, Addressed: true, Notice: true}); err != nil || out.Result != conversation.Done {
			t.Errorf("a promise from before is composed: %+v, %v", out, err)
		}
		b.settings.Mode = config.ModeJudge
		relay(b.Mention("come back"), conversation.Change{Kind: conversation.Addressed, Mention: true})
		if rule := judged(relay("so", conversation.Change{Kind: conversation.Said})); rule != "" {
			t.Errorf("after a mention: %s", rule)
		}
		if n := len(b.Model.Calls()); n != 2 {
			t.Errorf("%d calls of the model, want the two judgments", n)
		}
	})
}
