package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/config"
)

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
	if err := writeConfig(path, t.TempDir(), "127.0.0.1:1", "127.0.0.1:2", options{quiet: 4, language: "en"}, model{provider: "demo", name: "demo"}, one); err != nil {
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
	if err := writeConfig(path, t.TempDir(), "127.0.0.1:1", "127.0.0.1:2", options{quiet: 4, language: "ja"}, model{provider: "demo", name: "demo"}, newSecrets()); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, func(string) (string, bool) { return "", false })
	if err != nil || c.Language != chat.Japanese || !strings.Contains(c.Persona.SystemPrompt, "です") && !strings.Contains(c.Persona.SystemPrompt, "ます") {
		t.Errorf("language %q, persona %q, %v", c.Language, c.Persona.SystemPrompt, err)
	}
}

// The environment chooses the model.
func TestTheEnvironmentChoosesTheModel(t *testing.T) {
	t.Parallel()
	const key, server = "key-of-the-environment", "http://127.0.0.1:11434/v1"
	for name, c := range map[string]struct {
		environment    map[string]string
		provider, name string
		says           string
		access         config.Access
	}{
		"nothing": {nil, "demo", "demo", "demo: rules, no network", config.Access{}},
		"empty":   {map[string]string{"GEMINI_API_KEY": "", "OPENAI_API_KEY": ""}, "demo", "demo", "demo: rules, no network", config.Access{}},
		"openai":  {map[string]string{"OPENAI_API_KEY": key}, "openai", "gpt-5-mini", "openai gpt-5-mini", config.Access{APIKey: key}},
		"another": {map[string]string{"OPENAI_BASE_URL": server, "OPENAI_MODEL": "llama3:8b, large"},
			"openai", "llama3:8b, large", "openai llama3:8b, large", config.Access{BaseURL: server}},
		"anthropic": {map[string]string{"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": server, "ANTHROPIC_MODEL": "claude-x"},
			"anthropic", "claude-x", "anthropic claude-x", config.Access{APIKey: key, BaseURL: server}},
		"gemini": {map[string]string{"GEMINI_API_KEY": key, "OPENAI_API_KEY": "other"}, "gemini", "gemini-3.8-flash", "gemini gemini-3.8-flash", config.Access{APIKey: key}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := chooseModel(func(name string) string { return c.environment[name] })
			path := filepath.Join(t.TempDir(), "config.yaml")
			own := newSecrets()
			if err := writeConfig(path, t.TempDir(), "127.0.0.1:1", "127.0.0.1:2", options{quiet: 4, language: "en"}, m, own); err != nil {
				t.Fatal(err)
			}
			settings, err := config.Load(path, func(name string) (string, bool) { v, ok := c.environment[name]; return v, ok })
			if err != nil {
				t.Fatal(err)
			}
			if file, err := os.ReadFile(path); err != nil || strings.Contains(string(file), key) {
				t.Errorf("the key is in the file, or reading it failed with %v: %s", err, file)
			}
			for use, agent := range settings.Agents.All() {
				if string(agent.Provider) != c.provider || agent.Model != c.name || settings.Access(agent) != c.access {
					t.Errorf("%s: %s of %s by %+v, want %s of %s by %+v", use, agent.Model, agent.Provider, settings.Access(agent), c.name, c.provider, c.access)
				}
			}
			if !strings.HasPrefix(m.says, c.says) {
				t.Errorf("it is said to be %q", m.says)
			}
		})
	}
}
