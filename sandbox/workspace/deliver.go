package workspace

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"myao/internal/runtime/pause"
)

// Delivery is one attempt to deliver an event.
type Delivery struct {
	Event
	// Retry is 0 for the first attempt. Reason says why there was another.
	Retry  int
	Reason string
	// Status is the answer's HTTP status; 0 without an answer, and then Err says why.
	Status int
	Err    string
	// At is when the attempt began, Took the time until the answer.
	At   time.Time
	Took time.Duration
}

const (
	maxRetriesInFlight = 16
	maxLog             = 20_000
)

// dispatcher sends events in the order in which they happened. A retry does not delay the
// events after it.
type dispatcher struct {
	w          *Workspace
	client     *http.Client
	wake       chan struct{}
	firstSlots chan struct{} // slots of first tries
	retrySlots chan struct{} // slots of later ones
	wg         sync.WaitGroup

	mu      sync.Mutex
	url     string
	queue   []Event
	held    []heldEvent
	pending int // events not yet acknowledged or given up
	log     []Delivery
}

type heldEvent struct {
	event Event
	after int // events still to go before this one
	fault *EventFault
}

func newDispatcher(w *Workspace) *dispatcher {
	d := &dispatcher{
		w: w, url: w.cfg.EventsURL,
		wake:       make(chan struct{}, 1),
		firstSlots: make(chan struct{}, w.cfg.Deliverers),
		retrySlots: make(chan struct{}, maxRetriesInFlight),
		client: &http.Client{
			Timeout:   w.cfg.AckTimeout,
			Transport: &http.Transport{MaxIdleConnsPerHost: w.cfg.Deliverers + maxRetriesInFlight},
			CheckRedirect: func(_ *http.Request, via []*http.Request) error {
				if len(via) > 2 {
					return errRedirects
				}
				return nil
			},
		},
	}
	d.wg.Go(d.run)
	return d
}

var errRedirects = errors.New("too many redirects")

func (d *dispatcher) close() {
	d.wg.Wait()
	d.client.CloseIdleConnections()
}

func (d *dispatcher) setURL(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.url = url
}

func (d *dispatcher) enqueue(e Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.w.faults.suppressed.Load() || d.url == "" && !d.w.socket.used() {
		return
	}
	d.pending++
	d.queue = append(d.queue, e)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *dispatcher) run() {
	for {
		select {
		case <-d.wake:
		case <-d.w.ctx.Done():
			return
		}
		for {
			e, ok := d.next()
			if !ok {
				break
			}
			fault := d.w.faults.takeEvent(e)
			if fault != nil && fault.name != "" && fault.Times == 1 {
				d.w.hub.send(change{Kind: "faults"}) // the fault is now off
			}
			if fault != nil && fault.Hold > 0 {
				d.mu.Lock()
				d.held = append(d.held, heldEvent{event: e, after: fault.Hold, fault: fault})
				d.mu.Unlock()
				continue
			}
			d.dispatch(e, fault)
			for _, h := range d.release() {
				d.dispatch(h.event, h.fault)
			}
		}
	}
}

func (d *dispatcher) next() (Event, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 || d.w.ctx.Err() != nil {
		return Event{}, false
	}
	e := d.queue[0]
	d.queue = d.queue[1:]
	return e, true
}

func (d *dispatcher) release() []heldEvent {
	d.mu.Lock()
	defer d.mu.Unlock()
	var due []heldEvent
	var rest []heldEvent
	for _, h := range d.held {
		if h.after--; h.after == 0 {
			due = append(due, h)
		} else {
			rest = append(rest, h)
		}
	}
	d.held = rest
	return due
}

// ReleaseHeld delivers the events that faults hold back, although no event follows them.
func (w *Workspace) ReleaseHeld() {
	w.out.mu.Lock()
	all := w.out.held
	w.out.held = nil
	w.out.mu.Unlock()
	for _, h := range all {
		w.out.dispatch(h.event, h.fault)
	}
}

// dispatch starts to deliver an event as soon as a slot is free. With one slot, that is
// after the answer to the event before it.
func (d *dispatcher) dispatch(e Event, fault *EventFault) {
	if fault == nil {
		fault = &EventFault{}
	}
	slots := d.firstSlots
	switch {
	case fault.Drop:
		d.done()
		return
	case fault.Delay > 0:
		slots = d.retrySlots
	default:
		if !d.acquire(slots) {
			d.done()
			return
		}
	}
	d.wg.Go(func() {
		defer d.done()
		if fault.Delay > 0 && !(pause.For(d.w.ctx, fault.Delay) && d.acquire(slots)) {
			return
		}
		reason := d.try(e, 0, "")
		<-slots
		if len(fault.RedeliverAfter) > 0 {
			d.redeliver(e, fault.RedeliverAfter)
		} else if reason != "" {
			d.retry(e, reason)
		}
	})
}

func (d *dispatcher) acquire(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-d.w.ctx.Done():
		return false
	}
}

// retry delivers an unacknowledged event again, until it is acknowledged or the pauses run out.
func (d *dispatcher) retry(e Event, reason string) {
	for i, wait := range d.w.cfg.RetryAfter {
		if !pause.For(d.w.ctx, wait) || !d.acquire(d.retrySlots) {
			return
		}
		reason = d.try(e, i+1, reason)
		<-d.retrySlots
		if reason == "" {
			return
		}
	}
	d.w.cfg.Logger.Warn("event given up", "event_id", e.ID, "type", e.Type, "reason", reason)
}

// redeliver delivers an acknowledged event again, as Slack does when the acknowledgement
// was late or lost.
func (d *dispatcher) redeliver(e Event, pauses []time.Duration) {
	var wg sync.WaitGroup
	for i, wait := range pauses {
		wg.Go(func() {
			if pause.For(d.w.ctx, wait) && d.acquire(d.retrySlots) {
				d.try(e, i+1, "http_timeout")
				<-d.retrySlots
			}
		})
	}
	wg.Wait()
}

func (d *dispatcher) done() {
	d.mu.Lock()
	d.pending--
	d.mu.Unlock()
	d.notify()
}

func (d *dispatcher) notify() {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	d.w.notify()
}

// Deliveries is the log of all attempts, oldest first.
func (w *Workspace) Deliveries() []Delivery {
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	return slices.Clone(w.out.log)
}

// AwaitDeliveries waits until every event has been acknowledged or given up. Held events
// keep it waiting; see ReleaseHeld.
func (w *Workspace) AwaitDeliveries(ctx context.Context) error {
	return w.Await(ctx, func() bool {
		w.out.mu.Lock()
		defer w.out.mu.Unlock()
		return w.out.pending == 0
	})
}
