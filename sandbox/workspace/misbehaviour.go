package workspace

import (
	"net/http"
	"slices"
	"time"
)

// Misbehaviour is a fault that visitors of the page can switch on and off.
type Misbehaviour struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	On    bool   `json:"on"`
	// Exactly one of these is set.
	call  *Fault
	event *EventFault
}

// misbehaviour lists the page's faults. "order" applies to one event and switches itself
// off, because two events are needed to be out of order.
var misbehaviour = []Misbehaviour{
	{Name: "limited", Title: "Refuse to post: rate limited for 5 s", call: &Fault{Method: "chat.postMessage",
		Status: http.StatusTooManyRequests, RetryAfter: "5"}},
	{Name: "lost", Title: "Post, but lose the answer", call: &Fault{Method: "chat.postMessage", LoseAnswer: true,
		AfterEffect: true}},
	{Name: "broken", Title: "Post, but answer 503", call: &Fault{Method: "chat.postMessage",
		Status: http.StatusServiceUnavailable, AfterEffect: true}},
	{Name: "down", Title: "Refuse to post: answer 503", call: &Fault{Method: "chat.postMessage",
		Status: http.StatusServiceUnavailable}},
	{Name: "again", Title: "Deliver every event three times",
		event: &EventFault{RedeliverAfter: []time.Duration{0, 5 * time.Second}}},
	{Name: "order", Title: "Deliver the next event after the one that follows", event: &EventFault{Times: 1, Hold: 1}},
}

func (w *Workspace) pageMisbehave(in pageRequest) error {
	i := slices.IndexFunc(misbehaviour, func(m Misbehaviour) bool { return m.Name == in.Name })
	if i < 0 {
		return apiError("no such misbehaviour")
	}
	w.faults.set(misbehaviour[i], in.On)
	w.hub.send(change{Kind: "faults"})
	return nil
}

// misbehaviour returns the page's faults and whether each is on.
func (w *Workspace) misbehaviour() []Misbehaviour {
	all := slices.Clone(misbehaviour)
	for i := range all {
		all[i].On = w.faults.isSet(all[i])
	}
	return all
}

// Misbehaving returns the names of the page's faults that are on. It never returns nil.
func (w *Workspace) Misbehaving() []string {
	on := []string{}
	for _, m := range w.misbehaviour() {
		if m.On {
			on = append(on, m.Name)
		}
	}
	return on
}
