package main

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

// configured writes the configuration for an environment and serves its model. It returns the
// configuration as the programs read it, the model, and the model's address.
func configured(t *testing.T, environment map[string]string) (config.Config, model, string) {
	t.Helper()
	m, err := chooseModel(func(name string) string { return environment[name] })
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(m.tap)
	t.Cleanup(served.Close)
	path := filepath.Join(t.TempDir(), "config.yaml")
	own := secrets{Token: "xoxb-token", Signing: "signing"}
	if err := writeConfig(path, t.TempDir(), "127.0.0.1:1", "127.0.0.1:2", strings.TrimPrefix(served.URL, "http://"), options{quiet: 4, language: "en"}, m, own); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, func(name string) (string, bool) { v, ok := environment[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if file, err := os.ReadFile(path); err != nil || strings.Contains(string(file), "key-of-the-environment") {
		t.Errorf("the key is in the file, or reading it failed with %v: %s", err, file)
	}
	return c, m, served.URL
}

// starter doctor checks that a signing secret looks like Slack's. A random secret may consist of
// digits only; the configuration must still read it as text.
func TestSecretsLookLikeSlacks(t *testing.T) {
	t.Parallel()
	one, other := newSecrets(), newSecrets()
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(one.Signing) || !strings.HasPrefix(one.Token, "xoxb-") {
		t.Errorf("%+v", one)
	}
	if one.Signing == other.Signing || one.Token == other.Token || one.App == other.App {
		t.Errorf("%+v twice", one)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	one.Signing = "12345678901234567890123456789012"
	if err := writeConfig(path, t.TempDir(), "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", options{quiet: 4, language: "en"}, model{provider: "openai", name: "demo"}, one); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, func(string) (string, bool) { return "", false })
	if err != nil || string(c.Slack.SigningSecret) != one.Signing {
		t.Errorf("read as %q, %v", string(c.Slack.SigningSecret), err)
	}
}

func TestTheBotSpeaksTheLanguageOfTheFlag(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := writeConfig(path, t.TempDir(), "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", options{quiet: 4, language: "ja"}, model{provider: "openai", name: "demo"}, newSecrets()); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, func(string) (string, bool) { return "", false })
	if err != nil || c.Language != chat.Japanese || !strings.Contains(c.Persona.SystemPrompt, "です") && !strings.Contains(c.Persona.SystemPrompt, "ます") {
		t.Errorf("language %q, persona %q, %v", c.Language, c.Persona.SystemPrompt, err)
	}
}

// The environment chooses the model, and every call goes through the tap.
func TestTheEnvironmentChoosesTheModel(t *testing.T) {
	t.Parallel()
	const key = "key-of-the-environment"
	provider := llmtest.New(t, nil)
	provider.Key = key
	for name, c := range map[string]struct {
		environment    map[string]string
		provider, name string
		says           string
		key            string
		answer         string // empty: the test cannot reach the model and switches it off
	}{
		"nothing": {nil, "openai", "demo", "demo: rules, no network", "", "demo model"},
		"empty":   {map[string]string{"GEMINI_API_KEY": "", "OPENAI_API_KEY": ""}, "openai", "demo", "demo: rules, no network", "", "demo model"},
		"openai":  {map[string]string{"OPENAI_API_KEY": key}, "openai", "gpt-5-mini", "openai gpt-5-mini", key, ""},
		"another": {map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": provider.URL + "/v1", "OPENAI_MODEL": "llama3:8b, large"},
			"openai", "llama3:8b, large", "openai llama3:8b, large", key, "ok"},
		"anthropic": {map[string]string{"ANTHROPIC_API_KEY": key}, "anthropic", "claude-haiku-5-5", "anthropic claude-haiku-5-5", key, ""},
		"another anthropic": {map[string]string{"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": provider.URL, "ANTHROPIC_MODEL": "claude-x"},
			"anthropic", "claude-x", "anthropic claude-x", key, "ok"},
		"gemini":       {map[string]string{"GEMINI_API_KEY": key, "OPENAI_API_KEY": "other"}, "gemini", "gemini-3.8-flash", "gemini gemini-3.8-flash", key, ""},
		"gemini's own": {map[string]string{"GEMINI_API_KEY": key, "GEMINI_MODEL": "gemini-x"}, "gemini", "gemini-x", "gemini gemini-x", key, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, m, address := configured(t, c.environment)
			for use, agent := range settings.Agents.All() {
				if string(agent.Provider) != c.provider || agent.Model != c.name {
					t.Errorf("%s: %s of %s, want %s of %s", use, agent.Model, agent.Provider, c.name, c.provider)
				}
			}
			access := settings.Access(settings.Agents.Response)
			if access.BaseURL != address || string(access.APIKey) != c.key || !strings.HasPrefix(m.says, c.says) {
				t.Errorf("at %s with %q, said to be %q", access.BaseURL, string(access.APIKey), m.says)
			}
			if _, priced := settings.LLM.Prices["demo"]; priced != (c.name == "demo") {
				t.Errorf("the demo model has a price: %v", priced)
			}
			agents, stop, err := agents.OpenByUse(t.Context(), settings, time.Now, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			m.tap.SetDown(c.answer == "")
			answer, err := agents.Response.Model.Generate(t.Context(), llm.Request{
				Purpose: llm.PurposeResponse, Model: agents.Response.Agent.Model, System: "**2024-03-01 10:10:00** alice:\nhi", Prompt: "Answer.", ClientRequestID: "run/1",
			})
			if c.answer == "" && !errors.Is(err, llm.ErrUnavailable) || c.answer != "" && (err != nil || !strings.Contains(answer.Text, c.answer)) {
				t.Errorf("got %q, %v", answer.Text, err)
			}
			kept := m.tap.Exchanges("run/1")
			if len(kept) != 1 || kept[0].Model != c.name || kept[0].Answer != answer.Text {
				t.Errorf("the tap keeps %+v", kept)
			}
		})
	}
}

func TestAnInvalidModelAddressIsRefused(t *testing.T) {
	t.Parallel()
	_, err := chooseModel(func(name string) string { return map[string]string{"OPENAI_BASE_URL": "secret:11434/v1"}[name] })
	if err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
