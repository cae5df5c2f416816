package activities

import (
	"slices"
	"testing"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/store"
	"myao/test/llmtest"
)

// withShadow has judges of these names, each with a model of the same name, see every judgment.
func (b *bundle) withShadow(names ...string) {
	for _, name := range names {
		agent := b.Agents.ByUse.Judgment
		agent.Agent.Model = name
		b.Agents.Shadow = append(b.Agents.Shadow, agents.ShadowJudge{Name: name, Agent: agent, Prompts: b.Agents.Prompts, MinConfidence: 0.5})
	}
	b.Shadow = config.Shadow{Sample: 1, DailyCalls: 100}
	b.StartOfDay = func(now time.Time) time.Time { return now.Add(-time.Hour) }
}

// judged has a message judged, and returns the task.
func (b *bundle) judged(text string) Task {
	b.Helper()
	task := atTopLevel(b.say(text))
	if _, err := runOnce[JudgeOutput](b.Judge, judging(task)); err != nil {
		b.Fatal(err)
	}
	return task
}

func (b *bundle) askShadowOnce(in ShadowInput) ShadowOutput {
	b.Helper()
	out, err := runOnce[ShadowOutput](b.AskShadow, in)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func (b *bundle) opinions(task Task) []store.Opinion {
	b.Helper()
	all, err := b.Store.OpinionsOf(b.Context(), []string{task.decisionKey()})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

func (b *bundle) snapshots() int {
	b.Helper()
	n, err := b.Store.CountSnapshots(b.Context(), "T1")
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// firstIsSilent is a model that says no for the first judge, and answers others by their names.
func firstIsSilent(others map[string]llmtest.Reply) llmtest.Handler {
	return func(c llmtest.Call) llmtest.Reply {
		if c.Model == "small" {
			return llmtest.No("bob has it")
		}
		return others[c.Model]
	}
}

// Only what a model was asked is kept, and what does not count does not change the judgment.
func TestWhatIsKeptForShadow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(b *bundle)
		kept int
	}{
		"a judgment": {func(*bundle) {}, 1},
		"a yes without confidence, which is silence": {func(b *bundle) {
			b.settings.MinConfidence = 0.9
			b.Model.Handle(llmtest.Script(llmtest.Yes("perhaps", 0.2, 0)))
		}, 1},
		"a rule's decision": {func(b *bundle) { b.settings.Mode = config.ModeMention }, 0},
		"not sampled":       {func(b *bundle) { b.Shadow.Sample = 0 }, 0},
		"no judges":         {func(b *bundle) { b.Agents.Shadow = nil }, 0},
		"the table is full": {func(b *bundle) { b.FillTable("snapshots") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(firstIsSilent(nil)))
			b.withShadow("rival")
			c.set(b)
			task := b.judged("does anybody know?")
			if d := b.decision(task); d.Key == "" || b.snapshots() != c.kept {
				t.Errorf("decided %+v, %d kept, want %d", d, b.snapshots(), c.kept)
			}
		})
	}
}

