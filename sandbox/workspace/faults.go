package workspace

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
	// Status and Error are the answer's. Status is 0 if the answer was lost.
	Status int
	Error  string
	// Fault is set if a fault applied to the call.
	Fault bool
}

// Fault makes calls of the Web API fail. Its first fields choose the calls, the others say
// what happens to them.
type Fault struct {
	Method string          // empty: every method
	Match  func(Call) bool // nil: every call
	Times  int             // number of calls; 0: until cleared

	// AfterEffect runs the call first: a message is posted, and then the answer fails.
	// Slack does this: after internal_error and fatal_error the call "may have" succeeded
	// (docs.slack.dev/reference/methods/chat.postMessage, errors).
	AfterEffect bool
	// Delay is the time before the answer; with AfterEffect, between the effect and the answer.
	Delay time.Duration
	// Status is the HTTP status: 429, 500, 503 …
	Status int
	// RetryAfter is the value of the Retry-After header, in seconds; empty: no header.
	RetryAfter string
	// Error is answered as ok:false; with Status 0, over HTTP 200.
	Error string
	// LoseAnswer closes the connection without an answer.
	LoseAnswer bool
	// Garble answers with text that is not JSON.
	Garble bool
	// Alter changes the call's answer, for example by removing a field. It may also change
	// the workspace, for example between two pages of a listing.
	Alter func(answer map[string]any)
	// Hide is how long history and replies do not show a message posted by this call.
	Hide time.Duration

	// name is the Misbehaviour that the fault belongs to, if any.
	name string
}

// LaterPage matches the calls for the second and later pages of a listing.
func LaterPage(c Call) bool { return c.Args.Get("cursor") != "" }

// fails reports whether the fault replaces the call's answer.
func (f *Fault) fails() bool { return f.Status != 0 || f.Error != "" || f.LoseAnswer || f.Garble }

// EventFault makes deliveries fail.
type EventFault struct {
	Match func(Event) bool // nil: every event
	Times int              // number of events; 0: until cleared

	Drop  bool          // never deliver
	Delay time.Duration // deliver this much later; other events do not wait
	Hold  int           // deliver after this many later events, out of order
	// RedeliverAfter delivers an acknowledged event again after each of these pauses, as a
	// retry with the same event_id.
	RedeliverAfter []time.Duration

	// name is the Misbehaviour that the fault belongs to, if any.
	name string
}

// Faults holds the active faults. If several match, the one added first applies.
type Faults struct {
	suppressed atomic.Bool
	mu         sync.Mutex
	calls      []*Fault
	events     []*EventFault
}

// SuppressEvents begins or ends a time in which nothing that happens is ever delivered; it
// is only in history. Events queued before are still delivered. EventFault.Drop would drop
// those too, because faults apply on delivery.
func (f *Faults) SuppressEvents(on bool) { f.suppressed.Store(on) }

// Add activates a fault of the Web API. The returned function removes it.
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

// AddEvent activates a fault of deliveries. The returned function removes it.
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

// set switches one of the page's misbehaviours on or off.
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

// isSet reports whether one of the page's misbehaviours is on.
func (f *Faults) isSet(m Misbehaviour) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.calls, func(o *Fault) bool { return o.name == m.Name }) ||
		slices.ContainsFunc(f.events, func(o *EventFault) bool { return o.name == m.Name })
}

// Clear removes all faults and ends SuppressEvents.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.events = nil, nil
	f.suppressed.Store(false)
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
