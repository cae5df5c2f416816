package agents

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

// useFallbacks gives each agent a model of Gemini's, and a fallback of Anthropic's with a prompt of its own.
func (b *bundle) useFallbacks() {
	b.Helper()
	c := config.Config{LLM: config.LLM{Gemini: config.Gemini{APIKey: "key", Endpoint: b.Model.URL}, Anthropic: config.Access{APIKey: "key", BaseURL: b.Model.URL}}}
	for agent, model := range map[*config.Agent]string{&c.Agents.Response: "large", &c.Agents.Judgment: "small", &c.Agents.Memory: "keeper"} {
		*agent = config.Agent{Provider: config.ProviderGemini, Model: model, MaxOutputTokens: 400, Fallback: config.Fallback{
			Provider: config.ProviderAnthropic, Model: "spare-" + model, SystemPrompt: "You are the spare.",
		}}
	}
	byUse, stop, err := OpenByUse(b.Context(), c, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stop)
	b.ByUse = byUse
}

// answersOf has the models of Gemini's answer with one reply, and their fallbacks with another.
func (b *bundle) answersOf(first, spare llmtest.Reply) {
	b.Model.Reset()
	b.Model.Handle(func(c llmtest.Call) llmtest.Reply {
		if c.Provider == "gemini" {
			return first
		}
		return spare
	})
}

// asked lists the models that were asked, in order.
func (b *bundle) asked() (models []string) {
	for _, c := range b.Model.Calls() {
		models = append(models, c.Model)
	}
	return models
}

// Every agent has its own fallback: that of the judge and that of memory take over, too.
func TestFallbacksOfAllAgents(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.useFallbacks()
	b.addChannels(public("C1", "general"))
	said := b.say("C1", time.Hour, "how many dwarfs?")
	in := chat.Conversation{Team: "T1", Channel: "C1"}

	b.answersOf(llmtest.Fail(401), llmtest.Yes("nobody knows", 0.7, 5))
	j, err := b.Judgment(b.Context(), in, []string{said.TS}, 600)
	if err != nil {
		t.Fatal(err)
	}
	v, answer, err := b.Judge(b.Context(), j, Attempt{})
	if err != nil || !v.ShouldRespond || answer.Model != "spare-small" {
		t.Errorf("the judge: %+v by %s, %v", v, answer.Model, err)
	}
	check := PromiseCheck{Conversation: in, Trigger: said.TS, Promise: prompt.Promise{What: "look again", Unless: "somebody knows"}}
	if v, answer, err = b.CheckPromise(b.Context(), check, Attempt{}); err != nil || !v.ShouldRespond || answer.Model != "spare-small" {
		t.Errorf("the judge of a promise: %+v by %s, %v", v, answer.Model, err)
	}
	b.wantSpares("small", "spare-small", "spare-small")

	b.answersOf(llmtest.Fail(401), llmtest.Text(`{"reason": "it still fits", "post": true}`))
	if look, err := b.AskSecondLook(b.Context(), SecondLook{Conversation: in, Trigger: said.TS, Draft: "Seven."}, Attempt{}); err != nil || !look.Post {
		t.Errorf("the second look: %+v, %v", look, err)
	}
	b.wantSpares("spare-small")

	b.answersOf(llmtest.Fail(401), llmtest.Text("- noted"))
	if made, err := b.Remember(b.Context(), channel("C1"), b.now, 1); err != nil || !made.Changed {
		t.Errorf("memory: %+v, %v", made, err)
	}
	if long, short := b.currentMemories(channel("C1")); long.Model != "spare-keeper" || short.Model != "spare-keeper" {
		t.Errorf("remembered by %s and %s", long.Model, short.Model)
	}
	b.wantSpares("keeper", "spare-keeper", "spare-keeper")
}

