// Package llmtest is a model provider for tests: an HTTP server that speaks
// Gemini's generateContent, OpenAI's chat completions and Anthropic's messages,
// records every request and answers as a function says. It refuses what the providers refuse of
// tools, calls and results. It does not import package testing, so that programs can serve it.
package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"myao/internal/runtime/pause"
)

// maxRequest bounds a request, in bytes.
const maxRequest = 16 << 20

// Server is the http.Handler. It is safe for concurrent use.
type Server struct {
	// Key, if set before serving, is the only accepted API key.
	Key string

	mu      sync.Mutex
	handler Handler
	calls   []Call
	arrived chan struct{} // closed and replaced at each call
}

// NewServer returns a server that answers by handler; nil is Default.
func NewServer(handler Handler) *Server {
	s := &Server{arrived: make(chan struct{})}
	s.Handle(handler)
	return s
}

// Handle sets the handler from the next call on; nil is Default.
func (s *Server) Handle(handler Handler) {
	if handler == nil {
		handler = Default
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Calls returns the calls so far, in order of arrival.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Reset removes the recorded calls; counting starts again at 1.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// Await waits for n calls and returns them. If the context ends before, it returns the calls
// so far and the context's error.
func (s *Server) Await(ctx context.Context, n int) ([]Call, error) {
	for {
		s.mu.Lock()
		calls, arrived := slices.Clone(s.calls), s.arrived
		s.mu.Unlock()
		if len(calls) >= n {
			return calls, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return calls, fmt.Errorf("await %d calls, have %d: %w", n, len(calls), ctx.Err())
		}
	}
}

// protocol is one provider's wire format.
type protocol interface {
	read(r *http.Request, body []byte) (Call, error)
	key(h http.Header) string
	// rules returns why the provider refuses the tools or the turns of a request.
	rules(body []byte) error
	failure(r Reply) any
	success(c Call, r Reply) any
}

// protocolOf returns the protocol of a request; nil: unknown.
func protocolOf(r *http.Request) protocol {
	switch {
	case r.Method != http.MethodPost:
	case strings.Contains(r.URL.Path, "/v1beta/") && strings.HasSuffix(r.URL.Path, ":generateContent"):
		return gemini{}
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return openai{}
	case strings.HasSuffix(r.URL.Path, "/v1/messages"):
		return anthropic{}
	}
	return nil
}

// ServeHTTP serves every protocol under any path prefix.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := protocolOf(r)
	if p == nil {
		http.Error(w, "llmtest: no such endpoint", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		writeJSON(w, http.StatusRequestEntityTooLarge, p.failure(Reply{Status: 413}))
		return
	}
	call, err := p.read(r, body)
	if err == nil {
		err = p.rules(body)
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, p.failure(Reply{Status: 400, Message: "llmtest: " + err.Error()}))
		return
	}
	if s.Key != "" && p.key(r.Header) != s.Key {
		writeJSON(w, http.StatusUnauthorized, p.failure(Reply{Status: 401, Message: "llmtest: wrong API key"}))
		return
	}
	call.Path, call.Query, call.Header, call.Body = r.URL.Path, r.URL.RawQuery, r.Header.Clone(), body
	handler := s.record(&call)
	answer(w, r, p, call, handler(call))
}

func (s *Server) record(c *Call) Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.At, c.N = time.Now(), len(s.calls)+1
	s.calls = append(s.calls, *c)
	close(s.arrived)
	s.arrived = make(chan struct{})
	return s.handler
}

func answer(w http.ResponseWriter, r *http.Request, p protocol, c Call, reply Reply) {
	if !pause.For(r.Context(), reply.Delay) {
		return
	}
	if reply.Drop {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	writeReply(w, p, c, reply)
}

// writeReply writes a reply without its Delay and Drop.
func writeReply(w http.ResponseWriter, p protocol, c Call, reply Reply) {
	if reply.RetryAfter != "" {
		w.Header().Set("Retry-After", reply.RetryAfter)
	}
	switch {
	case reply.Status != 0 && reply.Status != http.StatusOK:
		if reply.Message == "" {
			reply.Message = http.StatusText(reply.Status)
		}
		writeJSON(w, reply.Status, p.failure(reply))
	case reply.Malformed:
		writeJSON(w, http.StatusOK, json.RawMessage(`{"candidates":[{"choices":[`))
	case reply.Raw != "":
		writeJSON(w, http.StatusOK, json.RawMessage(reply.Raw))
	default:
		if reply.InputTokens == 0 {
			reply.InputTokens = (len(c.System) + len(c.User) + 3) / 4
		}
		if reply.OutputTokens == 0 {
			written := len(reply.Text)
			for _, call := range reply.Calls {
				written += len(call.Name) + len(call.Input)
			}
			reply.OutputTokens = (written + 3) / 4
		}
		writeJSON(w, http.StatusOK, p.success(c, reply))
	}
}

// writeJSON sends a value as JSON. It sends a json.RawMessage unchanged, even an invalid one.
func writeJSON(w http.ResponseWriter, status int, v any) {
	b, raw := v.(json.RawMessage)
	if !raw {
		var err error
		if b, err = json.Marshal(v); err != nil {
			status, b = http.StatusInternalServerError, []byte(`{"error":"llmtest: no JSON"}`)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may have gone
}

// Running is a Server on a free port of this machine.
type Running struct {
	*Server
	// URL is the address without a path. Address adds the path that a provider needs.
	URL   string
	serve *httptest.Server
}

// Address returns the configured address for an adapter of the provider and a server at url.
func Address(url, provider string) string { return url + basePaths[provider] }

// basePaths are the paths of configured addresses by provider; most have none.
var basePaths = map[string]string{"openai": "/v1"}

// Start returns a running server; Close ends it.
func Start(handler Handler) *Running {
	s := NewServer(handler)
	serve := httptest.NewServer(s)
	return &Running{Server: s, URL: serve.URL, serve: serve}
}

// Close ends the server and all of its calls.
func (r *Running) Close() {
	r.serve.CloseClientConnections()
	r.serve.Close()
}

// New serves until a test ends. Its parameter is a testing.TB. The type names only
// what New uses, so that programs need not link package testing.
func New(t interface{ Cleanup(func()) }, handler Handler) *Running {
	r := Start(handler)
	t.Cleanup(r.Close)
	return r
}
