package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
)

// fault is a way in which the promise was broken.
type fault string

const (
	lost      fault = "lost"
	missed    fault = "missed"
	doubled   fault = "doubled"
	uncalled  fault = "uncalled"
	late      fault = "late"
	unjudged  fault = "unjudged"
	disagree  fault = "ledger"
	unsettled fault = "unsettled"
)

var faults = []fault{lost, missed, doubled, uncalled, late, unjudged, disagree, unsettled}

var meanings = map[fault]string{
	lost:      "mentions that were acknowledged and have no answer",
	missed:    "mentions whose event never came, and that catch-up did not find",
	doubled:   "posted twice",
	uncalled:  "posted, and nobody asked",
	late:      "posted long after the deletion of the question",
	unjudged:  "said, and without its verdict",
	disagree:  "ledger and Slack disagree",
	unsettled: "did not come to an end",
}

// finding is one case of a fault.
type finding struct {
	fault fault
	text  string
}

func (f finding) String() string { return string(f.fault) + ": " + f.text }

// grace is how long after the deletion of a question was acknowledged the post of
// its answer may still begin.
const grace = 2 * time.Second

// check finds every fault in what a run came to.
func check(r record) []finding {
	c := &checker{record: r, messages: map[place]map[string]said{}, here: map[place][]said{}, home: map[place][]said{},
		replies: map[place][]post{}, decided: map[place][]decision{}}
	for _, m := range r.said {
		top := place{channel: m.channel}
		if c.messages[top] == nil {
			c.messages[top] = map[string]said{}
		}
		c.messages[top][m.ts] = m
		c.here[m.here()] = append(c.here[m.here()], m)
		if m.addresses() {
			c.home[m.home()] = append(c.home[m.home()], m)
		}
	}
	for _, p := range r.posts {
		if at, _, ok := p.trigger(); ok {
			c.replies[at] = append(c.replies[at], p)
		}
	}
	for _, d := range r.decisions {
		c.decided[d.place] = append(c.decided[d.place], d)
	}
	c.mentions()
	c.twice()
	c.called()
	c.deletions()
	c.verdicts()
	c.ledger()
	return c.found
}

type checker struct {
	record
	messages map[place]map[string]said // by channel, and ts
	here     map[place][]said          // what was said in a conversation
	home     map[place][]said          // what is to be answered in a conversation
	replies  map[place][]post          // what was answered in a conversation
	decided  map[place][]decision
	found    []finding
}

func (c *checker) tell(f fault, format string, args ...any) {
	c.found = append(c.found, finding{f, fmt.Sprintf(format, args...)})
}

func (c *checker) message(channel, ts string) (said, bool) {
	m, ok := c.messages[place{channel: channel}][ts]
	return m, ok
}

// mentions looks for those without an answer. One reply may answer several, all that
// were said up to the one that it names; it was begun after the mention was made.
func (c *checker) mentions() {
	for _, m := range c.said {
		if !m.addresses() || !m.deleted.IsZero() || m.kind == stranger {
			continue
		}
		answered := slices.ContainsFunc(c.replies[m.home()], func(p post) bool {
			_, trigger, _ := p.trigger()
			return trigger >= m.ts && p.at.After(m.addressedAt())
		})
		heard := !m.heard.IsZero()
		if !m.edited.IsZero() {
			heard = !m.editHeard.IsZero()
		}
		switch {
		case answered:
		case heard:
			c.tell(lost, "%s has no answer", m)
		default:
			c.tell(missed, "%s has no answer; its event never came", m)
		}
	}
}

