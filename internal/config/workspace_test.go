package config_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
)

// several is a file with settings for two workspaces. One of them belongs to an organisation.
const several = `slack: {bot_token: xoxb-token, signing_secret: signing-secret, operators: [UALL], everyone_may: [status, why]}
agents:
  response: {provider: openai, model: large, api_key: key-of-all, base_url: 'https://all.example.com', system_prompt: Of all.}
  judgment: {provider: demo}
  memory: {provider: demo}
persona: {name: all, names: [al], system_prompt: For all.}
time_zone: Europe/Berlin
response: {min_wait_seconds: 10, daily_calls: 50, workspace_daily_calls: 900, quiet_hours: "22:00-07:00"}
mcp: {servers: {desk: {command: desk, channels: all}, wiki: {command: wiki}}}
channels:
  C0000001: {mode: all, persona: Of the channel., tools: []}
workspaces:
  T0000001:
    mode: mention
    min_wait_seconds: 20
    remember: here
    tools: [read_thread, crm__find]
    persona: {name: one, names: [un, I I]}
    language: ja
    playbooks_dir: .
    time_zone: Asia/Tokyo
    agents: {response: {base_url: 'https://one.example.com', system_prompt: Of one.}, judgment: {provider: gemini, api_key: key-of-one}}
    operators: [UONE]
    everyone_may: []
    daily_calls: 100
    mcp: {servers: {desk: {command: desk-of-one}, wiki: , crm: {command: crm, env: {TOKEN: token-of-one}}}}
  T0000002: {persona: Be brief., model: small, time_zone: Asia/Kolkata}
  E0000001:
    mode: off
    bots: judge
    persona: Be formal.
    daily_calls: 200
    daily_tokens: 0
    operators: [UORG]
    agents: {response: {provider: anthropic, model: of-the-organisation, api_key: key-of-the-organisation, fallback: {provider: demo}}}
`

func TestWorkspacesResolveFromTheirOwnToAll(t *testing.T) {
	c := parse(t, several, nil)
	one, both, organisation := c.ForWorkspace("T0000001", ""), c.ForWorkspace("T0000001", "E0000001"),
		c.ForWorkspace("T0000009", "E0000001")
	two := both.ForWorkspace("T0000002", "E0000009") // another, from one that was resolved
	channel := func(c config.Config, id string) config.ChannelSettings { return c.Channel(config.ChannelFacts{ID: id}) }
	for _, tc := range []struct {
		what      string
		got, want any
	}{
		{"mode of all", channel(c, "C2").Mode, config.ModeJudge},
		{"mode of the workspace", channel(one, "C2").Mode, config.ModeMention},
		{"mode of the workspace over the organisation's", channel(both, "C2").Mode, config.ModeMention},
		{"mode of the organisation", channel(organisation, "C2").Mode, config.ModeOff},
		{"mode of the channel", channel(both, "C0000001").Mode, config.ModeAll},
		{"bots of the organisation", channel(both, "C0000001").Bots, config.BotsJudge},
		{"wait of the workspace", channel(both, "C0000001").MinWait, 20 * time.Second},
		{"wait of all", channel(two, "C0000001").MinWait, 10 * time.Second},
		{"calls of a channel stay", channel(one, "C2").DailyCalls, 50},
		{"quiet hours of all", channel(one, "C2").QuietHours, channel(c, "C2").QuietHours},
		{"zone of the workspace's channels", channel(one, "C2").Zone.String(), "Asia/Tokyo"},
		{"zone of its prompts", one.Location().String(), "Asia/Tokyo"},
		{"zone, loaded once", channel(one, "C2").Zone, c.ForWorkspace("T0000001", "").Location()},
		{"tools of the workspace", channel(one, "C2").Tools, []string{chat.ToolReadThread}},
		{"tools of its server", channel(one, "C2").MCPTools, []string{"crm__find"}},
		{"tools of the channel", channel(one, "C0000001").Tools, []string{}},
		{"text for all channels", channel(both, "C2").Persona, "Be formal."},
		{"text of the channel", channel(both, "C0000001").Persona, "Of the channel."},
		{"persona's name", one.Persona, config.Persona{Name: "one", Names: []string{"un", "I I"}, SystemPrompt: "For all."}},
		{"persona that only adds", two.Persona, config.Persona{Name: "all", Names: []string{"al"}, SystemPrompt: "For all."}},
		{"names in a channel", channel(one, "C2").Names, []string{"one", "un", "I I"}},
		{"language", []chat.Language{one.Language, two.Language}, []chat.Language{chat.Japanese, chat.English}},
		{"operators", [][]string{one.Slack.Operators, both.Slack.Operators, organisation.Slack.Operators, two.Slack.Operators},
			[][]string{{"UONE"}, {"UONE"}, {"UORG"}, {"UALL"}}},
		{"permissions", [][]config.Permission{one.Slack.EveryoneMay, two.Slack.EveryoneMay},
			[][]config.Permission{{}, {config.MayStatus, config.MayWhy}}},
		{"budgets", []config.Budget{one.WorkspaceBudget(), both.WorkspaceBudget(), organisation.WorkspaceBudget(), two.WorkspaceBudget()},
			[]config.Budget{{Calls: 100, Tokens: 50_000_000}, {Calls: 100}, {Calls: 200}, {Calls: 900, Tokens: 50_000_000}}},
		{"servers", one.MCP.Servers, map[string]config.MCPServer{"desk": {Command: "desk-of-one"},
			"crm": {Command: "crm", Env: map[string]config.Secret{"TOKEN": "token-of-one"}}}},
		{"servers of all", len(two.MCP.Servers), 2},
		{"a key stays with its server", one.Agents.Response, config.Agent{Provider: config.ProviderOpenAI, Model: "large",
			BaseURL: "https://one.example.com", MaxOutputTokens: 1000, SystemPrompt: "Of one."}},
		{"nothing stays of another provider", organisation.Agents.Response, config.Agent{Provider: config.ProviderAnthropic,
			Model: "of-the-organisation", APIKey: "key-of-the-organisation", MaxOutputTokens: 1000, SystemPrompt: "Of all.",
			Fallback: config.Fallback{Provider: config.ProviderDemo}}},
		{"a provider's default model", one.Agents.Judgment, config.Agent{Provider: config.ProviderGemini,
			Model: config.Default().Agents.Judgment.Model, APIKey: "key-of-one", MaxOutputTokens: 500}},
		{"model of replies", []string{channel(two, "C2").Model, two.Agents.Judgment.Model}, []string{"small", ""}},
		{"nothing is left of what was resolved before", two.ForWorkspace("T0000009", ""), c},
	} {
		if !reflect.DeepEqual(tc.got, tc.want) {
			t.Errorf("%s: got %+v, want %+v", tc.what, tc.got, tc.want)
		}
	}
}

