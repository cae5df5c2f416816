package prompt

import (
	"time"

	"myao/internal/chat"
)

// Promise is something that the bot has promised to come back to.
type Promise struct {
	// Asker is the user id of whoever asked; "" if that is not known any more.
	Asker string
	// What and Unless are the model's own words when it made the promise.
	What, Unless string
	// Every is day, weekday, week or month; "" for once.
	Every string
	// Made is when it was asked for, Due when it is due.
	Made, Due time.Time
	// Until is the hook whose event the promise waits for; "" for none. Waits is set until the promise is due.
	Until string `json:",omitempty"`
	Waits bool   `json:",omitempty"`
	// Events have come by the hook, and have yet to be judged.
	Events []HookEvent `json:",omitempty"`
}

// HookEvent is what another program has told.
type HookEvent struct {
	At   time.Time
	Text string
}

// promiseView is a promise as a template sees it. Its texts have been through the guard.
type promiseView struct {
	Asker, What, Unless, Every, Made, Due, Until string
	Waits                                        bool
	Events                                       []eventView
}

type eventView struct{ At, Text string }

// promiseView shows a promise; names may be nil.
func (r *Renderer) promiseView(p *Promise, names map[string]string) *promiseView {
	if p == nil {
		return nil
	}
	v := &promiseView{
		Asker: cleanName(names[p.Asker]), What: r.guard.text(p.What), Unless: r.guard.text(p.Unless), Every: p.Every,
		Made: p.Made.In(r.location).Format(timeLayout), Due: p.Due.In(r.location).Format(timeLayout), Until: p.Until,
		Waits: p.Waits,
	}
	for _, e := range p.Events {
		v.Events = append(v.Events, eventView{e.At.In(r.location).Format(timeLayout), r.guard.text(e.Text)})
	}
	return v
}

// PromiseText returns the words of a promise as they may be posted without a model: one line, with the
// address of each link in sight.
func PromiseText(text string, p chat.Persona) string {
	return SafeReply(cleanLine(text, maxPromiseShown), "", Unwritten, p)
}

// maxPromiseShown is more than a promise's words have, in characters.
const maxPromiseShown = 1000
