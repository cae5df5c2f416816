package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
)

// fault is a kind of broken promise.
type fault string

const (
	lost        fault = "lost"
	missed      fault = "missed"
	doubled     fault = "doubled"
	unasked     fault = "uncalled"
	late        fault = "late"
	unjudged    fault = "unjudged"
	ledgerWrong fault = "ledger"
	unsettled   fault = "unsettled"
)

var faults = []fault{lost, missed, doubled, unasked, late, unjudged, ledgerWrong, unsettled}

var meanings = map[fault]string{
	lost:        "mentions that were acknowledged and have no answer",
	missed:      "mentions whose event never came, and that catch-up did not find",
	doubled:     "posted twice",
	unasked:     "posted, and nobody asked",
	late:        "posted long after the deletion of the question",
	unjudged:    "said, and without its verdict",
	ledgerWrong: "ledger and Slack disagree",
	unsettled:   "did not come to an end",
}

// finding is one occurrence of a fault.
type finding struct {
	fault fault
	text  string
}

func (f finding) String() string { return string(f.fault) + ": " + f.text }

// grace is how long after the acknowledged deletion of a question its answer's post may still begin: an attempt that has
// begun before has eight seconds.
const grace = 10 * time.Second

// check returns every fault in a record.
func check(r record) []finding {
	c := &checker{record: r, messages: map[place]map[string]said{}, saidIn: map[place][]said{}, toAnswerIn: map[place][]said{},
		replies: map[place][]post{}, decided: map[place][]decision{}}
	for _, m := range r.said {
		top := place{channel: m.channel}
		if c.messages[top] == nil {
			c.messages[top] = map[string]said{}
		}
		c.messages[top][m.ts] = m
		c.saidIn[m.place()] = append(c.saidIn[m.place()], m)
		if m.addresses() {
			c.toAnswerIn[m.answerPlace()] = append(c.toAnswerIn[m.answerPlace()], m)
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
	c.doublePosts()
	c.unaskedReplies()
	c.deletions()
	c.verdicts()
	c.ledger()
	return c.found
}

type checker struct {
	record
	messages   map[place]map[string]said // by channel, and ts
	saidIn     map[place][]said          // what was said in a conversation
	toAnswerIn map[place][]said          // what is to be answered in a conversation
	replies    map[place][]post          // what was answered in a conversation
	decided    map[place][]decision
	found      []finding
}

func (c *checker) report(f fault, format string, args ...any) {
	c.found = append(c.found, finding{f, fmt.Sprintf(format, args...)})
}

func (c *checker) message(channel, ts string) (said, bool) {
	m, ok := c.messages[place{channel: channel}][ts]
	return m, ok
}

// mentions finds mentions without an answer. One reply may answer several: all up to the one that
// it names, if it was posted after they were made.
func (c *checker) mentions() {
	for _, m := range c.said {
		if !m.addresses() || !m.deleted.IsZero() || m.kind == stranger {
			continue
		}
		answered := slices.ContainsFunc(c.replies[m.answerPlace()], func(p post) bool {
			_, trigger, _ := p.trigger()
			return trigger >= m.ts && p.at.After(m.addressedAt())
		})
		heard := !m.acknowledged.IsZero()
		if !m.edited.IsZero() {
			heard = !m.editAcknowledged.IsZero()
		}
		switch {
		case answered:
		case heard:
			c.report(lost, "%s has no answer", m)
		default:
			c.report(missed, "%s has no answer; its event never came", m)
		}
	}
}

// doublePosts finds messages that were posted more often than there were causes.
func (c *checker) doublePosts() {
	keys, texts := map[string]post{}, map[string]post{}
	for _, p := range c.posts {
		if other, ok := keys[p.key]; ok && p.key != "" {
			c.report(doubled, "%s and %s have one key, %s", other, p, p.key)
		}
		if other, ok := texts[p.text]; ok {
			c.report(doubled, "%s and %s have one text, %q", other, p, p.text)
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
				c.report(doubled, "%s was answered %d times in %s", m, n, at)
			}
		}
		most := 0
		for _, m := range c.saidIn[at] {
			if m.kind == question {
				most++
			}
		}
		most += len(c.toAnswerIn[at])
		if len(posts) > most && most > 0 {
			c.report(doubled, "%d replies in %s, for which there were %d causes", len(posts), at, most)
		}
	}
}

// causes returns how often a message may be answered in a place: once as a mention, and once as a
// question. A question can become a mention by an edit.
func (c *checker) causes(m said, at place) int {
	n := 0
	if m.addresses() && m.answerPlace() == at {
		n++
	}
	if m.kind == question && m.place() == at {
		n++
	}
	return n
}

// unaskedReplies finds replies to messages that need none. A reply may name such a message and
// yet be caused by a later question: the model had read that question before its event came.
func (c *checker) unaskedReplies() {
	for _, p := range c.posts {
		at, trigger, ok := p.trigger()
		if !ok {
			c.report(ledgerWrong, "%s has no key of ours: %q", p, p.key)
			continue
		}
		m, known := c.message(at.channel, trigger)
		switch {
		case !known:
			c.report(unasked, "%s answers %s/%s, which nobody said", p, at.channel, trigger)
		case p.thread != at.thread && m.deleted.IsZero():
			c.report(unasked, "%s stands in thread %q and belongs in %s", p, p.thread, at)
		case c.causes(m, at) > 0:
		case m.place() != at:
			c.report(unasked, "%s answers %s in %s", p, m, at)
		case m.kind == stranger, !slices.ContainsFunc(c.saidIn[at], func(q said) bool {
			return q.kind == question && q.ts > m.ts && q.at.Before(p.at)
		}):
			c.report(unasked, "%s answers %s", p, m)
		}
	}
}

// deletions finds replies whose post began more than grace after the question's deletion was
// acknowledged.
func (c *checker) deletions() {
	for _, p := range c.posts {
		at, trigger, _ := p.trigger()
		m, ok := c.message(at.channel, trigger)
		if !ok || m.deletionAcknowledged.IsZero() {
			continue
		}
		if after := p.began.Sub(m.deletionAcknowledged); after > grace {
			c.report(late, "%s was begun %s after the deletion of %s was acknowledged", p, after.Round(time.Millisecond), m)
		}
	}
}

// verdicts finds messages that address nobody and have no judgment.
func (c *checker) verdicts() {
	for at, messages := range c.saidIn {
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
			judged := slices.ContainsFunc(c.decided[at], func(d decision) bool { return d.isFinal() && d.trigger >= m.ts })
			if !judged && !c.wasRead(m) {
				c.report(unjudged, "%s has no verdict", m)
				continue
			}
			if m.ts == newest {
				c.verdict(m, at)
			}
		}
	}
}

