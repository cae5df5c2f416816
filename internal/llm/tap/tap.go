// Package tap stands between the bot and its model in the sandbox. Every question
// passes through it on its way, to the demo model or to a real provider; the newest
// are kept with what was answered, in memory only, so that a visitor can look at
// them, and the model can be switched off. Keys pass through and are not kept.
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
	"myao/internal/llm/llmtest"
)

// maxRequest bounds, in bytes, a question that is read.
const maxRequest = 16 << 20

// Tap is the http.Handler that the bot's adapter is pointed at: OpenAI's base URL and
// Gemini's endpoint are its address, without a path. It is safe for concurrent use.
type Tap struct {
	model         backend
	now           func() time.Time
	memoryPrompts map[string]bool // user turns that ask for one
	history       history
	down          atomic.Bool
}

// backend answers a call. Before it writes anything to w, it notes what came of the call.
type backend func(w http.ResponseWriter, r *http.Request, q question, note func(answer, fault string))

// question is a call, what it is made for, and the protocol that it came by.
type question struct {
	llmtest.Protocol
	llmtest.Call
	purpose string
}

// refuse answers with an error of the provider's form.
func (q question) refuse(w http.ResponseWriter, status int, message string) {
	q.Answer(w, q.Call, llmtest.Reply{Status: status, Message: message})
}

// Demo is a tap before the demo model, which it answers for by OpenAI's protocol.
func Demo() *Tap { return newTap(modelBackend(demo.New())) }

// Proxy is a tap before a provider: the address is what would be OpenAI's base URL or
// Gemini's endpoint, with whatever path and query belongs to it.
func Proxy(upstream *url.URL) *Tap { return newTap(providerBackend(upstream, llm.DefaultTransport())) }

func newTap(model backend) *Tap {
	return &Tap{model: model, now: time.Now, memoryPrompts: memoryPrompts()}
}

// SetDown has every further question refused as by a provider that is down, or no
// longer so. A question that is being answered is answered.
func (t *Tap) SetDown(down bool) { t.down.Store(down) }

// Down reports whether questions are refused.
func (t *Tap) Down() bool { return t.down.Load() }

// Exchanges are those kept of the questions of one matter (llm.NewClientRequestID), such
// as a decision, in the order in which they were done with: the order of the ledger's
// calls. Questions of none, such as those for memories, are kept under the empty one.
func (t *Tap) Exchanges(matter string) []Exchange { return t.history.of(matter) }

// ServeHTTP answers one question. What it keeps of it is there before the answer is sent.
func (t *Tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "" {
		// A page of any site may try to reach this port; the bot is no page.
		http.Error(w, "no page may ask the model", http.StatusForbidden)
		return
	}
	protocol, ok := llmtest.ProtocolOf(r)
	if !ok {
		http.Error(w, "neither a chat completion nor generateContent", http.StatusNotFound)
		return
	}
	q := question{Protocol: protocol}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		q.refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the question is longer than %d MiB", maxRequest>>20))
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
	x := Exchange{Purpose: q.purpose, Model: q.Model, At: q.At, System: q.System, Prompt: q.User}
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
