package activities

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/answer/agents"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm/openai"
	"myao/test/llmtest"
)

// pair is a bundle with two models for replies: one of Gemini's, whose answer can be set, and the fallback, of
// OpenAI's.
type pair struct {
	*bundle
	first   atomic.Pointer[llmtest.Reply]
	passed  time.Duration // for the models
	log     strings.Builder
	metrics *prometheus.Registry
}

func setupPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{metrics: prometheus.NewRegistry()}
	p.bundle = setup(t, withModel(func(c llmtest.Call) llmtest.Reply {
		if c.Provider == "gemini" {
			return *p.first.Load()
		}
		return llmtest.Reply{Text: "Seven, says the spare.", InputTokens: 40, OutputTokens: 2}
	}))
	model, err := openai.New(openai.Config{APIKey: "key", BaseURL: p.Model.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	p.Agents.ByUse.Response.Fallback = &agents.Agent{Model: model, Agent: config.Agent{
		Provider: config.ProviderOpenAI, Model: "spare", MaxOutputTokens: 1000, SystemPrompt: "You are the spare.",
	}}
	began := time.Now()
	p.Agents.Clock = func() time.Time { return began.Add(p.passed) }
	p.Agents.Logger = slog.New(slog.NewTextHandler(&p.log, nil))
	p.Agents.Measure(agents.NewMetrics(p.metrics))
	return p
}

// fallbacks counts the questions that were put to the fallback.
func (p *pair) fallbacks() float64 {
	p.Helper()
	families, err := p.metrics.Gather()
	if err != nil {
		p.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "myao_model_fallbacks_total" && m.GetLabel()[0].GetValue() == "response" {
				return m.GetCounter().GetValue()
			}
		}
	}
	p.Error("the fallback is not counted")
	return 0
}

// A model that is refused, or has failed for a minute, is replaced by the fallback. It is asked again after a
// minute, and answers again as soon as it can. The ledger, the log and the metrics tell.
func TestFallback(t *testing.T) {
	t.Parallel()
	const (
		spare  = "Seven, says the spare."
		failed = "" // the attempt fails, and is repeated
	)
	good, down := llmtest.Text("Seven."), llmtest.Fail(503)
	type step struct {
		after time.Duration
		first llmtest.Reply
		asked string // the models, in order
		text  string
	}
	for name, steps := range map[string][]step{
		"a wrong key": {
			{0, llmtest.Fail(401), "large spare", spare},
			{30 * time.Second, good, "spare", spare},
			{30 * time.Second, good, "large", "Seven."},
			{time.Second, good, "large", "Seven."},
		},
		"an unknown model": {
			{0, llmtest.Fail(404), "large spare", spare}, {time.Second, good, "spare", spare}, {time.Minute, good, "large", "Seven."},
		},
		"a long wait": {
			{0, llmtest.Reply{Status: 429, RetryAfter: "3600"}, "large spare", spare}, {time.Minute, good, "large", "Seven."},
		},
		"an outage": {
			{0, down, "large", failed}, {10 * time.Second, down, "large", failed}, {45 * time.Second, down, "large", failed},
			{5 * time.Second, down, "large spare", spare}, {20 * time.Second, down, "spare", spare},
			{40 * time.Second, down, "large spare", spare}, {time.Second, good, "spare", spare},
			{time.Minute, good, "large", "Seven."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := setupPair(t)
			asked := 0.0
			for i, s := range steps {
				p.first.Store(&s.first)
				p.passed += s.after
				before := len(p.Model.Calls())
				task := inThread(p.say("how many dwarfs?"))
				out, err := runOnce[ReplyOutput](p.Compose, ComposeInput{Task: task, Addressed: true})
				var models, ended []string
				for _, c := range p.Model.Calls()[before:] {
					models = append(models, c.Model)
					if own := strings.Contains(c.System, "You are the spare."); own != (c.Model == "spare") {
						t.Errorf("step %d: %s has the fallback's prompt: %v", i, c.Model, own)
					}
				}
				if got := strings.Join(models, " "); got != s.asked {
					t.Errorf("step %d: asked %q, want %q", i, got, s.asked)
				}
				if s.text == failed {
					if app := applicationError(t, err); app.NonRetryable() {
						t.Errorf("step %d: %v, want a retryable error", i, err)
					}
					continue
				}
				if err != nil || out.Result != conversation.Done || p.outbox(task)[0].Text != s.text {
					t.Fatalf("step %d: %+v, %v, %+v", i, out, err, p.outbox(task))
				}
				calls, err := p.Store.CallsFor(t.Context(), []string{task.decisionKey()})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range calls {
					ended = append(ended, c.Model)
				}
				last := models[len(models)-1]
				if d := p.decision(task); d.Model != last || strings.Join(ended, " ") != s.asked {
					t.Errorf("step %d: the ledger has the model %s and calls of %q", i, d.Model, ended)
				}
				if last == "spare" {
					asked++
				}
			}
			if got := p.fallbacks(); got != asked {
				t.Errorf("%v questions to the fallback are counted, want %v", got, asked)
			}
			for _, line := range []string{
				`level=WARN msg="the model fails; its fallback is asked from now on" agent=response model=large fallback=spare error_kind=`,
				`level=INFO msg="the model works again; its fallback is no longer asked" agent=response model=large fallback=spare`,
			} {
				if n := strings.Count(p.log.String(), line); n != 1 {
					t.Errorf("%d times in the log, want once: %s\n%s", n, line, p.log.String())
				}
			}
		})
	}
}