func TestOpinionsOfAJudge(t *testing.T) {
	t.Parallel()
	yes := llmtest.Yes("nobody answered", 0.8, 90)
	yes.InputTokens, yes.OutputTokens = 120, 34
	for name, c := range map[string]struct {
		reply llmtest.Reply
		want  store.Opinion // without what is the same for all
	}{
		"yes":        {yes, store.Opinion{ShouldRespond: true, Wanted: true, Confidence: ptr(0.8), Reason: "nobody answered", DelaySeconds: ptr(90), TokensIn: 120, TokensOut: 34}},
		"no":         {llmtest.No("bob has it"), store.Opinion{Confidence: ptr(0.9), Reason: "bob has it"}},
		"not sure":   {llmtest.Yes("perhaps", 0.3, 0), store.Opinion{Wanted: true, Confidence: ptr(0.3), Reason: "perhaps", DelaySeconds: ptr(0)}},
		"unreadable": {llmtest.Reply{Text: "perhaps"}, store.Opinion{Error: "unreadable"}},
		"blocked":    {llmtest.Reply{Blocked: true}, store.Opinion{Error: "blocked"}},
		"no key":     {llmtest.Fail(401), store.Opinion{Error: "auth"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(firstIsSilent(map[string]llmtest.Reply{"rival": c.reply})))
			b.withShadow("rival")
			task := b.judged("does anybody know?")
			if out := b.askShadowOnce(ShadowInput{}); out.Done || len(out.Silent) > 0 || b.snapshots() != 0 {
				t.Errorf("got %+v, %d snapshots", out, b.snapshots())
			}
			got := b.opinions(task)
			if len(got) != 1 {
				t.Fatalf("%d opinions", len(got))
			}
			o, w := got[0], c.want
			if o.Judge != "rival" || o.TeamID != "T1" || o.ChannelID != b.General || o.MinConfidence != 0.5 || o.Prompt != b.Agents.Prompts.JudgmentFingerprint() || o.LatencyUS <= 0 ||
				o.ShouldRespond != w.ShouldRespond || o.Wanted != w.Wanted || !same(o.Confidence, w.Confidence) || o.Reason != w.Reason || !same(o.DelaySeconds, w.DelaySeconds) || o.Error != w.Error ||
				w.TokensIn > 0 && (o.TokensIn != w.TokensIn || o.TokensOut != w.TokensOut || o.Model != "rival") {
				t.Errorf("it is %+v, want %+v", o, w)
			}
			if out := b.askShadowOnce(ShadowInput{}); !out.Done {
				t.Errorf("then %+v", out)
			}
			if posts := b.Workspace.Posts(); len(posts) > 0 {
				t.Errorf("posted %+v", posts)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func same[T comparable](a, b *T) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// A judge that does not answer holds up no other, is left alone in this run, and is given up at the third time.
func TestAJudgeThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(firstIsSilent(map[string]llmtest.Reply{"down": llmtest.Fail(503), "up": llmtest.No("no")})))
	b.withShadow("down", "up")
	task := b.judged("does anybody know?")
	asked := func(in ShadowInput, silent, opinions int) {
		t.Helper()
		if err := b.Store.PutOffSnapshot(t.Context(), task.decisionKey(), 0); err != nil {
			t.Fatal(err)
		}
		if out := b.askShadowOnce(in); out.Done || len(out.Silent) != silent || len(b.opinions(task)) != opinions {
			t.Errorf("%+v: got %+v, %+v", in, out, b.opinions(task))
		}
	}
	asked(ShadowInput{}, 1, 1)
	if out := b.askShadowOnce(ShadowInput{}); !out.Done {
		t.Errorf("it is not put off: %+v", out)
	}
	before := len(b.Model.Calls())
	asked(ShadowInput{Without: []string{"down"}}, 0, 1)
	if n := len(b.Model.Calls()); n != before {
		t.Errorf("%d calls after a judge that is left alone, want %d", n, before)
	}
	asked(ShadowInput{}, 0, 2)
	if all := b.opinions(task); all[1].Judge != "down" || all[1].Error != "unavailable" || all[1].Confidence != nil || b.snapshots() != 0 {
		t.Errorf("in the end: %+v, %d snapshots", all, b.snapshots())
	}
	if out := b.askShadowOnce(ShadowInput{Without: []string{"down", "up"}}); !out.Done {
		t.Errorf("without judges: %+v", out)
	}
}

// The daily limit is shadow's own, and what is left is neither asked nor lost before its day is over.
func TestShadowKeepsItsLimit(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(firstIsSilent(map[string]llmtest.Reply{"a": llmtest.No("no"), "b": llmtest.No("no")})))
	b.withShadow("a", "b")
	b.Shadow.DailyCalls = 1
	task := b.judged("does anybody know?")
	for range 2 {
		if out := b.askShadowOnce(ShadowInput{}); !out.Done {
			t.Errorf("got %+v", out)
		}
	}
	if all := b.opinions(task); len(all) != 1 || all[0].Judge != "a" || b.snapshots() != 1 {
		t.Errorf("%+v, %d snapshots", all, b.snapshots())
	}
	b.Shadow.DailyCalls = 0
	if out := b.askShadowOnce(ShadowInput{}); out.Done || len(b.opinions(task)) != 2 {
		t.Errorf("without a limit: %+v, %+v", out, b.opinions(task))
	}
	if calls, _, err := b.Store.Spent(t.Context(), "T1", b.General, time.Now().Add(-time.Hour)); calls != 1 || err != nil {
		t.Errorf("the channel's budget has %d calls, %v; want the first judge's", calls, err)
	}
}

// What is forgotten while a judge reads it leaves no opinion.
func TestForgottenWhileAJudgeReads(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, withModel(func(c llmtest.Call) llmtest.Reply {
		if c.Model == "rival" {
			if _, err := b.Store.Forget(t.Context(), chat.Scope{Team: "T1", Channel: b.General}, "cli:me", "f"); err != nil {
				t.Error(err)
			}
		}
		return llmtest.No("no")
	}))
	b.withShadow("rival")
	task := b.judged("does anybody know?")
	if out := b.askShadowOnce(ShadowInput{}); out.Done || len(b.opinions(task)) > 0 || b.snapshots() > 0 {
		t.Errorf("got %+v, %+v, %d snapshots", out, b.opinions(task), b.snapshots())
	}
	if calls := b.Model.Calls(); !slices.ContainsFunc(calls, func(c llmtest.Call) bool { return c.Model == "rival" }) {
		t.Error("the judge was not asked")
	}
}
