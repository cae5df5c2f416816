package config

import "cmp"

// Price is what a million tokens of a model cost, in any currency.
type Price struct {
	Input  float64 `yaml:"input"`
	Output float64 `yaml:"output"`
	// CachedInput is for what the provider had read before; 0: as much as Input.
	CachedInput float64 `yaml:"cached_input"`
}

// Cost is what some tokens cost; cached is a part of in.
func (p Price) Cost(in, cached, out int) float64 {
	return (float64(in-cached)*p.Input + float64(cached)*cmp.Or(p.CachedInput, p.Input) + float64(out)*p.Output) / 1e6
}

// Agents are the three uses of a model.
type Agents struct {
	// Response writes the replies.
	Response Agent `yaml:"response"`
	// Judgment decides whether and when to reply.
	Judgment Agent `yaml:"judgment"`
	// Memory writes the summaries.
	Memory Agent `yaml:"memory"`
}

// All returns the agents by their names in the file, and their second models by NAME.fallback.
func (a Agents) All() map[string]Agent {
	all := a.firsts()
	for name, first := range a.firsts() {
		if second, ok := first.Second(); ok {
			all[name+fallbackKey] = second
		}
	}
	return all
}

// firsts returns the agents by their names in the file.
func (a Agents) firsts() map[string]Agent {
	return map[string]Agent{"response": a.Response, "judgment": a.Judgment, "memory": a.Memory}
}

const fallbackKey = ".fallback"

// Agent is one use of a model.
type Agent struct {
	Provider Provider `yaml:"provider"`
	// APIKey and BaseURL are the agent's own access to its provider. Empty ones inherit from
	// llm. Read them through Config.Access.
	APIKey  Secret `yaml:"api_key"`
	BaseURL string `yaml:"base_url"`
	// Model is the provider's name for the model. Only Gemini has a default.
	Model string `yaml:"model"`
	// MaxOutputTokens limits one answer of the model.
	MaxOutputTokens int `yaml:"max_output_tokens"`
	// SystemPrompt is added to the persona's.
	SystemPrompt string `yaml:"system_prompt"`
	// Temperature is 0–2. If it is nil, none is sent, because newer models refuse it.
	Temperature *float64 `yaml:"temperature"`
	// Fallback is asked where the model fails. Read it through Second.
	Fallback Fallback `yaml:"fallback"`
}

// Fallback is the second model of an agent. It has an agent's keys; the zero value is none.
type Fallback struct {
	Provider Provider `yaml:"provider"`
	APIKey   Secret   `yaml:"api_key"`
	BaseURL  string   `yaml:"base_url"`
	Model    string   `yaml:"model"`
	// MaxOutputTokens and SystemPrompt are the agent's where they are 0 or empty.
	MaxOutputTokens int      `yaml:"max_output_tokens"`
	SystemPrompt    string   `yaml:"system_prompt"`
	Temperature     *float64 `yaml:"temperature"`
}

// Second returns the agent with its second model; ok is false if it has none.
func (a Agent) Second() (second Agent, ok bool) {
	f := a.Fallback
	return Agent{
		Provider: f.Provider, APIKey: f.APIKey, BaseURL: f.BaseURL, Model: f.Model, Temperature: f.Temperature,
		MaxOutputTokens: cmp.Or(f.MaxOutputTokens, a.MaxOutputTokens),
		SystemPrompt:    cmp.Or(f.SystemPrompt, a.SystemPrompt),
	}, f.Provider != ""
}
