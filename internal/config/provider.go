package config

import (
	"cmp"
	"strings"
)

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
	// access returns the provider's access below llm; nil if the provider has no server.
	access func(LLM) Access
	// address is the key of the server's address below llm.NAME.
	address string
	// keyless is set if a server at a configured address may need no key.
	keyless bool
	// anyModel is set if the model may be empty, because it has a default or is not used.
	anyModel bool
}

// providers are all providers, in the order in which faults list them.
var providers = []provider{
	{
		name: ProviderGemini, address: "endpoint", anyModel: true,
		access: func(l LLM) Access { return Access{APIKey: l.Gemini.APIKey, BaseURL: l.Gemini.Endpoint} },
	},
	{name: ProviderOpenAI, address: "base_url", keyless: true, access: func(l LLM) Access { return l.OpenAI }},
	{name: ProviderAnthropic, address: "base_url", keyless: true, access: func(l LLM) Access { return l.Anthropic }},
	{name: ProviderDemo, anyModel: true},
}

// Providers returns the names of all providers.
func Providers() []Provider {
	names := make([]Provider, len(providers))
	for i, p := range providers {
		names[i] = p.name
	}
	return names
}

// lookup returns the provider in providers. An unknown one has no server.
func (p Provider) lookup() provider {
	for _, known := range providers {
		if known.name == p {
			return known
		}
	}
	return provider{name: p, anyModel: true}
}

// Networked reports whether the provider has a server.
func (p Provider) Networked() bool { return p.lookup().access != nil }

// Keyless reports whether a server at a configured address may need no key.
func (p Provider) Keyless() bool { return p.lookup().keyless }

// AddressKey returns the key of the server's address below llm.NAME.
func (p Provider) AddressKey() string { return p.lookup().address }

// Access returns the address and the key for an agent's model. An agent's own address does not
// inherit the provider's key, because a key is sent only to the server that it was set for.
func (c Config) Access(a Agent) Access {
	own := Access{APIKey: a.APIKey, BaseURL: a.BaseURL}
	if p := a.Provider.lookup(); own.BaseURL == "" && p.access != nil {
		shared := p.access(c.LLM)
		own = Access{APIKey: cmp.Or(own.APIKey, shared.APIKey), BaseURL: shared.BaseURL}
	}
	return own
}

// AccessKeys returns the dotted keys of the API key and the address for the model of the agent at a dotted key, such as
// agents.response.
func (a Agent) AccessKeys(at string) (apiKey, address string) {
	shared, own := "llm."+string(a.Provider)+".", at+"."
	switch {
	case a.BaseURL != "":
		return own + "api_key", own + "base_url"
	case a.APIKey != "":
		return own + "api_key", shared + a.Provider.AddressKey()
	}
	return shared + "api_key", shared + a.Provider.AddressKey()
}

// agentsKey is the key of the agents: of all, or of the workspace that was resolved.
func (c Config) agentsKey() string {
	if len(c.workspaces) > 0 {
		return "workspaces." + c.workspaces[0] + ".agents."
	}
	return "agents."
}

// validateAgents checks that each agent, and each judge of shadow, has a model and, if its server needs
// one, a key. Of a workspace it checks the agents that it sets.
func (c Config) validateAgents(f *faults) {
	set := c.Agents.firsts()
	if len(c.workspaces) > 0 {
		set = c.Workspaces[c.workspaces[0]].Agents.firsts()
	}
	for name, a := range c.Agents.All() {
		if set[strings.TrimSuffix(name, fallbackKey)] == (Agent{}) {
			continue
		}
		at := c.agentsKey() + name
		c.validateAgent(f, at, at, a)
		if a.Fallback != (Fallback{}) && a.Fallback.Provider == "" {
			f.add(at+fallbackKey+".provider", nil, "is required where the fallback sets anything else")
		}
	}
	if set["judgment"] == (Agent{}) {
		return
	}
	for i, j := range c.Shadow.Judges {
		c.validateAgent(f, c.Shadow.Key(i), c.agentsKey()+"judgment", c.ShadowAgent(j))
	}
}

// validateAgent checks the agent at a dotted key; access is that of the agent whose own access counts.
func (c Config) validateAgent(f *faults, at, access string, a Agent) {
	p, has := a.Provider.lookup(), c.Access(a)
	if a.Model == "" && !p.anyModel {
		f.add(at+".model", nil, "is required because the provider is %s", p.name)
	}
	if p.access == nil || has.APIKey != "" || p.keyless && has.BaseURL != "" {
		return
	}
	switch key, address := a.AccessKeys(access); {
	case a.BaseURL != "":
		f.add(key, nil, "is required because the agent uses the provider %s", p.name)
	case p.keyless:
		f.add(key, nil, "is required, or %s, because an agent uses the provider %s", address, p.name)
	default:
		f.add(key, nil, "is required because an agent uses the provider %s (demo needs none)", p.name)
	}
}

// unusedAccess returns the keys below llm and agents that nothing reads: the access to a provider
// that no agent uses, and access that all agents override.
func (c Config) unusedAccess() map[string]bool {
	unused := map[string]bool{}
	for _, p := range providers {
		if p.access != nil {
			unused["llm."+string(p.name)+".api_key"], unused["llm."+string(p.name)+"."+p.address] = true, true
		}
	}
	for _, c := range c.variants() {
		for _, j := range c.Shadow.Judges {
			if a := c.ShadowAgent(j); a.Provider.Networked() {
				apiKey, address := a.AccessKeys(c.agentsKey() + "judgment")
				delete(unused, apiKey)
				delete(unused, address)
			}
		}
		for name, a := range c.Agents.All() {
			at := c.agentsKey() + name
			a.Provider = cmp.Or(a.Provider, ProviderGemini)
			if !a.Provider.Networked() {
				unused[at+".api_key"], unused[at+".base_url"] = true, true
				continue
			}
			apiKey, address := a.AccessKeys(at)
			delete(unused, apiKey)
			delete(unused, address)
		}
	}
	return unused
}
