package config_test

import (
	"reflect"
	"strings"
	"testing"

	"myao/internal/config"
)

// explained returns the settings of some keys from Explain.
func explained(c config.Config, id, name string, keys ...string) []config.Setting {
	var some []config.Setting
	all := c.Explain(config.ChannelFacts{ID: id, Name: name})
	for _, key := range keys {
		for _, s := range all {
			if s.Key == key {
				some = append(some, s)
			}
		}
	}
	return some
}

func TestExplainShowsWhereSettingsComeFrom(t *testing.T) {
	c := parse(t, `slack: {bot_token: xoxb-token, signing_secret: signing-secret}
agents:
  response: {provider: demo,
    model: large}
  judgment: {provider: demo}
  memory: {provider: demo}
time_zone: Asia/Tokyo
response:
  min_wait_seconds: 10
  jitter_ratio:
  daily_calls: "${CALLS}"
channels:
  "#General": &calm
    mode: mention
    persona: |
      Speak like
      a pirate.
    max_wait_seconds: 900
    quiet_hours: ""
  C0000002: *calm
  a.b:
    <<: [*calm, {mode: all, bots: [A0ALERTS, B0DEPLOY]}]
    max_wait_seconds: 60
  late: {model: small, time_zone: "",
    daily_tokens: 0}
`, env{"CALLS": "70"})
	for _, tc := range []struct {
		why, id, name string
		want          []config.Setting
	}{
		{"by name", "C0000001", "general", []config.Setting{
			{Key: "mode", Value: "mention", From: "channels.#General.mode", Line: 14},
			{Key: "persona", Value: "Speak like\na pirate.\n", From: "channels.#General.persona", Line: 15},
			{Key: "quiet_hours", Value: "", From: "channels.#General.quiet_hours", Line: 19},
			{Key: "min_wait_seconds", Value: "10", From: "response.min_wait_seconds", Line: 9},
			{Key: "jitter_ratio", Value: "0.3", From: "default"},
			{Key: "daily_calls", Value: "70", From: "response.daily_calls", Line: 11, Variables: []string{"CALLS"}},
			{Key: "model", Value: "large", From: "agents.response.model", Line: 4},
			{Key: "time_zone", Value: "Asia/Tokyo", From: "time_zone", Line: 7},
			{Key: "bots", Value: "ignore", From: "default"},
		}},
		{"an alias", "C0000002", "", []config.Setting{
			{Key: "mode", Value: "mention", From: "channels.C0000002.mode", Line: 14},
			{Key: "max_wait_seconds", Value: "900", From: "channels.C0000002.max_wait_seconds", Line: 18},
		}},
		{"merges, and dots in the name", "C0000003", "a.b", []config.Setting{
			{Key: "mode", Value: "mention", From: "channels.a.b.mode", Line: 14},
			{Key: "bots", Value: "[A0ALERTS, B0DEPLOY]", From: "channels.a.b.bots", Line: 22},
			{Key: "max_wait_seconds", Value: "60", From: "channels.a.b.max_wait_seconds", Line: 23},
		}},
		{"values that are empty, and one that is 0", "", "late", []config.Setting{
			{Key: "model", Value: "small", From: "channels.late.model", Line: 24},
			{Key: "time_zone", Value: "Asia/Tokyo", From: "time_zone", Line: 7},
			{Key: "daily_tokens", Value: "0", From: "channels.late.daily_tokens", Line: 25},
		}},
		{"no settings", "C0000009", "random", []config.Setting{
			{Key: "mode", Value: "judge", From: "default"},
			{Key: "remember", Value: "everywhere", From: "default"},
			{Key: "persona", Value: "", From: "default"},
			{Key: "daily_tokens", Value: "0", From: "default"},
			{Key: "min_wait_seconds", Value: "10", From: "response.min_wait_seconds", Line: 9},
		}},
	} {
		var keys []string
		for _, s := range tc.want {
			keys = append(keys, s.Key)
		}
		if got := explained(c, tc.id, tc.name, keys...); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got\n%+v, want\n%+v", tc.why, got, tc.want)
		}
	}
}

// Explain returns all keys of a channel in the order of Channel's fields.
func TestExplainReturnsEveryKeyOfAChannel(t *testing.T) {
	var want []string
	for field := range reflect.TypeFor[config.Channel]().Fields() {
		want = append(want, field.Tag.Get("yaml"))
	}
	for name, c := range map[string]config.Config{"of a file": parse(t, least, nil), "of none": config.Default()} {
		var got []string
		for _, s := range c.Explain(config.ChannelFacts{ID: "C0000001"}) {
			got = append(got, s.Key)
			if s.From != "default" || s.Line != 0 {
				t.Errorf("%s: %+v, want the default", name, s)
			}
			if s.Value == "" && s.Key != "persona" && s.Key != "tone" && s.Key != "quiet_hours" && s.Key != "model" {
				t.Errorf("%s: %s has no value", name, s.Key)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %s, want %s", name, strings.Join(got, " "), strings.Join(want, " "))
		}
	}
}

// An empty model in the file means the provider's default, not that line.
func TestAnEmptyModelIsADefault(t *testing.T) {
	c := parse(t, "slack: {bot_token: a, signing_secret: b}\nllm: {gemini: {api_key: c}}\nagents: {response: {model: '${MODEL:-}'}}", nil)
	want := []config.Setting{{Key: "model", Value: config.Default().Agents.Response.Model, From: "default"}}
	if got := explained(c, "C1", "", "model"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
