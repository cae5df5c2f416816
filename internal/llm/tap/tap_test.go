package tap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"myao/internal/llm"
	"myao/internal/runtime/timeout"
)

// generate is a model that is a function.
type generate func(llm.Request) (llm.Response, error)

func (g generate) Generate(_ context.Context, r llm.Request) (llm.Response, error) { return g(r) }

// before returns a model that reports to the tap.
func before(t *testing.T, tap *Tap, m generate) llm.Model {
	t.Helper()
	s := httptest.NewServer(tap)
	t.Cleanup(s.Close)
	report, err := Before(s.URL, func() time.Time { return time.Unix(1, 0).UTC() })
	if err != nil {
		t.Fatal(err)
	}
	return report(m)
}

// The tap keeps what the model was asked and offered, what it called, what came of it, and its failure. Of files it keeps
// a line. The model's own answer comes back.
func TestExchangesAreKept(t *testing.T) {
	t.Parallel()
	var tap Tap
	turn := llm.Turn{Text: "I look.", Calls: []llm.Call{{ID: "1", Name: "search", Input: json.RawMessage(`{"query":"a"}`)}, {ID: "2", Name: "search"}}}
	cut := &llm.Error{Kind: llm.ErrCut, Message: "too long"}
	answers := []llm.Response{{Turn: &turn}, {Text: "At no"}}
	bot := before(t, &tap, func(r llm.Request) (llm.Response, error) {
		if len(r.Turns) == 0 {
			return answers[0], nil
		}
		return answers[1], cut
	})
	r := llm.Request{Purpose: llm.PurposeResponse, Model: "m-1", System: "You are <b>kind</b>.", Prompt: "Answer now.",
		ClientRequestID: llm.NewClientRequestID("run/1"), Files: []llm.File{{Name: "menu.pdf", MIME: llm.PDF, Data: []byte("PICTURE")}},
		Tools: []llm.Tool{{Name: "search", Description: "Searches.", Schema: json.RawMessage(`{"type":"object"}`)}}}
	if got, err := bot.Generate(timeout.Extend(t.Context()), r); err != nil || !reflect.DeepEqual(got, answers[0]) {
		t.Errorf("got %+v, %v", got, err)
	}
	asked := turn
	asked.Results = []llm.ToolResult{{CallID: "1", Text: "nothing", Files: r.Files}, {CallID: "2", Text: "no query", Failed: true}}
	r.Turns = []llm.Turn{asked}
	if got, err := bot.Generate(timeout.Extend(t.Context()), r); !errors.Is(err, llm.ErrCut) || !reflect.DeepEqual(got, answers[1]) {
		t.Errorf("got %+v, %v", got, err)
	}
	first := Exchange{Decision: "run/1", Purpose: "response", Model: "m-1", At: time.Unix(1, 0).UTC(), System: "You are <b>kind</b>.",
		Prompt: "Answer now.\n[PDF: menu.pdf, 7 bytes]", Tools: "search: Searches.\n{\"type\":\"object\"}",
		Answer: "I look.\n→ search {\"query\":\"a\"}\n→ search "}
	second := first
	second.Answer, second.Error = "At no", cut.Error()
	second.LookedUp = "I look.\n\n→ search {\"query\":\"a\"}\n← nothing\n[PDF: menu.pdf, 7 bytes]\n\n→ search \n← failed: no query"
	if got, want := tap.Exchanges("run/1"), []Exchange{first, second}; !reflect.DeepEqual(got, want) {
		t.Errorf("kept %+v\nwant %+v", got, want)
	}
	if got, err := json.Marshal(tap.Exchanges("unknown")); err != nil || string(got) != "[]" {
		t.Errorf("none is %s, %v", got, err)
	}
}

// A model that is switched off is not asked. Without the sandbox it is.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	var tap Tap
	calls := 0
	ok := generate(func(llm.Request) (llm.Response, error) { calls++; return llm.Response{Text: "ok"}, nil })
	bot := before(t, &tap, ok)
	tap.SetDown(true)
	_, err := bot.Generate(timeout.Extend(t.Context()), llm.Request{})
	if e, is := errors.AsType[*llm.Error](err); !is || !e.Retryable() || e.Status != http.StatusServiceUnavailable || calls != 0 {
		t.Errorf("got %v after %d calls", err, calls)
	}
	tap.SetDown(false)
	if _, err := bot.Generate(timeout.Extend(t.Context()), llm.Request{}); err != nil || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
	if all := tap.Exchanges(""); len(all) != 2 || !strings.Contains(all[0].Error, "switched off") || all[1].Answer != "ok" {
		t.Errorf("kept %+v", all)
	}
	gone, err := Before("http://127.0.0.1:1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone(ok).Generate(timeout.Extend(t.Context()), llm.Request{}); err != nil || calls != 2 {
		t.Errorf("without the sandbox: %v after %d calls", err, calls)
	}
}

// Prompts go nowhere beyond this machine.
func TestAddressesElsewhereAreRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://192.0.2.1:8701", "http://example.com", "http://localhost.example.com:1", "https://127.0.0.1:1", "127.0.0.1:1", ":"} {
		if _, err := Before(address, time.Now); err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func TestWebPagesAreRefused(t *testing.T) {
	t.Parallel()
	var tap Tap
	for origin, want := range map[string]int{"": 200, "https://evil.example": 403, "null": 403} {
		r, w := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"answer":"a"}`)), httptest.NewRecorder()
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if tap.ServeHTTP(w, r); w.Code != want {
			t.Errorf("from %q: got %d, want %d", origin, w.Code, want)
		}
	}
	if n := len(tap.Exchanges("")); n != 1 {
		t.Errorf("%d are kept", n)
	}
}

func TestTheNewestExchangesAreKept(t *testing.T) {
	t.Parallel()
	var tap Tap
	for i := range maxExchanges + 7 {
		tap.add(Exchange{Decision: fmt.Sprint(i)})
	}
	if len(tap.Exchanges("6")) != 0 || len(tap.Exchanges("7")) != 1 {
		t.Error("the oldest is kept, or a newer one is not")
	}
	const size = maxBytes / 10
	for i := range 100 {
		tap.add(Exchange{Decision: fmt.Sprint(i), System: strings.Repeat("s", size/2), Answer: strings.Repeat("a", size/2)})
		sum := 0
		for _, x := range tap.exchanges {
			sum += x.bytes()
		}
		if sum != tap.bytes || sum > maxBytes {
			t.Fatalf("after %d: %d bytes, counted as %d", i+1, sum, tap.bytes)
		}
	}
	tap.add(Exchange{Decision: "small", Answer: "a"})
	if len(tap.Exchanges("small")) != 1 || len(tap.Exchanges("99")) != 1 {
		t.Error("a small one drove a large one out, or is not kept")
	}
}
