package agents

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

func openAgents(t *testing.T, c config.Config, response, judgment, memory config.Provider) (ByUse, func(), error) {
	t.Helper()
	c.Agents = config.Agents{
		Response: config.Agent{Provider: response, Model: "large", SystemPrompt: "be brief"},
		Judgment: config.Agent{Provider: judgment, Model: "small"},
		Memory:   config.Agent{Provider: memory, Model: "keeper"},
	}
	return OpenByUse(t.Context(), c, time.Now, slog.New(slog.DiscardHandler))
}

func TestOneClientPerProvider(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, nil)
	var c config.Config
	c.LLM.Gemini = config.Gemini{APIKey: "key", Endpoint: server.URL}
	c.LLM.OpenAI = config.Access{BaseURL: server.URL + "/v1"}
	agents, stop, err := openAgents(t, c, config.ProviderGemini, config.ProviderOpenAI, config.ProviderGemini)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if agents.Response.Model != agents.Memory.Model || agents.Response.Model == agents.Judgment.Model {
		t.Error("not one client a provider")
	}
	for _, use := range []struct {
		agent           Agent
		provider, model string
	}{{agents.Response, "gemini", "large"}, {agents.Judgment, "openai", "small"}, {agents.Memory, "gemini", "keeper"}} {
		server.Reset()
		if _, err := use.agent.ask(t.Context(), use.agent.request(llm.Request{Prompt: "hello"})); err != nil {
			t.Error(err)
		}
		if calls := server.Calls(); len(calls) != 1 || calls[0].Provider != use.provider || calls[0].Model != use.model {
			t.Errorf("calls %+v, want one of %s at %s", calls, use.model, use.provider)
		}
	}
}

// The judge and the writer use two servers with the same protocol.
func TestOneClientPerServerAndKey(t *testing.T) {
	t.Parallel()
	cloud, local := llmtest.New(t, nil), llmtest.New(t, nil)
	cloud.Key = "cloud-key"
	c := config.Config{LLM: config.LLM{OpenAI: config.Access{APIKey: "cloud-key", BaseURL: cloud.URL + "/v1"}}}
	writer := config.Agent{Provider: config.ProviderOpenAI, Model: "large"}
	judge := writer
	judge.BaseURL = local.URL + "/v1"
	c.Agents = config.Agents{Response: writer, Judgment: judge, Memory: writer}
	agents, stop, err := OpenByUse(t.Context(), c, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if agents.Response.Model != agents.Memory.Model || agents.Response.Model == agents.Judgment.Model {
		t.Error("not one client a server")
	}
	for _, a := range []Agent{agents.Response, agents.Judgment} {
		if _, err := a.ask(t.Context(), a.request(llm.Request{Prompt: "hello"})); err != nil {
			t.Error(err)
		}
	}
	if calls := cloud.Calls(); len(calls) != 1 {
		t.Errorf("the cloud was asked %d times, want once", len(calls))
	}
	calls := local.Calls()
	if len(calls) != 1 {
		t.Fatalf("the local server was asked %d times, want once", len(calls))
	}
	if got := calls[0].Header.Get("Authorization"); got != "" {
		t.Errorf("the cloud's key was sent to the local server: %s", got)
	}
	c.Agents.Memory.APIKey = "another"
	if agents, stop, err = OpenByUse(t.Context(), c, time.Now, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	defer stop()
	if agents.Response.Model == agents.Memory.Model {
		t.Error("two keys share a client")
	}
}

func TestDemoNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	agents, stop, err := openAgents(t, config.Config{}, config.ProviderDemo, config.ProviderDemo, config.ProviderDemo)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	answer, err := agents.Memory.ask(t.Context(), agents.Memory.request(llm.Request{Purpose: llm.PurposeMemory, Prompt: "hello"}))
	if err != nil || !strings.Contains(answer.Text, "demo") || answer.Model != "keeper" {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestOpenAgentsErrors(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]config.Provider{"unknown": "oracle", "none": "", "without a key": config.ProviderGemini} {
		if _, _, err := openAgents(t, config.Config{}, config.ProviderDemo, config.ProviderDemo, memory); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := openAgents(t, config.Config{}, "oracle", config.ProviderDemo, config.ProviderDemo); err == nil || !strings.Contains(err.Error(), `"oracle"`) {
		t.Errorf("%v, want an error that names the provider", err)
	}
}

func TestRequestUsesTheAgentsSettings(t *testing.T) {
	t.Parallel()
	warm := 0.5
	for _, c := range []struct{ agent, asked, want int }{{800, 0, 800}, {800, 500, 800}, {100, 500, 500}, {0, 300, 300}, {0, 0, 0}} {
		a := Agent{Agent: config.Agent{Model: "large", MaxOutputTokens: c.agent, Temperature: &warm}}
		q := a.request(llm.Request{Purpose: llm.PurposeMemory, System: "s", Prompt: "p", MaxOutputTokens: c.asked})
		if q.MaxOutputTokens != c.want || q.Model != "large" || q.Temperature != &warm || q.System != "s" || q.Prompt != "p" || q.Purpose != llm.PurposeMemory {
			t.Errorf("%+v: %+v", c, q)
		}
	}
}

// scripted is a model that returns what it holds.
type scripted struct {
	llm.Response
	err error
}

func (s scripted) Generate(context.Context, llm.Request) (llm.Response, error) {
	return s.Response, s.err
}

func TestInvisibleAnswersAreErrors(t *testing.T) {
	t.Parallel()
	down := &llm.Error{Kind: llm.ErrUnavailable}
	for _, c := range []struct {
		text string
		err  error
		want error
		kept string
	}{
		{"yes", nil, nil, "yes"}, {" ", nil, llm.ErrEmpty, " "}, {"\x00", nil, llm.ErrEmpty, ""}, {"a\x00b", nil, nil, "ab"}, {"", down, llm.ErrUnavailable, ""},
		{"\u200b\ufeff", nil, llm.ErrEmpty, ""}, {" \u202e\n", nil, llm.ErrEmpty, " \n"}, {"\u200bhm", nil, nil, "hm"}, {"❤️", nil, nil, "❤️"},
	} {
		answer, err := Agent{Model: scripted{llm.Response{Text: c.text}, c.err}}.ask(t.Context(), llm.Request{})
		if !errors.Is(err, c.want) || answer.Text != c.kept {
			t.Errorf("%q: %q, %v; want %v", c.text, answer.Text, err, c.want)
		}
	}
}
