package sandbox

import (
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Call is one call of the Web API. Args never hold the token.
type Call struct {
	Method string
	Args   url.Values
	At     time.Time
	// Status and Error are what was answered; Status 0: the answer was lost.
	Status int
	Error  string
	// Fault is set where a fault had a hand in it.
	Fault bool
}

// Fault is what goes wrong with calls of the Web API. First it says which calls,
// then what happens to them.
type Fault struct {
	Method string          // empty: every method
	Match  func(Call) bool // nil: every call
	Times  int             // so many calls; 0: until cleared

	// AfterEffect lets the call do its work first: a message is posted, and then the
	// answer goes wrong. Slack does this: internal_error and fatal_error "may have"
	// had their effect (docs.slack.dev/reference/methods/chat.postMessage, errors).
	AfterEffect bool
	// Delay passes before the answer; with After between the effect and the answer.
	Delay time.Duration
	// Status is the HTTP status: 429, 500, 503 …
	Status int
	// RetryAfter is the value of the Retry-After header, in seconds; empty: no header.
	RetryAfter string
	// Error is answered as ok:false; with Status 0, over 200.
	Error string
	// LoseAnswer closes the connection without an answer.
	LoseAnswer bool
	// Garble answers with something that is no JSON.
	Garble bool
	// Alter changes the call's own answer, as by leaving out a field. It may also make
	// something happen in the workspace: between this page and the next, for example.
	Alter func(answer map[string]any)
	// Hide keeps a message posted by this call out of history and replies for so long.
	Hide time.Duration

	// name is the misbehaviour of the page that it belongs to; empty for none.
	name string
}

// LaterPage chooses every page of a listing but the first: a listing that fails halfway.
func LaterPage(c Call) bool { return c.Args.Get("cursor") != "" }

// fails reports whether the answer is other than the call's own.
func (f *Fault) fails() bool { return f.Status != 0 || f.Error != "" || f.LoseAnswer || f.Garble }

// EventFault is what goes wrong with deliveries.
type EventFault struct {
	Match func(Event) bool // nil: every event
	Times int              // so many events; 0: until cleared

	Drop  bool          // never delivered
	Delay time.Duration // delivered so much later; the others do not wait
	Hold  int           // delivered after so many later events: out of order
	// RedeliverAfter redelivers the event after each of these pauses, as a retry with the
	// same event_id, though it was acknowledged.
	RedeliverAfter []time.Duration

	// name is as in Fault.
	name string
}

// Faults holds what is switched on. Of several that fit, the one added first counts.
type Faults struct {
	deaf   atomic.Bool
	mu     sync.Mutex
	calls  []*Fault
	events []*EventFault
}

// SuppressEvents begins or ends a time in which nobody hears of what happens, neither then nor later:
// what is said stands in history alone. Whatever was under way before arrives, which a Drop
// would swallow: it meets an event when its turn has come, not when it happens.
func (f *Faults) SuppressEvents(on bool) { f.deaf.Store(on) }

// Add switches a fault of the Web API on. The returned function switches it off.
func (f *Faults) Add(fault Fault) (off func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, &fault)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls = slices.DeleteFunc(f.calls, func(o *Fault) bool { return o == &fault })
	}
}

// AddEvent switches a fault of the deliveries on. The returned function switches it off.
func (f *Faults) AddEvent(fault EventFault) (off func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, &fault)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.events = slices.DeleteFunc(f.events, func(o *EventFault) bool { return o == &fault })
	}
}

// set switches a misbehaviour of the page on or off.
func (f *Faults) set(m Misbehaviour, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = slices.DeleteFunc(f.calls, func(o *Fault) bool { return o.name == m.Name })
	f.events = slices.DeleteFunc(f.events, func(o *EventFault) bool { return o.name == m.Name })
	switch {
	case on && m.call != nil:
		call := *m.call
		call.name = m.Name
		f.calls = append(f.calls, &call)
	case on:
		event := *m.event
		event.name = m.Name
		f.events = append(f.events, &event)
	}
}

// isSet reports whether a misbehaviour of the page is on.
func (f *Faults) isSet(m Misbehaviour) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.calls, func(o *Fault) bool { return o.name == m.Name }) ||
		slices.ContainsFunc(f.events, func(o *EventFault) bool { return o.name == m.Name })
}

// Clear switches everything off.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.events = nil, nil
	f.deaf.Store(false)
}

func (f *Faults) takeCall(call Call) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fault := range f.calls {
		if fault.Method != "" && fault.Method != call.Method || fault.Match != nil && !fault.Match(call) {
			continue
		}
		if fault.Times == 1 {
			f.calls = slices.Delete(f.calls, i, i+1)
		} else if fault.Times > 1 {
			fault.Times--
		}
		return fault
	}
	return nil
}

func (f *Faults) takeEvent(e Event) *EventFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fault := range f.events {
		if fault.Match != nil && !fault.Match(e) {
			continue
		}
		if fault.Times == 1 {
			f.events = slices.Delete(f.events, i, i+1)
		} else if fault.Times > 1 {
			fault.Times--
		}
		return fault
	}
	return nil
}
