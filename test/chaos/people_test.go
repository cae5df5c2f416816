package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"myao/sandbox/workspace"
)

// people carries out the acts of a plan at their times, without waiting for answers.
type people struct {
	w         *system
	acts      map[int]act // by number of the message
	said      map[int]*said
	order     []int
	disturbed map[disturbance]int
	did       map[verb]int
	// behind is the longest delay of an act.
	behind time.Duration
}

func newPeople(w *system) *people {
	return &people{w: w, acts: map[int]act{}, said: map[int]*said{}, disturbed: map[disturbance]int{}, did: map[verb]int{}}
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
	w, original := p.w.Workspace, p.acts[a.n]
	p.did[a.verb]++
	p.w.log.Printf("%s %s %d in %s, event %s", a.verb, m.kind, a.n, m.place(), a.disturbance)
	text := original.text(w.Bot().UserID)
	switch a.verb {
	case edit:
		p.disturb(a.disturbance, func(e workspace.Event) bool { return e.Subtype == "message_changed" && e.TS == m.ts })
		if !m.edited.IsZero() {
			text = "<@" + w.Bot().UserID + "> " + text
		}
		w.Edit(m.channel, m.ts, text+" (in other words)")
	case addMention:
		p.disturb(a.disturbance, func(e workspace.Event) bool { return e.EventTS != m.ts && e.TS == m.ts })
		m.edited = time.Now()
		w.Edit(m.channel, m.ts, "<@"+w.Bot().UserID+"> "+text)
	case remove:
		p.disturb(a.disturbance, func(e workspace.Event) bool { return isDeletion(e) && e.TS == m.ts })
		m.deleted = time.Now()
		w.Delete(m.channel, m.ts)
	}
}

func (p *people) say(a act) {
	w := p.w.Workspace
	m := &said{n: a.n, kind: a.kind, channel: p.w.channels[a.channel], direct: strings.HasPrefix(p.w.channels[a.channel], "D"), at: time.Now()}
	var options []workspace.SayOption
	if a.thread != 0 {
		m.thread = p.said[a.thread].ts
		options = append(options, workspace.InThread(m.thread))
	}
	text := a.text(w.Bot().UserID)
	if m.direct && a.n%2 == 0 {
		text = fmt.Sprintf("what about hey-%d?", a.n) // in a direct message every message addresses the bot
	}
	p.disturb(a.disturbance, func(e workspace.Event) bool { return e.Text == text })
	if a.kind == stranger {
		m.ts = w.SayAsApp(m.channel, workspace.App{BotID: "B0OTHER", Name: "ci", UserID: ""}, text, options...)
	} else {
		m.ts = w.Say(m.channel, p.w.users[a.user], text, options...)
	}
	p.did[say]++
	p.w.log.Printf("say %s %d in %s as %s, event %s", m.kind, a.n, m.place(), m.ts, a.disturbance)
	p.acts[a.n], p.said[a.n] = a, m
	p.order = append(p.order, a.n)
}

// disturb disturbs the delivery of the events that which matches.
func (p *people) disturb(how disturbance, which func(workspace.Event) bool) {
	f := workspace.EventFault{Match: which, Times: 2}
	switch how {
	case delivered:
		return
	case dropped:
		f.Drop = true
	case oneDropped:
		// One of the two events of a mention. Other messages have only one event; leave it alone.
		f.Drop, f.Times = true, 1
		f.Match = func(e workspace.Event) bool { return which(e) && e.Mention }
	case delayed:
		f.Delay = 500*time.Millisecond + time.Duration(len(p.order)%5)*700*time.Millisecond
	case again:
		f.RedeliverAfter = []time.Duration{0, 1500 * time.Millisecond}
	case held:
		f.Hold, f.Times = 1+len(p.order)%4, 1
	}
	p.disturbed[how]++
	p.w.Workspace.Faults().AddEvent(f)
}

// isDeletion reports whether an event is a deletion. A parent with replies becomes a tombstone.
func isDeletion(e workspace.Event) bool {
	return e.Subtype == "message_deleted" || e.Subtype == "message_changed" && e.Text == "This message was deleted."
}

// sleepUntil waits until a time. It returns false if the context ends first.
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
