package providers_test

import (
	"slices"
	"strings"
	"testing"

	"myao/internal/answer/providers"
	"myao/internal/config"
	"myao/internal/llm"
)

// The table has exactly the providers of the configuration.
func TestTheTableIsComplete(t *testing.T) {
	t.Parallel()
	var names []config.Provider
	for _, p := range providers.All() {
		names = append(names, p.Name)
		networked := p.Name.Networked()
		if (p.Address != "") != networked || (p.AddressForm != "") != networked || (p.Model != "") != networked {
			t.Errorf("%s: networked %v, but its row is %+v", p.Name, networked, p)
		}
		if p.Address != "" {
			if _, err := llm.ParseEndpoint(p.Address); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
	if want := config.Providers(); !slices.Equal(names, want) {
		t.Errorf("got %s, want %s", names, want)
	}
}

// Those with a network are tested in package llm.
func TestTheDemoModelAnswers(t *testing.T) {
	t.Parallel()
	p, err := providers.Named(config.ProviderDemo)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Open(t.Context(), config.Access{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := m.Generate(t.Context(), llm.Request{Purpose: llm.PurposeResponse, Model: "m-1", Prompt: "hello"})
	if err != nil || !strings.Contains(answer.Text, "demo") {
		t.Errorf("got %q, %v", answer.Text, err)
	}
}

func TestAnUnknownProvider(t *testing.T) {
	t.Parallel()
	if _, err := providers.Named("oracle"); err == nil || !strings.Contains(err.Error(), `"oracle"`) {
		t.Errorf("got %v", err)
	}
}
