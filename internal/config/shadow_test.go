package config_test

import (
	"testing"

	"myao/internal/config"
)

// A judge has what it does not set from agents.judgment, but no key that is another provider's.
func TestShadowJudgesInherit(t *testing.T) {
	t.Parallel()
	c := parse(t, `slack: {bot_token: a, signing_secret: b}
llm: {gemini: {api_key: google}, openai: {api_key: cloud}}
agents: {judgment: {provider: openai, model: small, base_url: "http://localhost/v1", max_output_tokens: 77, system_prompt: Be brief., temperature: 0.5}}
time_zone: Asia/Tokyo
shadow: {sample: 0.2, judges: [{name: same, provider: openai, model: large}, {name: other, provider: gemini, min_confidence: 0.6, templates_dir: /tmp}]}`, nil)
	same, other := c.ShadowAgent(c.Shadow.Judges[0]), c.ShadowAgent(c.Shadow.Judges[1])
	if got := c.Access(same); got != (config.Access{BaseURL: "http://localhost/v1"}) || same.Model != "large" || same.MaxOutputTokens != 77 || *same.Temperature != 0.5 {
		t.Errorf("the same provider: %+v at %+v", same, got)
	}
	if got := c.Access(other); got != (config.Access{APIKey: "google"}) || other.Model != "gemini-3.5-flash-lite" || other.SystemPrompt != "Be brief." || other.Temperature != nil {
		t.Errorf("another provider: %+v at %+v", other, got)
	}
	if a, b := c.ShadowPrompts(c.Shadow.Judges[0]).TemplatesDir, c.ShadowPrompts(c.Shadow.Judges[1]).TemplatesDir; a != "" || b != "/tmp" || c.TemplatesDir != "" {
		t.Errorf("templates in %q and %q", a, b)
	}
	if c.Shadow.DailyCalls != 1000 {
		t.Errorf("at most %d calls a day", c.Shadow.DailyCalls)
	}
	// What only such a judge uses must be set.
	parse(t, least+"llm: {anthropic: {api_key: '${NOBODYS}'}}", nil)
	got := faultLines(t, least+"llm: {anthropic: {api_key: '${NOBODYS}'}}\nshadow: {judges: [{name: a, provider: anthropic, model: m}]}")
	if len(got) != 1 || got[0] != "llm.anthropic.api_key: not set in the environment: NOBODYS" {
		t.Errorf("got %q", got)
	}
}
