package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"myao/internal/config"
)

// accesses is a file whose three agents have these settings.
func accesses(llm, response, judgment, memory string) string {
	return "slack: {bot_token: a, signing_secret: b}\nllm: " + llm +
		"\nagents: {response: {" + response + "}, judgment: {" + judgment + "}, memory: {" + memory + "}}"
}

// faultLines are the faults of a file without an environment, a line each.
func faultLines(t *testing.T, file string) []string {
	t.Helper()
	var lines []string
	for _, f := range faultsOf(t, file, nil) {
		lines = append(lines, f.String())
	}
	return lines
}

func TestAnAgentsOwnAccess(t *testing.T) {
	t.Parallel()
	const local = "base_url: 'http://localhost:11434/v1'"
	c := parse(t, accesses("{openai: {api_key: cloud, base_url: 'https://cloud/v1'}}",
		"provider: openai, model: large", "provider: openai, model: small, "+local, "provider: openai, model: large, api_key: other"), nil)
	for _, tc := range []struct {
		agent           string
		want            config.Access
		apiKey, address string
	}{
		{"response", config.Access{APIKey: "cloud", BaseURL: "https://cloud/v1"}, "llm.openai.api_key", "llm.openai.base_url"},
		{"judgment", config.Access{BaseURL: "http://localhost:11434/v1"}, "agents.judgment.api_key", "agents.judgment.base_url"},
		{"memory", config.Access{APIKey: "other", BaseURL: "https://cloud/v1"}, "agents.memory.api_key", "llm.openai.base_url"},
	} {
		a := c.Agents.All()[tc.agent]
		if got := c.Access(a); got != tc.want {
			t.Errorf("%s: got %q at %s", tc.agent, string(got.APIKey), got.BaseURL)
		}
		if apiKey, address := a.AccessKeys("agents." + tc.agent); apiKey != tc.apiKey || address != tc.address {
			t.Errorf("%s: got the keys %s and %s", tc.agent, apiKey, address)
		}
	}
	c = parse(t, accesses("{gemini: {api_key: google, endpoint: 'https://proxy'}}", "", "base_url: 'https://other', api_key: own", ""), nil)
	if got := c.Access(c.Agents.Response); got != (config.Access{APIKey: "google", BaseURL: "https://proxy"}) {
		t.Errorf("got %+v", got)
	}
	if _, address := c.Agents.Response.AccessKeys("agents.response"); address != "llm.gemini.endpoint" {
		t.Errorf("the address is under %s", address)
	}
	if got := c.Access(c.Agents.Judgment); got != (config.Access{APIKey: "own", BaseURL: "https://other"}) {
		t.Errorf("got %+v", got)
	}
}

