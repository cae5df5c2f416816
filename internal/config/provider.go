package config

import "cmp"

// Provider is whose model an agent uses.
type Provider string

// The providers.
const (
	ProviderGemini    Provider = "gemini"
	ProviderOpenAI    Provider = "openai"
	ProviderAnthropic Provider = "anthropic"
	// ProviderDemo answers by rules, without a network.
	ProviderDemo Provider = "demo"
)

// LLM is the access to each provider of models.
type LLM struct {
	Gemini    Gemini `yaml:"gemini"`
	OpenAI    Access `yaml:"openai"`
	Anthropic Access `yaml:"anthropic"`
	// Prices are the prices of models by their names, for starter usage.
	Prices map[string]Price `yaml:"prices"`
}

// Access is the address and the key of a model's server.
type Access struct {
	APIKey Secret `yaml:"api_key"`
	// BaseURL replaces the provider's own address unless it is empty.
	BaseURL string `yaml:"base_url"`
}

// Gemini is the access to Google's Gemini API.
type Gemini struct {
	APIKey Secret `yaml:"api_key"`
	// Endpoint is Access.BaseURL by another name.
	Endpoint string `yaml:"endpoint"`
}

// provider is what the configuration knows of one provider.
type provider struct {
	name Provider
	// access is the provider's own below llm; nil where there is no server.
	access func(LLM) Access
	// address is the key of access's BaseURL below llm.NAME.
	address string
	// keyless: a server at another address than the provider's may want no key.
	keyless bool
	// anyModel: the model may be left out, as there is a default or none is asked.
	anyModel bool
}

// providers are all of them, in the order in which faults name them.
var providers = []provider{
	{
		name: ProviderGemini, address: "endpoint", anyModel: true,
		access: func(l LLM) Access { return Access{APIKey: l.Gemini.APIKey, BaseURL: l.Gemini.Endpoint} },
	},
	{name: ProviderOpenAI, address: "base_url", keyless: true, access: func(l LLM) Access { return l.OpenAI }},
	{name: ProviderAnthropic, address: "base_url", keyless: true, access: func(l LLM) Access { return l.Anthropic }},
	{name: ProviderDemo, anyModel: true},
}

// Providers are the names of all providers.
func Providers() []Provider {
	names := make([]Provider, len(providers))
	for i, p := range providers {
		names[i] = p.name
	}
	return names
}

// entry is what is known of the provider; one without a server where the name is unknown.
func (p Provider) entry() provider {
	for _, known := range providers {
		if known.name == p {
			return known
		}
	}
	return provider{name: p, anyModel: true}
}

// Networked reports whether the provider's models are asked over a network.
func (p Provider) Networked() bool { return p.entry().access != nil }

// Keyless reports whether a server at another address than the provider's own may want no key.
func (p Provider) Keyless() bool { return p.entry().keyless }

// AddressKey is the key below llm.NAME that holds the address of the provider's server.
func (p Provider) AddressKey() string { return p.entry().address }

// Access returns where the model of an agent is reached and with which key. An address of
// the agent's own goes without the provider's key: a key is sent only to the server that it
// was given for.
func (c Config) Access(a Agent) Access {
	own := Access{APIKey: a.APIKey, BaseURL: a.BaseURL}
	if p := a.Provider.entry(); own.BaseURL == "" && p.access != nil {
		shared := p.access(c.LLM)
		own = Access{APIKey: cmp.Or(own.APIKey, shared.APIKey), BaseURL: shared.BaseURL}
	}
	return own
}

// AccessKeys returns the dotted keys that hold the key and the address of the agent's
// model; name is the agent's own.
func (a Agent) AccessKeys(name string) (apiKey, address string) {
	shared, own := "llm."+string(a.Provider)+".", "agents."+name+"."
	switch {
	case a.BaseURL != "":
		return own + "api_key", own + "base_url"
	case a.APIKey != "":
		return own + "api_key", shared + a.Provider.AddressKey()
	}
	return shared + "api_key", shared + a.Provider.AddressKey()
}

// validateAgents checks that each agent has a model, and a key where its server wants one.
func (c Config) validateAgents(f *faults) {
	for name, a := range c.Agents.All() {
		p, access := a.Provider.entry(), c.Access(a)
		if a.Model == "" && !p.anyModel {
			f.add("agents."+name+".model", nil, "is required, as the provider is %s", p.name)
		}
		if p.access == nil || access.APIKey != "" || p.keyless && access.BaseURL != "" {
			continue
		}
		switch key, address := a.AccessKeys(name); {
		case a.BaseURL != "":
			f.add(key, nil, "is required, as the agent has the provider %s", p.name)
		case p.keyless:
			f.add(key, nil, "is required, or %s, as an agent has the provider %s", address, p.name)
		default:
			f.add(key, nil, "is required, as an agent has the provider %s (demo needs none)", p.name)
		}
	}
}

// unusedAccess returns the keys below llm and agents that nothing will read: the access to
// a provider that no agent has, and what an agent's own access replaces.
func (c Config) unusedAccess() map[string]bool {
	unused := map[string]bool{}
	for _, p := range providers {
		if p.access != nil {
			unused["llm."+string(p.name)+".api_key"], unused["llm."+string(p.name)+"."+p.address] = true, true
		}
	}
	for name, a := range c.Agents.All() {
		a.Provider = cmp.Or(a.Provider, ProviderGemini)
		if !a.Provider.Networked() {
			unused["agents."+name+".api_key"], unused["agents."+name+".base_url"] = true, true
			continue
		}
		apiKey, address := a.AccessKeys(name)
		delete(unused, apiKey)
		delete(unused, address)
	}
	return unused
}
