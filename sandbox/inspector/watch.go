package inspector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"myao/sandbox/desk"
)

const (
	// refreshInterval is how soon a page sees a change.
	refreshInterval = 400 * time.Millisecond
	// keepAliveInterval keeps a connection open while there is nothing to send.
	keepAliveInterval = 15 * time.Second
)

// frame is one event: the sandbox's state, and the conversation's if the page shows one.
type frame struct {
	Now    time.Time   `json:"now"`
	Worker WorkerState `json:"worker"`
	Model  string      `json:"model"` // up or down
	Faults []string    `json:"faults"`
	// Tickets are those of the ticket desk, the oldest first; nil without a desk.
	Tickets []desk.Ticket `json:"tickets,omitzero"`
	*view
}

// watch streams frames as server-sent events, the first one at once, until the page is closed.
func (w *Inspector) watch(rw http.ResponseWriter, r *http.Request) {
	channel, thread := r.URL.Query().Get("channel"), r.URL.Query().Get("thread")
	var l *observer
	var answers <-chan answer
	if channel != "" || thread != "" {
		c, err := w.conversation(channel, thread)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		l = w.observe(c)
		answers = l.answers
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-store")
	_, _ = fmt.Fprint(rw, "retry: 1000\n\n")
	out := http.NewResponseController(rw)
	if out.Flush() != nil {
		return
	}
	ctx := r.Context()
	if l != nil {
		l.refresh(ctx)
	}
	tick, alive := time.NewTicker(refreshInterval), time.NewTicker(keepAliveInterval)
	defer tick.Stop()
	defer alive.Stop()
	var last []byte
	for {
		f := frame{Worker: w.Worker.State(), Model: "up", Faults: w.Faults()}
		if w.Tickets != nil {
			var err error
			if f.Tickets, err = w.Tickets(); err != nil {
				return // the page tries again
			}
		}
		if w.Model.Down() {
			f.Model = "down"
		}
		if l != nil {
			f.view = l.snapshot(f.Worker)
		}
		body, err := json.Marshal(f)
		if err != nil {
			return // the page tries again
		}
		if !bytes.Equal(body, last) {
			last = body
			f.Now = w.Clock().UTC()
			if body, err = json.Marshal(f); err != nil {
				return
			}
			_, _ = fmt.Fprintf(rw, "data: %s\n\n", body)
		}
		if out.Flush() != nil {
			return
		}
		select {
		case a := <-answers:
			l.accept(a)
		case <-tick.C:
			if l != nil {
				l.refresh(ctx)
			}
		case <-alive.C:
			_, _ = fmt.Fprint(rw, ": still here\n\n")
		case <-ctx.Done():
			return
		}
	}
}