// twice looks for what was posted more often than there was a cause for.
func (c *checker) twice() {
	keys, texts := map[string]post{}, map[string]post{}
	for _, p := range c.posts {
		if other, ok := keys[p.key]; ok && p.key != "" {
			c.tell(doubled, "%s and %s have one key, %s", other, p, p.key)
		}
		if other, ok := texts[p.text]; ok {
			c.tell(doubled, "%s and %s have one text, %q", other, p, p.text)
		}
		keys[p.key], texts[p.text] = p, p
	}
	for at, posts := range c.replies {
		times := map[string]int{}
		for _, p := range posts {
			_, trigger, _ := p.trigger()
			times[trigger]++
		}
		for trigger, n := range times {
			if m, ok := c.message(at.channel, trigger); ok && n > c.causes(m, at) && n > 1 {
				c.tell(doubled, "%s was answered %d times in %s", m, n, at)
			}
		}
		most := 0
		for _, m := range c.here[at] {
			if m.kind == question {
				most++
			}
		}
		most += len(c.home[at])
		if len(posts) > most && most > 0 {
			c.tell(doubled, "%d replies in %s, for which there were %d causes", len(posts), at, most)
		}
	}
}

// causes is how often a message may be answered in a place: once as a mention, and
// once as a question if it was one before an edit made it a mention.
func (c *checker) causes(m said, at place) int {
	n := 0
	if m.addresses() && m.home() == at {
		n++
	}
	if m.kind == question && m.here() == at {
		n++
	}
	return n
}

// called looks for replies to what called for none. A reply that names a message of
// the other kind may have been called for by a question after it, which its author
// had read and whose own event had yet to come.
func (c *checker) called() {
	for _, p := range c.posts {
		at, trigger, ok := p.trigger()
		if !ok {
			c.tell(disagree, "%s has no key of ours: %q", p, p.key)
			continue
		}
		m, known := c.message(at.channel, trigger)
		switch {
		case !known:
			c.tell(uncalled, "%s answers %s/%s, which nobody said", p, at.channel, trigger)
		case p.thread != at.thread && m.deleted.IsZero():
			c.tell(uncalled, "%s stands in thread %q and belongs in %s", p, p.thread, at)
		case c.causes(m, at) > 0:
		case m.here() != at:
			c.tell(uncalled, "%s answers %s in %s", p, m, at)
		case m.kind == stranger, !slices.ContainsFunc(c.here[at], func(q said) bool {
			return q.kind == question && q.ts > m.ts && q.at.Before(p.at)
		}):
			c.tell(uncalled, "%s answers %s", p, m)
		}
	}
}

// deletions looks for replies that were begun when it was long known that the
// question was gone.
func (c *checker) deletions() {
	for _, p := range c.posts {
		at, trigger, _ := p.trigger()
		m, ok := c.message(at.channel, trigger)
		if !ok || m.deletionHeard.IsZero() {
			continue
		}
		if after := p.began.Sub(m.deletionHeard); after > grace {
			c.tell(late, "%s was begun %s after the deletion of %s was acknowledged", p, after.Round(time.Millisecond), m)
		}
	}
}

// verdicts looks for what was said to nobody and never came to a judgment.
func (c *checker) verdicts() {
	for at, messages := range c.here {
		newest := ""
		for _, m := range messages {
			if m.kind != stranger {
				newest = max(newest, m.ts)
			}
		}
		for _, m := range messages {
			if !m.ambient() || c.withdrawn(m) {
				continue
			}
			judged := slices.ContainsFunc(c.decided[at], func(d decision) bool { return d.made() && d.trigger >= m.ts })
			if !judged && !c.read(m) {
				c.tell(unjudged, "%s has no verdict", m)
				continue
			}
			if m.ts == newest {
				c.verdict(m, at)
			}
		}
	}
}

// withdrawn reports whether somebody addressed the bot after a message, in the same
// place: then no judgment is made of it, whatever became of the mention.
func (c *checker) withdrawn(m said) bool {
	return slices.ContainsFunc(c.here[m.here()], func(a said) bool {
		return a.kind != stranger && a.addresses() && (a.ts > m.ts || a.edited.After(m.at))
	})
}

