// Package providers is the table of all providers of models: what the bot, the doctor and
// the sandbox need to know about each. Package config, which imports no adapter, has its own
// table with what the configuration needs.
package providers

import (
	"context"
	"fmt"
	"net/http"

	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/llm/anthropic"
	"myao/internal/llm/demo"
	"myao/internal/llm/gemini"
	"myao/internal/llm/openai"
)

// Provider is one row.
type Provider struct {
	Name config.Provider
	// Open makes a client. The client connects at its first call, and is an io.Closer if it
	// holds connections. A nil transport is llm.DefaultTransport.
	Open func(ctx context.Context, access config.Access, transport http.RoundTripper) (llm.Model, error)

	// Address is the provider's own; empty for a provider without a network, as are all
	// fields below.
	Address string
	// AddressForm says what a configured address must be, as in "the address before /v1beta".
	AddressForm string
	// Model is the sandbox's default.
	Model string
}

// All are the providers, in the order in which the sandbox looks for access to them.
func All() []Provider {
	return []Provider{
		{
			Name: config.ProviderGemini, Address: gemini.DefaultEndpoint, AddressForm: "the address before /v1beta",
			Model: "gemini-3.8-flash",
			Open: func(ctx context.Context, a config.Access, t http.RoundTripper) (llm.Model, error) {
				return gemini.New(ctx, gemini.Config{APIKey: string(a.APIKey), Endpoint: a.BaseURL, Transport: t})
			},
		},
		{
			Name: config.ProviderOpenAI, Address: openai.DefaultBaseURL,
			AddressForm: "the address before chat/completions, mostly with /v1",
			Model:       "gpt-5-mini",
			Open: func(_ context.Context, a config.Access, t http.RoundTripper) (llm.Model, error) {
				return openai.New(openai.Config{APIKey: string(a.APIKey), BaseURL: a.BaseURL, Transport: t})
			},
		},
		{
			Name: config.ProviderAnthropic, Address: anthropic.DefaultBaseURL,
			AddressForm: "the address before v1/messages, without /v1",
			Model:       "claude-haiku-5-5",
			Open: func(_ context.Context, a config.Access, t http.RoundTripper) (llm.Model, error) {
				return anthropic.New(anthropic.Config{APIKey: string(a.APIKey), BaseURL: a.BaseURL, Transport: t})
			},
		},
		{
			Name: config.ProviderDemo,
			Open: func(context.Context, config.Access, http.RoundTripper) (llm.Model, error) { return demo.New(), nil },
		},
	}
}

// Named returns the provider with the name. Its error repeats the name.
func Named(name config.Provider) (Provider, error) {
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Provider{}, fmt.Errorf("unknown provider %q", name)
}
