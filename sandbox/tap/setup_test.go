package tap

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/providers"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

const key = "sk-very-secret-0123456789"

// serve serves a tap on a free port.
func serve(t *testing.T, tap *Tap) (address string) {
	t.Helper()
	s := httptest.NewServer(tap)
	t.Cleanup(s.Close)
	return s.URL
}

// proxy returns a tap before a provider.
func proxy(t *testing.T, address string) *Tap {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return Proxy(u)
}

// adapter returns the bot's adapter for a provider at an address.
func adapter(t *testing.T, provider, address string) llm.Model {
	t.Helper()
	p, err := providers.Named(config.Provider(provider))
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Open(t.Context(), config.Access{APIKey: key, BaseURL: address}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.(io.Closer).Close() })
	return m
}

// bundle is the bot's adapter, a tap, and the provider behind it.
type bundle struct {
	*Tap
	kind     string // of the provider
	base     string // the path of its configured address
	bot      llm.Model
	provider *llmtest.Running
}

// each runs a test for every provider with a network.
func each(t *testing.T, test func(t *testing.T, b bundle)) {
	t.Helper()
	t.Parallel()
	for _, p := range providers.All() {
		if !p.Name.Networked() {
			continue
		}
		provider := string(p.Name)
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			b := bundle{kind: provider, base: llmtest.Address("", provider), provider: llmtest.New(t, nil)}
			b.Tap = proxy(t, b.provider.URL+b.base)
			b.bot = adapter(t, provider, serve(t, b.Tap))
			test(t, b)
		})
	}
}

func request(id string) llm.Request {
	return llm.Request{Model: "m-1", System: "You are kind.", Prompt: "Answer now.", ClientRequestID: id}
}

// one returns the only exchange with an id.
func one(t *testing.T, tap *Tap, id string) Exchange {
	t.Helper()
	all := tap.Exchanges(id)
	if len(all) != 1 {
		t.Fatalf("got %d exchanges for %q, want 1: %+v", len(all), id, all)
	}
	return all[0]
}

// fails expects an error with a kind, a status and a part of its message.
func fails(t *testing.T, bot llm.Model, r llm.Request, kind error, status int, says string) *llm.Error {
	t.Helper()
	_, err := bot.Generate(t.Context(), r)
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *llm.Error", err)
	}
	if e.Kind != kind || e.Status != status || !strings.Contains(e.Message, says) {
		t.Errorf("got %v, status %d, want %v, status %d, with %q", err, e.Status, kind, status, says)
	}
	return e
}

// noKey fails if the tap keeps the key.
func noKey(t *testing.T, tap *Tap) {
	t.Helper()
	tap.history.mu.Lock()
	defer tap.history.mu.Unlock()
	if text := fmt.Sprintf("%+v", tap.history.entries); strings.Contains(text, key) || strings.Contains(text, key[3:]) {
		t.Errorf("the tap keeps the key: %s", text)
	}
}

// await waits for another goroutine.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}