// wantSpares fails unless these models were asked, in this order, and the fallbacks by their own prompt.
func (b *bundle) wantSpares(models ...string) {
	b.Helper()
	if got := b.asked(); !slices.Equal(got, models) {
		b.Errorf("asked %q, want %q", got, models)
	}
	for _, c := range b.Model.Calls() {
		if strings.Contains(c.System, "You are the spare.") != strings.HasPrefix(c.Model, "spare-") {
			b.Errorf("%s was asked\n%s", c.Model, c.System)
		}
	}
}

// What the fallback cannot mend either is told by the failure that may pass. What is no fault of the model, or
// only of one question, opens no breaker.
func TestWhereBothModelsFail(t *testing.T) {
	t.Parallel()
	good := llmtest.Text("Seven.")
	for _, tc := range []struct {
		name         string
		first, spare llmtest.Reply
		wait         time.Duration // then it is asked again
		asked        string
		again        string // asked again
		kind         string // of the second failure
	}{
		{"both for good", llmtest.Fail(401), llmtest.Fail(401), time.Second, "large spare-large", "spare-large", "auth"},
		{"the first for a time", llmtest.Fail(503), llmtest.Fail(401), time.Minute, "large", "large spare-large", "unavailable"},
		{"the fallback for a time", llmtest.Fail(401), llmtest.Fail(503), time.Second, "large spare-large", "spare-large", "unavailable"},
		{"blocked", llmtest.Reply{Blocked: true}, good, time.Second, "large", "large", "blocked"},
		{"a question refused", llmtest.Fail(400), good, time.Second, "large spare-large", "large spare-large", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "")
			b.useFallbacks()
			b.addChannels(public("C1", "general"))
			m := b.say("C1", time.Hour, "how many dwarfs?")
			about := Reply{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Trigger: m.TS, Addressed: true}
			b.answersOf(tc.first, tc.spare)
			_, _, _ = b.AskReply(b.Context(), about, Attempt{})
			if got := strings.Join(b.asked(), " "); got != tc.asked {
				t.Errorf("asked %q, want %q", got, tc.asked)
			}
			b.Time.SetAhead(tc.wait)
			b.Model.Reset()
			if _, answer, err := b.AskReply(b.Context(), about, Attempt{}); llm.KindOf(err) != tc.kind || err == nil && answer.Text != "Seven." {
				t.Errorf("%q, %v", answer.Text, err)
			}
			if got := strings.Join(b.asked(), " "); got != tc.again {
				t.Errorf("asked %q, want %q", got, tc.again)
			}
		})
	}
}

// A model that is tried may take so long that the fallback has its time left.
func TestATrialThatHangs(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.useFallbacks()
	hangs := &hangingModel{}
	b.addChannels(public("C1", "general"))
	m := b.say("C1", time.Hour, "how many dwarfs?")
	about := Reply{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Trigger: m.TS, Addressed: true}
	for i, want := range [][]string{{"large", "spare-large"}, {"spare-large"}} {
		b.answersOf(llmtest.Fail(401), llmtest.Text("Seven."))
		b.Time.SetAhead(time.Duration(i+1) * retryTime)
		ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
		_, answer, err := b.AskReply(ctx, about, Attempt{})
		cancel()
		if err != nil || answer.Text != "Seven." || !slices.Equal(b.asked(), want) {
			t.Errorf("question %d: %q, %v of %q", i, answer.Text, err, b.asked())
		}
		end, _ := ctx.Deadline()
		if before := saveCallTimeout + trialReserve; i == 1 && !hangs.until.Equal(end.Add(-before)) {
			t.Errorf("tried until %s, want %s before %s", hangs.until, before, end)
		}
		b.ByUse.Response.Model = hangs
	}
}

// hangingModel fails as one that does not answer, and notes until when it might have.
type hangingModel struct{ until time.Time }

func (h *hangingModel) Generate(ctx context.Context, _ llm.Request) (llm.Response, error) {
	h.until, _ = ctx.Deadline()
	return llm.Response{}, &llm.Error{Kind: llm.ErrUnavailable, Err: context.DeadlineExceeded}
}

func (*hangingModel) Close() error { return nil }
