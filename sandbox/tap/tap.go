// Package tap is a proxy between the bot and its model in the sandbox. Every
// request passes through it to the demo model or to a real provider. The tap keeps
// the newest requests with their answers in memory, so that a visitor can look at
// them, and can refuse all requests as if the model were down. It keeps no keys.
package tap

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"myao/internal/llm"
	"myao/internal/llm/demo"
	"myao/test/llmtest"
)

// maxRequest bounds a request, in bytes.
const maxRequest = 16 << 20

// Tap is the http.Handler that the bot's adapter asks. Its address, without a path, is the
// configured address of the provider. It is safe for concurrent use.
type Tap struct {
	model         backend
	now           func() time.Time
	memoryPrompts map[string]bool // the user turns of requests for a memory
	history       history
	down          atomic.Bool
}

// backend answers a request. It calls note with the result before it writes to w.
type backend func(w http.ResponseWriter, r *http.Request, q question, note func(answer, fault string))

// question is a request with its purpose and its protocol.
type question struct {
	llmtest.Protocol
	llmtest.Call
	purpose string
}

// refuse answers with an error in the provider's form.
func (q question) refuse(w http.ResponseWriter, status int, message string) {
	q.Answer(w, q.Call, llmtest.Reply{Status: status, Message: message})
}

// Demo returns a tap that serves the demo model by OpenAI's protocol.
func Demo() *Tap { return newTap(modelBackend(demo.New())) }

// Proxy returns a tap before a provider. upstream is the provider's configured address, with
// its path and query.
func Proxy(upstream *url.URL) *Tap { return newTap(providerBackend(upstream, llm.DefaultTransport())) }

func newTap(model backend) *Tap {
	return &Tap{model: model, now: time.Now, memoryPrompts: memoryPrompts()}
}

// SetDown makes the tap refuse requests as a provider does that is down, or stops that.
// Requests under way are still answered.
func (t *Tap) SetDown(down bool) { t.down.Store(down) }

// Down reports whether the tap refuses requests.
func (t *Tap) Down() bool { return t.down.Load() }

// Exchanges returns the kept exchanges about a decision (llm.NewClientRequestID), in the order
// in which they ended, which is the order of the ledger's calls. Requests without a decision,
// such as those for memories, are under "".
func (t *Tap) Exchanges(decision string) []Exchange { return t.history.of(decision) }

// ServeHTTP answers one request. Exchanges returns the exchange before the answer is sent.
func (t *Tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "" {
		// Any web page may try to reach this port. The bot sends no Origin.
		http.Error(w, "web pages may not ask the model", http.StatusForbidden)
		return
	}
	protocol, ok := llmtest.ProtocolOf(r)
	if !ok {
		http.Error(w, "not a request of a known provider", http.StatusNotFound)
		return
	}
	q := question{Protocol: protocol}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		q.refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is longer than %d MiB", maxRequest>>20))
		return
	}
	if err == nil {
		q.Call, err = protocol.Read(body)
	}
	if err != nil {
		q.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	q.At, q.purpose = t.now(), t.purpose(q.Call)
	x := Exchange{Purpose: q.purpose, Model: q.Model, At: q.At, System: q.System, Prompt: withFiles(q.User, q.Files),
		Tools: declared(q.Tools), LookedUp: lookedUp(q.Turns)}
	note := func(answer, fault string) {
		x.Answer, x.Error = answer, fault
		t.history.add(llm.DecisionOf(r.Header.Get(llm.ClientRequestIDHeader)), x.redacted(secrets(r)))
	}
	if t.Down() {
		note("", switchedOff)
		q.refuse(w, http.StatusServiceUnavailable, switchedOff)
		return
	}
	t.model(w, r, q, note)
}

const switchedOff = "the model is switched off"