// withdrawn reports whether somebody addressed the bot later in the same place. The message then
// gets no judgment, even if the mention was deleted.
func (c *checker) withdrawn(m said) bool {
	return slices.ContainsFunc(c.saidIn[m.place()], func(a said) bool {
		return a.kind != stranger && a.addresses() && (a.ts > m.ts || a.edited.After(m.at))
	})
}

// wasRead reports whether the prompt of a reply in the same conversation held the message. A
// message that comes together with a mention is answered with it.
func (c *checker) wasRead(m said) bool {
	sent := chat.Time(m.ts)
	return slices.ContainsFunc(c.outbox, func(row part) bool {
		return row.place == m.place() && row.state == "sent" && !row.saw.Before(sent)
	})
}

// verdict compares the verdict on the newest message of a conversation with its kind.
func (c *checker) verdict(m said, at place) {
	var own *decision
	for _, d := range c.decided[at] {
		if d.trigger == m.ts && d.isFinal() && (own == nil || own.source != "judgment") {
			own = &d
		}
	}
	if own == nil {
		return // a decision about a message that was deleted since covers it
	}
	if own.source == "rule" {
		if own.rule != "spoke_last" {
			c.report(unjudged, "%s met the rule %s", m, own.rule)
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
		c.report(unjudged, "%s was judged yes: %v, and has %d replies; want %d", m, own.yes, replies, wanted)
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
			c.report(ledgerWrong, "outbox row %s is still being sent", row.key)
		}
	}
	for _, d := range c.decisions {
		switch d.outcome {
		case "posted":
			carried[d.by] = append(carried[d.by], d)
		case "pending":
			c.report(ledgerWrong, "decision %s on %s in %s is pending", d.key, d.trigger, d.place)
		case "failed":
			c.report(ledgerWrong, "decision %s on %s in %s failed: %s", d.key, d.trigger, d.place, d.by)
		}
	}
	replies := map[string]bool{}
	for _, p := range c.posts {
		rows := sent[message{p.channel, p.ts}]
		if len(rows) != 1 {
			c.report(ledgerWrong, "%s has %d outbox rows", p, len(rows))
			continue
		}
		row := rows[0]
		delete(sent, message{p.channel, p.ts})
		replies[row.reply] = true
		if row.key != p.key || row.text != p.text {
			c.report(ledgerWrong, "%s says %q under %s, its outbox row %q under %s", p, p.text, p.key, row.text, row.key)
		}
		if n := len(carried[row.reply]); n != 1 {
			c.report(ledgerWrong, "%s carries out %d decisions", p, n)
		}
	}
	for at, rows := range sent {
		c.report(ledgerWrong, "outbox row %s was sent as %s, which Slack does not have", rows[0].key, at.ts)
	}
	for reply, ds := range carried {
		if !replies[reply] {
			c.report(ledgerWrong, "decision %s was posted as %s, which Slack does not have", ds[0].key, reply)
		}
	}
}

// String identifies a message in the plan, in Slack and in the logs.
func (m said) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d (%s/%s, said %s", m.kind, m.n, m.place(), m.ts, clock(m.at))
	for _, happened := range []struct {
		what string
		at   time.Time
	}{{"acknowledged", m.acknowledged}, {"made a mention", m.edited}, {"edit heard", m.editAcknowledged}, {"deleted", m.deleted}, {"deletion heard", m.deletionAcknowledged}} {
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