// The default persona is in the language of the workspace.
func TestAWorkspacesLanguageIsItsPersonas(t *testing.T) {
	c := parse(t, least+"workspaces: {T0000001: {language: ja}}\n", nil)
	ja := c.ForWorkspace("T0000001", "").Persona.SystemPrompt
	if ja == c.Persona.SystemPrompt || !strings.Contains(ja, "同僚") || !slices.Contains(c.Instructions(), ja) {
		t.Errorf("got %s", ja)
	}
}

func TestWithoutSettingsAWorkspaceCostsNothing(t *testing.T) {
	c := parse(t, least, nil)
	if got := c.ForWorkspace("T0000001", "E0000001"); !reflect.DeepEqual(got, c) || got.HasOrganisations() {
		t.Errorf("got %+v", got)
	}
	if n := testing.AllocsPerRun(100, func() { c.ForWorkspace("T0000001", "E0000001") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What must not get out is what any workspace has, whichever is looked at.
func TestSecretsAndInstructionsAreThoseOfAllWorkspaces(t *testing.T) {
	c := parse(t, several, nil)
	for _, id := range []string{"", "T0000001", "T0000002", "E0000001"} {
		of := c.ForWorkspace(id, "")
		for _, secret := range []string{"xoxb-token", "key-of-all", "key-of-one", "token-of-one", "key-of-the-organisation"} {
			if !slices.Contains(of.Secrets(), secret) {
				t.Errorf("in %q %s is no secret", id, secret)
			}
		}
		for _, text := range []string{"For all.", "Of all.", "Of one.", "Be brief.", "Be formal.", "Of the channel."} {
			if !slices.Contains(of.Instructions(), text) {
				t.Errorf("in %q %s is no instruction", id, text)
			}
		}
	}
}

func TestWorkspacesThatWithholdMemories(t *testing.T) {
	c := parse(t, over(`channels:
  C0000001: {remember: everywhere}
  C0000002: {mode: mention}
  open: {remember: everywhere}
workspaces:
  T0000001: {remember: here}
  T0000002: {remember: nowhere}
  T0000003: {remember: everywhere}
`), nil)
	want := chat.Withheld{
		IDs: []string{"C0000001", "C0000002"}, InsideTeams: []string{"T0000001", "T0000002"}, NowhereTeams: []string{"T0000002"},
		Exempt: chat.ChannelKeys{IDs: []string{"C0000001"}, Names: []string{"open"}},
	}
	if got := c.ForWorkspace("T0000002", "").Withheld(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWhoMayInstall(t *testing.T) {
	for _, tc := range []struct {
		allowed, team, organisation string
		want                        bool
	}{
		{"[]", "T0000001", "", false},
		{"[]", "", "", false},
		{"['*']", "T0000001", "", true},
		{"[T0000001, E0000001]", "T0000001", "", true},
		{"[T0000001, E0000001]", "T0000002", "", false},
		{"[T0000001, E0000001]", "T0000002", "E0000001", true},
		{"[T0000001, E0000001]", "", "E0000001", true},
		{"[T0000001, E0000001]", "", "", false},
	} {
		c := parse(t, over("slack: {bot_token: a, signing_secret: b, allowed_workspaces: "+tc.allowed+"}"), nil)
		if got := c.Slack.MayInstall(tc.team, tc.organisation); got != tc.want {
			t.Errorf("%+v: got %v", tc, got)
		}
	}
}

func TestExplainNamesTheWorkspace(t *testing.T) {
	text := several
	c := parse(t, text, nil).ForWorkspace("T0000001", "E0000001")
	line := func(beginning string) int {
		before, _, found := strings.Cut(text, beginning)
		if !found {
			t.Fatalf("%q is not in the file", beginning)
		}
		return 1 + strings.Count(before, "\n")
	}
	got := map[string]config.Setting{}
	for _, s := range append(c.Explain(config.ChannelFacts{ID: "C0000001"}), c.ExplainWorkspace()...) {
		got[s.Key] = s
		if strings.Contains(s.Value, "key-of") {
			t.Errorf("shows %+v", s)
		}
	}
	for _, want := range []config.Setting{
		{Key: "mode", Value: "all", From: "channels.C0000001.mode", Line: line("  C0000001:")},
		{Key: "min_wait_seconds", Value: "20", From: "workspaces.T0000001.min_wait_seconds", Line: line("    min_wait")},
		{Key: "bots", Value: "judge", From: "workspaces.E0000001.bots", Line: line("    bots")},
		{Key: "daily_calls", Value: "100", From: "workspaces.T0000001.daily_calls", Line: line("    daily_calls: 100")},
		{Key: "daily_tokens", Value: "0", From: "workspaces.E0000001.daily_tokens", Line: line("    daily_tokens")},
		{Key: "quiet_hours", Value: "22:00-07:00", From: "response.quiet_hours", Line: line("response: {min")},
		{Key: "time_zone", Value: "Asia/Tokyo", From: "workspaces.T0000001.time_zone", Line: line("    time_zone")},
		{Key: "model", Value: "of-the-organisation", From: "workspaces.E0000001.agents.response.model", Line: line("    agents: {response: {provider: anthropic")},
		{Key: "persona.name", Value: "one", From: "workspaces.T0000001.persona.name", Line: line("    persona: {name: one")},
		{Key: "persona.names", Value: "[un, I I]", From: "workspaces.T0000001.persona.names", Line: line("    persona: {name: one")},
		{Key: "persona.system_prompt", Value: "For all.", From: "persona.system_prompt", Line: line("persona:")},
		{Key: "language", Value: "ja", From: "workspaces.T0000001.language", Line: line("    language")},
		{Key: "playbooks_dir", Value: ".", From: "workspaces.T0000001.playbooks_dir", Line: line("    playbooks_dir")},
		{Key: "operators", Value: "[UONE]", From: "workspaces.T0000001.operators", Line: line("    operators")},
		{Key: "everyone_may", Value: "[]", From: "workspaces.T0000001.everyone_may", Line: line("    everyone_may")},
		{Key: "agents.response.base_url", Value: "https://one.example.com", From: "workspaces.T0000001.agents.response.base_url", Line: line("    agents: {response: {base_url")},
		{Key: "agents.response.fallback", Value: "demo", From: "workspaces.E0000001.agents.response.fallback", Line: line("    agents: {response: {provider: anthropic")},
		{Key: "agents.judgment.temperature", From: "default"},
		{Key: "agents.memory.provider", Value: "demo", From: "agents.memory.provider", Line: line("  memory:")},
		{Key: "mcp.servers.crm", Value: "crm", From: "workspaces.T0000001.mcp.servers.crm", Line: line("    mcp:")},
	} {
		if got := got[want.Key]; !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	two := parse(t, text, nil).ForWorkspace("T0000002", "")
	want := []config.Setting{
		{Key: "persona", Value: "Be brief.", From: "workspaces.T0000002.persona", Line: line("  T0000002:")},
		{Key: "model", Value: "small", From: "workspaces.T0000002.model", Line: line("  T0000002:")},
	}
	if got := explained(two, "C2", "", "persona", "model"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := parse(t, least, nil).ExplainWorkspace(); got != nil {
		t.Errorf("without workspaces: %+v", got)
	}
}