// A fallback that takes over a reply which the model has begun with tools is asked plainly: nothing of the
// model's turns is replayed, no tool is declared, and what was found stands in the prompt. One that begins a
// reply may use the tools itself.
func TestFallbackInTheMiddleOfTools(t *testing.T) {
	t.Parallel()
	p := setupPair(t)
	p.withTools()
	calls := search("dwarfs")
	calls.ThoughtTokens = 3 // its turn is signed
	p.first.Store(&calls)
	in := ComposeInput{Task: inThread(p.say("how many dwarfs?")), Addressed: true}
	out, err := runOnce[ReplyOutput](p.Compose, in)
	if err != nil || out.Result != conversation.Looking {
		t.Fatalf("%+v, %v", out, err)
	}
	p.lookAll(in, out)
	refused := llmtest.Fail(403)
	p.first.Store(&refused)
	in.Round = 1
	if out, err = runOnce[ReplyOutput](p.Compose, in); err != nil || out.Result != conversation.Done || p.outbox(in.Task)[0].Text != "Seven, says the spare." {
		t.Fatalf("%+v, %v", out, err)
	}
	asked := p.Model.Calls()
	first, last := asked[len(asked)-2], asked[len(asked)-1]
	if first.Provider != "gemini" || len(first.Turns) != 1 || len(first.Tools) != 1 {
		t.Errorf("the model of %s was asked with %d turns and %d tools", first.Provider, len(first.Turns), len(first.Tools))
	}
	if last.Provider != "openai" || len(last.Turns) > 0 || len(last.Tools) > 0 || !strings.Contains(last.System, `found {"query":"dwarfs"}`) {
		t.Errorf("the fallback was asked %s", last.Body)
	}
	if d := p.decision(in.Task); d.Model != "spare" || d.TokensIn != calls.InputTokens+40 {
		t.Errorf("the ledger has %+v", d)
	}

	next := inThread(p.say("and giants?"))
	p.Model.Handle(func(c llmtest.Call) llmtest.Reply {
		if len(c.Turns) == 0 {
			return search("giants")
		}
		return llmtest.Text("None.")
	})
	p.Model.Reset()
	if rounds, out := p.play(ComposeInput{Task: next, Addressed: true}); rounds != 1 || out.Result != conversation.Done {
		t.Errorf("%d rounds, %+v", rounds, out)
	}
	if calls := p.Model.Calls(); len(calls) != 2 || calls[1].Provider != "openai" || len(calls[1].Turns) != 1 {
		t.Errorf("asked %+v", calls)
	}
}