// read reports whether something was posted in the same conversation by an author who
// had the message in view: what came together with a mention is answered with it.
func (c *checker) read(m said) bool {
	sent := chat.Time(m.ts)
	return slices.ContainsFunc(c.outbox, func(row part) bool {
		return row.place == m.here() && row.state == "sent" && !row.saw.Before(sent)
	})
}

// verdict compares the verdict on the newest message of a conversation, after which
// nobody said anything, with what its text asks for.
func (c *checker) verdict(m said, at place) {
	var own *decision
	for _, d := range c.decided[at] {
		if d.trigger == m.ts && d.made() && (own == nil || own.source != "judgment") {
			own = &d
		}
	}
	if own == nil {
		return // a decision about something deleted since stands for it
	}
	if own.source == "rule" {
		if own.rule != "spoke_last" {
			c.tell(unjudged, "%s met the rule %s", m, own.rule)
		}
		return
	}
	replies := 0
	for _, p := range c.replies[at] {
		if _, trigger, _ := p.trigger(); trigger == m.ts {
			replies++
		}
	}
	wanted := 0
	if m.kind == question {
		wanted = 1
	}
	if own.yes != (wanted == 1) || replies != wanted {
		c.tell(unjudged, "%s was judged yes: %v, and has %d replies; want %d", m, own.yes, replies, wanted)
	}
}

// ledger compares Slack, the outbox and the decisions.
func (c *checker) ledger() {
	type message struct{ channel, ts string }
	sent := map[message][]part{}
	carried := map[string][]decision{}
	for _, row := range c.outbox {
		switch row.state {
		case "sent":
			at := message{row.place.channel, row.sentTS}
			sent[at] = append(sent[at], row)
		case "sending":
			c.tell(disagree, "outbox row %s is still being sent", row.key)
		}
	}
	for _, d := range c.decisions {
		switch d.outcome {
		case "posted":
			carried[d.by] = append(carried[d.by], d)
		case "pending":
			c.tell(disagree, "decision %s on %s in %s is pending", d.key, d.trigger, d.place)
		case "failed":
			c.tell(disagree, "decision %s on %s in %s failed: %s", d.key, d.trigger, d.place, d.by)
		}
	}
	replies := map[string]bool{}
	for _, p := range c.posts {
		rows := sent[message{p.channel, p.ts}]
		if len(rows) != 1 {
			c.tell(disagree, "%s has %d outbox rows", p, len(rows))
			continue
		}
		row := rows[0]
		delete(sent, message{p.channel, p.ts})
		replies[row.reply] = true
		if row.key != p.key || row.text != p.text {
			c.tell(disagree, "%s says %q under %s, its outbox row %q under %s", p, p.text, p.key, row.text, row.key)
		}
		if n := len(carried[row.reply]); n != 1 {
			c.tell(disagree, "%s carries out %d decisions", p, n)
		}
	}
	for at, rows := range sent {
		c.tell(disagree, "outbox row %s was sent as %s, which Slack does not have", rows[0].key, at.ts)
	}
	for reply, ds := range carried {
		if !replies[reply] {
			c.tell(disagree, "decision %s was posted as %s, which Slack does not have", ds[0].key, reply)
		}
	}
}

// String tells enough of a message to find it in the plan, in Slack and in the logs.
func (m said) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d (%s/%s, said %s", m.kind, m.n, m.here(), m.ts, clock(m.at))
	for _, happened := range []struct {
		what string
		at   time.Time
	}{{"heard", m.heard}, {"made a mention", m.edited}, {"edit heard", m.editHeard}, {"deleted", m.deleted}, {"deletion heard", m.deletionHeard}} {
		if !happened.at.IsZero() {
			fmt.Fprintf(&b, ", %s %s", happened.what, clock(happened.at))
		}
	}
	return b.String() + ")"
}

func (p post) String() string {
	return fmt.Sprintf("post %s/%s (%q, %s)", p.channel, p.ts, p.text, clock(p.at))
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
