package providers_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/llm/llmtest"
	"myao/internal/llm/providers"
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

func TestEachProviderAnswers(t *testing.T) {
	t.Parallel()
	for _, p := range providers.All() {
		t.Run(string(p.Name), func(t *testing.T) {
			t.Parallel()
			server := llmtest.New(t, llmtest.Script(llmtest.Text("demo, or not")))
			server.Key = "key"
			m, err := p.Open(t.Context(), config.Access{APIKey: "key", BaseURL: llmtest.Address(server.URL, string(p.Name))}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := m.(io.Closer); ok {
				defer c.Close()
			}
			answer, err := m.Generate(t.Context(), llm.Request{Purpose: llm.PurposeResponse, Model: "m-1", Prompt: "hello"})
			if err != nil || !strings.Contains(answer.Text, "demo") {
				t.Errorf("got %q, %v", answer.Text, err)
			}
			calls := server.Calls()
			if !p.Name.Networked() {
				if len(calls) != 0 {
					t.Errorf("a server was asked %d times", len(calls))
				}
			} else if len(calls) != 1 || calls[0].Provider != string(p.Name) {
				t.Errorf("got %d calls, want one of %s", len(calls), p.Name)
			}
		})
	}
}

func TestAnUnknownProvider(t *testing.T) {
	t.Parallel()
	if _, err := providers.Named("oracle"); err == nil || !strings.Contains(err.Error(), `"oracle"`) {
		t.Errorf("got %v", err)
	}
}