// A fallback is an agent of its own, except for what it leaves to the agent.
func TestFallback(t *testing.T) {
	t.Parallel()
	file := accesses("{openai: {api_key: cloud}, anthropic: {api_key: '${UNUSED}'}}",
		"provider: openai, model: large, base_url: 'http://local', system_prompt: Be brief., max_output_tokens: 70, temperature: 1, fallback: {provider: openai, model: other}",
		"provider: demo, fallback: {provider: gemini, api_key: own, max_output_tokens: 9, system_prompt: Judge., temperature: 0.5}", "provider: demo")
	c := parse(t, file, nil)
	warm := 0.5
	for _, tc := range []struct {
		of     config.Agent
		want   config.Agent
		access config.Access
	}{
		{c.Agents.Response, config.Agent{Provider: config.ProviderOpenAI, Model: "other", MaxOutputTokens: 70, SystemPrompt: "Be brief."}, config.Access{APIKey: "cloud"}},
		{c.Agents.Judgment, config.Agent{Provider: config.ProviderGemini, APIKey: "own", Model: "gemini-3.5-flash-lite", MaxOutputTokens: 9, SystemPrompt: "Judge.", Temperature: &warm}, config.Access{APIKey: "own"}},
	} {
		got, ok := tc.of.Second()
		if !ok || !reflect.DeepEqual(got, tc.want) || c.Access(got) != tc.access {
			t.Errorf("got %+v, %v with %+v; want %+v with %+v", got, ok, c.Access(got), tc.want, tc.access)
		}
	}
	if _, ok := c.Agents.Memory.Second(); ok {
		t.Error("an agent without a fallback has one")
	}
	if got, _ := c.ShadowAgent(config.ShadowJudge{Provider: config.ProviderDemo}).Second(); got.Provider != "" {
		t.Errorf("a judge of shadow has %+v", got)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	must(t, os.WriteFile(path, []byte(strings.ReplaceAll(file, "api_key: own", "api_key: '${ALSO_UNUSED}'")), 0o600))
	judge, err := config.LoadJudge(path, func(string) (string, bool) { return "", false }, config.Judge{})
	if err != nil || len(judge.Agents.All()) != 3 {
		t.Errorf("whoever measures the judge gets %+v, %v", judge.Agents, err)
	}
}

func TestFaultsOfAnAgentsOwnAccess(t *testing.T) {
	t.Parallel()
	const demo = "provider: demo"
	for _, tc := range []struct{ name, llm, agent, want string }{
		{"not an address", "{}", "provider: openai, model: m, base_url: 'localhost:11434'", `agents.memory.base_url = "localhost:11434": must be an http:// or https:// address`},
		{"a password", "{}", "provider: openai, model: m, base_url: 'ftp://me:hunter22@x/?key=hunter22'", `agents.memory.base_url = "ftp://me:xxxxx@x/?…": must be an http:// or https:// address`},
		{"no key for Gemini", "{gemini: {api_key: k}}", "base_url: 'https://other'", "agents.memory.api_key: is required because the agent uses the provider gemini"},
		{"a key that is a number", "{openai: {api_key: k}}", "provider: openai, model: m, api_key: 12345678", "agents.memory.api_key = (hidden): must be text; put it in quotes"},
		{"a key in place of the agent", "{}", "provider: openai, model: m, api_key: {a: sk-secret}", "agents.memory.api_key = (hidden): must be text"},
	} {
		got := faultLines(t, accesses(tc.llm, demo, demo, tc.agent))
		if !slices.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
	// A variable that is not set is a fault only where its value is of use.
	unset := "{openai: {api_key: '${CLOUD}', base_url: '${CLOUD_URL}'}}"
	parse(t, accesses(unset, demo, demo, "provider: openai, model: m, base_url: 'http://localhost'"), nil)
	parse(t, accesses("{}", demo, demo, "provider: demo, base_url: '${LOCAL}', api_key: '${LOCAL_KEY}'"), nil)
	got := faultLines(t, accesses(unset, demo, demo, "provider: openai, model: m, api_key: k"))
	if len(got) != 1 || got[0] != "llm.openai.base_url: not set in the environment: CLOUD_URL" {
		t.Errorf("got %q", got)
	}
	got = faultLines(t, accesses(unset, demo, demo, "provider: openai, model: m, base_url: '${LOCAL}'"))
	if !slices.Contains(got, "agents.memory.base_url: not set in the environment: LOCAL") {
		t.Errorf("got %q", got)
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	for _, p := range config.Providers() {
		if networked := p != config.ProviderDemo; p.Networked() != networked || (p.AddressKey() != "") != networked {
			t.Errorf("%s: networked %v, its address is under %q", p, p.Networked(), p.AddressKey())
		}
	}
	if unknown := config.Provider("oracle"); unknown.Networked() {
		t.Error("an unknown provider has a server")
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Slack.BotToken, c.Slack.SigningSecret, c.Slack.AppToken = "bot-token", "signing", "app-token"
	c.Slack.APIURL = "http://bot:slack-password@proxy/api/"
	c.LLM.Gemini = config.Gemini{APIKey: "gemini-key", Endpoint: "https://me:gemini-password@proxy"}
	c.LLM.OpenAI = config.Access{APIKey: "openai-key", BaseURL: "https://me:open%2Fai@proxy"}
	c.Agents.Judgment.APIKey, c.Agents.Judgment.BaseURL = "judge-key", "http://me:judge-password@localhost"
	c.Encryption.Keys = map[string]config.Secret{"a": "first-key", "b": "second-key"}
	c.MCP.Servers = map[string]config.MCPServer{"desk": {URL: "http://me:desk-password@desk", Headers: map[string]config.Secret{"Authorization": "desk-header"}}}
	c.Database.URL = "postgres://me:database-password@db/x"
	c.Channels = map[string]config.Channel{"general": {Persona: "no secret"}}
	want := []string{
		"app-token", "bot-token", "database-password", "desk-header", "desk-password", "first-key", "gemini-key", "gemini-password", "judge-key", "judge-password",
		"open%2Fai", "open/ai", "openai-key", "second-key", "signing", "slack-password",
	}
	got := c.Secrets()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), strings.Join(want, " "))
	}
	if none := config.Default().Secrets(); len(none) != 0 {
		t.Errorf("the defaults hold %q", none)
	}
}
