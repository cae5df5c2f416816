package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/config"
)

func TestVariablesAreExpanded(t *testing.T) {
	e := env{"WHO": "alice", "EMPTY": "", "YAML": "a\nlanguage: ja", "NEST": "${WHO}", "N": " 7 "}
	for _, tc := range []struct{ text, want string }{
		{"${WHO}", "alice"},
		{"<${WHO}-${WHO}>", "<alice-alice>"},
		{"${WHO:-bob}", "alice"},
		{"${NONE:-bob}", "bob"},
		{"${EMPTY:-bob}", "bob"},
		{"x${EMPTY}", "x"},
		{"${NONE:-}x", "x"},
		{"${NONE:-a:-b $ c}", "a:-b $ c"},
		{"$${WHO}", "${WHO}"},
		{"$${WHO} ${WHO}", "${WHO} alice"},
		{"$WHO costs 5$", "$WHO costs 5$"},
		{"$$ {WHO}", "$$ {WHO}"},
		{"${NEST}", "${WHO}"},
	} {
		c := parse(t, over("persona: {name: '"+tc.text+"'}"), e)
		if c.Persona.Name != tc.want {
			t.Errorf("%s became %q, want %q", tc.text, c.Persona.Name, tc.want)
		}
	}
}

func TestAFileMayHoldAVariablesValue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "name")
	must(t, os.WriteFile(path, []byte("carol\n"), 0o600))
	for _, tc := range []struct {
		env         env
		want, fault string
	}{
		{env{"WHO_FILE": path}, "carol", ""},
		{env{"WHO": "", "WHO_FILE": path}, "carol", ""},
		{env{"WHO": "alice", "WHO_FILE": path}, "alice", ""},
		{env{"WHO_FILE": ""}, "bob", ""},
		{env{"WHO_FILE": path + "/none"}, "", "WHO_FILE cannot be read: open " + path + "/none: not a directory"},
	} {
		c, err := config.Parse([]byte(over("persona: {name: '${WHO:-bob}'}")), tc.env.get)
		if c.Persona.Name != tc.want || (err != nil) != (tc.fault != "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%v became %q, %v, want %q, %q", tc.env, c.Persona.Name, err, tc.want, tc.fault)
		}
	}
}

func TestAVariablesValueCannotBecomeYAML(t *testing.T) {
	c := parse(t, over("persona: {system_prompt: '${YAML}'}"), env{"YAML": "a\nlanguage: ja # {[\"'"})
	if c.Language != chat.English || c.Persona.SystemPrompt != "a\nlanguage: ja # {[\"'" {
		t.Errorf("got %s, %q", c.Language, c.Persona.SystemPrompt)
	}
}

func TestAVariableMayBeANumber(t *testing.T) {
	c := parse(t, over(`response:
  min_wait_seconds: ${N:-20}
  jitter_ratio: ${J}
channels: {general: {max_wait_seconds: "${M:-90}", min_wait_seconds: 1}}`), env{"J": "0.5"})
	if c.Response.MinWaitSeconds != 20 || c.Response.JitterRatio != 0.5 || *c.Channels["general"].MaxWaitSeconds != 90 {
		t.Errorf("got %+v, %+v", c.Response, c.Channels)
	}
}

func TestUnusedKeysNeedNoVariables(t *testing.T) {
	const unset = "llm: {gemini: {api_key: '${G}'}, openai: {api_key: '${O}', base_url: '${B}'}}\n"
	agents := func(provider string) string {
		return "agents: {response: {provider: demo}, judgment: {provider: demo}, memory: {provider: " + provider + ", model: m}}\n"
	}
	slack := "slack: {bot_token: x, signing_secret: y}\n"
	parse(t, slack+unset+agents("demo"), nil)
	parse(t, slack+unset+agents("'${P:-demo}'"), nil)
	parse(t, slack+unset+agents("gemini"), env{"G": "key"})
	parse(t, slack+unset+agents("openai"), env{"O": "", "B": "http://localhost:11434/v1"})

	want := "llm.gemini.api_key: not set in the environment: G"
	for _, text := range []string{agents("gemini"), agents("'${P}'"), ""} {
		got := faultsOf(t, slack+unset+text, env{"P": "gemini"})
		if len(got) != 1 || got[0].String() != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	if got := faultsOf(t, slack+unset+agents("openai"), nil); len(got) != 2 {
		t.Errorf("got %v, want O and B", got)
	}
}

// A secret is often copied with its line break, and a variable may have a space in it.
func TestSecretsAreTrimmed(t *testing.T) {
	const text = "slack: {bot_token: ' x ', signing_secret: '${S}', app_token: '${A}'}\nllm: {gemini: {api_key: '${G}'}}"
	c := parse(t, over(text), env{"S": "shh\n", "A": " ", "G": "\tkey\r\n"})
	if c.Slack.BotToken != "x" || c.Slack.SigningSecret != "shh" || c.Slack.SocketMode() || c.LLM.Gemini.APIKey != "key" {
		t.Errorf("got %q, %q, %q, %q", string(c.Slack.BotToken), string(c.Slack.SigningSecret), string(c.Slack.AppToken), string(c.LLM.Gemini.APIKey))
	}
	got := faultsOf(t, over(text), env{"S": " ", "A": "\n", "G": "key"})
	if len(got) != 1 || got[0].Key != "slack.signing_secret" {
		t.Errorf("got %v", got)
	}
}

func TestSocketModeNeedsNoSigningSecret(t *testing.T) {
	const text = "slack: {bot_token: x, signing_secret: '${S}', app_token: '${A:-}'}"
	c := parse(t, over(text), env{"A": "xapp-1"})
	if !c.Slack.SocketMode() {
		t.Error("an app token does not choose Socket Mode")
	}
	if got := faultsOf(t, over(text), nil); len(got) != 1 || got[0].Key != "slack.signing_secret" {
		t.Errorf("got %v", got)
	}
	if got := faultsOf(t, over(text+"\nlanguage: '${L}'"), env{"A": "xapp-1"}); len(got) != 1 || got[0].String() != "language: not set in the environment: L" {
		t.Errorf("got %v", got)
	}
}
