package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"myao/internal/sandbox"
)

// people carries out what a plan has people do, at its times, whatever becomes of it:
// nobody waits for an answer before saying the next thing.
type people struct {
	w     *world
	acts  map[int]act // of what was said, by number
	said  map[int]*said
	order []int
	upset map[upset]int
	did   map[verb]int
	// behind is by how much the plan was overtaken by the clock, at worst.
	behind time.Duration
}

func newPeople(w *world) *people {
	return &people{w: w, acts: map[int]act{}, said: map[int]*said{}, upset: map[upset]int{}, did: map[verb]int{}}
}

func (p *people) run(ctx context.Context, began time.Time, acts []act) {
	for _, a := range acts {
		if !sleepUntil(ctx, began.Add(a.at)) {
			return
		}
		p.behind = max(p.behind, time.Since(began.Add(a.at)))
		p.do(a)
	}
}

func (p *people) do(a act) {
	if a.verb == say {
		p.say(a)
		return
	}
	m := p.said[a.n]
	if !m.deleted.IsZero() {
		return
	}
	w, original := p.w.workspace, p.acts[a.n]
	p.did[a.verb]++
	p.w.story.Printf("%s %s %d in %s, event %s", a.verb, m.kind, a.n, m.here(), a.upset)
	text := original.text(w.Bot().UserID)
	switch a.verb {
	case edit:
		p.disturb(a.upset, func(e sandbox.Event) bool { return e.Subtype == "message_changed" && e.TS == m.ts })
		if !m.edited.IsZero() {
			text = "<@" + w.Bot().UserID + "> " + text
		}
		w.Edit(m.channel, m.ts, text+" (in other words)")
	case call:
		p.disturb(a.upset, func(e sandbox.Event) bool { return e.EventTS != m.ts && e.TS == m.ts })
		m.edited = time.Now()
		w.Edit(m.channel, m.ts, "<@"+w.Bot().UserID+"> "+text)
	case remove:
		p.disturb(a.upset, func(e sandbox.Event) bool { return gone(e) && e.TS == m.ts })
		m.deleted = time.Now()
		w.Delete(m.channel, m.ts)
	}
}

func (p *people) say(a act) {
	w := p.w.workspace
	m := &said{n: a.n, kind: a.kind, channel: p.w.channels[a.channel], direct: strings.HasPrefix(p.w.channels[a.channel], "D"), at: time.Now()}
	var options []sandbox.SayOption
	if a.thread != 0 {
		m.thread = p.said[a.thread].ts
		options = append(options, sandbox.InThread(m.thread))
	}
	text := a.text(w.Bot().UserID)
	if m.direct && a.n%2 == 0 {
		text = fmt.Sprintf("what about hey-%d?", a.n) // nobody need be named where only two talk
	}
	p.disturb(a.upset, func(e sandbox.Event) bool { return e.Text == text })
	if a.kind == stranger {
		m.ts = w.SayAsApp(m.channel, sandbox.App{BotID: "B0OTHER", Name: "ci", UserID: ""}, text, options...)
	} else {
		m.ts = w.Say(m.channel, p.w.users[a.user], text, options...)
	}
	p.did[say]++
	p.w.story.Printf("say %s %d in %s as %s, event %s", m.kind, a.n, m.here(), m.ts, a.upset)
	p.acts[a.n], p.said[a.n] = a, m
	p.order = append(p.order, a.n)
}

// disturb has something happen to the events that are chosen.
func (p *people) disturb(how upset, which func(sandbox.Event) bool) {
	f := sandbox.EventFault{Match: which, Times: 2}
	switch how {
	case delivered:
		return
	case dropped:
		f.Drop = true
	case twinDropped:
		// One or the other of the two events of a mention; where there is only one, none.
		f.Drop, f.Times = true, 1
		f.Match = func(e sandbox.Event) bool { return which(e) && e.Mention }
	case delayed:
		f.Delay = 500*time.Millisecond + time.Duration(len(p.order)%5)*700*time.Millisecond
	case again:
		f.RedeliverAfter = []time.Duration{0, 1500 * time.Millisecond}
	case held:
		f.Hold, f.Times = 1+len(p.order)%4, 1
	}
	p.upset[how]++
	p.w.workspace.Faults().AddEvent(f)
}

// gone reports whether an event tells of a deletion: a parent with replies becomes a tombstone.
func gone(e sandbox.Event) bool {
	return e.Subtype == "message_deleted" || e.Subtype == "message_changed" && e.Text == "This message was deleted."
}

// sleepUntil waits for a time and reports whether it came before the context's end.
func sleepUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
