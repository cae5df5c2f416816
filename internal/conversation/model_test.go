package conversation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"myao/internal/chat"
)

// model is a second implementation of the life of a decision (doc.go) in sets of messages: which are pending,
// being answered and kept for later. It has no times, epochs or effects. FuzzState compares
// the state machine with it.
type model struct {
	here  bool // addressed messages are answered in this conversation
	stage string
	// pending wait for a judgment; answering are the addressed messages being answered.
	pending, answering set
	// served are the messages that the answer serves too; joined are those of them that address the
	// bot, which came while something was looked up.
	served, joined set
	// said and mentions are kept for later.
	said, mentions set
	// capped: a message without a mention does not withdraw the judgment or the reply.
	capped bool
	// ordered is set while the reply is an operator's order.
	ordered bool
	notice  bool
	// trigger is the message that the post in flight answers.
	trigger string
	known   map[string]bool // change ids
	// hushed are the messages that are hushed.
	hushed set
	// left are the steps that are yet to be looked up.
	left set
	// stops are those of the mentions kept for later that only say stop, line is what the reply says
	// if it answers such.
	stops map[string]Stop
	line  Stop
	// again are the stops that a line about an earlier one serves.
	again set
	// stoppedBy tells for each stop whether an operator said it.
	stoppedBy map[string]bool
}

type set map[string]bool

func (s set) add(more ...string) {
	for _, ts := range more {
		s[ts] = true
	}
}

func (s set) list() []string {
	return slices.SortedFunc(maps.Keys(s), func(a, b string) int { return chat.Time(a).Compare(chat.Time(b)) })
}

// after returns the messages after a ts.
func (s set) after(ts string) set {
	later := maps.Clone(s)
	maps.DeleteFunc(later, func(other string, _ bool) bool { return !chat.Time(other).After(chat.Time(ts)) })
	return later
}

func (s set) newest() string {
	if len(s) == 0 {
		return ""
	}
	l := s.list()
	return l[len(l)-1]
}

const (
	mIdle, mWaiting, mJudging       = "idle", "waiting", "judging"
	mDelaying, mComposing, mPosting = "delaying", "composing", "posting"
	mLooking                        = "looking"
)

func newModel(here bool) *model {
	return &model{
		here: here, stage: mIdle, pending: set{}, answering: set{}, served: set{}, said: set{}, mentions: set{}, known: map[string]bool{}, hushed: set{},
		joined: set{}, again: set{}, stops: map[string]Stop{}, stoppedBy: map[string]bool{},
	}
}

// next goes on to the messages kept for later.
func (m *model) next() {
	m.pending, m.answering, m.served, m.joined = set{}, set{}, set{}, set{}
	m.capped, m.ordered, m.notice, m.line = false, false, false, NoStop
	switch {
	case len(m.mentions) > 0:
		answered := maps.Clone(m.mentions)
		if len(m.stops) > 0 {
			maps.DeleteFunc(answered, func(ts string, _ bool) bool { return m.stops[ts] == NoStop })
			m.line = m.stops[answered.newest()]
		}
		later := m.said.after(answered.newest())
		for ts := range m.said {
			if !later[ts] && !m.mentions[ts] {
				m.served.add(ts)
			}
		}
		m.said = later
		m.answering, m.stops = answered, map[string]Stop{}
		maps.DeleteFunc(m.mentions, func(ts string, _ bool) bool { return answered[ts] })
		m.stage = mComposing
	case len(m.said) > 0:
		m.pending, m.said = m.said, set{}
		m.stage = mWaiting
	default:
		m.stage = mIdle
	}
}

// quietTime starts the quiet time of all messages that want a judgment.
func (m *model) quietTime() {
	m.pending.add(m.said.list()...)
	m.said, m.capped, m.ordered, m.notice, m.stage = set{}, false, false, false, mWaiting
}

// requeueServed goes on to the messages that an answer would have served: none is left to answer.
func (m *model) requeueServed() {
	m.keepServed()
	m.next()
}

func (m *model) keepServed() {
	for ts := range m.served {
		if m.joined[ts] {
			m.mentions.add(ts)
			if m.again[ts] {
				m.stops[ts] = Stopped
			}
		} else if !m.mentions[ts] {
			m.said.add(ts)
		}
	}
	for ts := range m.mentions {
		delete(m.said, ts)
	}
}

// nextRound composes again: what the people who are answered have said meanwhile joins.
func (m *model) nextRound() {
	m.stage = mComposing
	for _, kept := range []set{m.said, m.mentions} {
		for ts := range kept {
			mine := false
			for answered := range m.answering {
				mine = mine || authorOf(ts) == authorOf(answered)
			}
			if !mine || m.stops[ts] != NoStop {
				continue
			}
			m.served.add(ts)
			if m.mentions[ts] {
				m.joined.add(ts)
			}
			delete(kept, ts)
		}
	}
}

// stop is a message that only says stop.
type stop struct {
	ts                string
	operator, mention bool
}

func (s stop) of(ts string) bool { return s.operator || authorOf(s.ts) == authorOf(ts) }

func (s stop) ofAny(all set) bool {
	for ts := range all {
		if s.of(ts) {
			return true
		}
	}
	return false
}

// worksFor says that the reply under way is for somebody who says stop.
func (m *model) worksFor(s stop) bool {
	replying := m.stage == mComposing || m.stage == mLooking || m.stage == mPosting
	return replying && (s.ofAny(m.answering) || len(m.answering) == 0 && s.ofAny(m.pending))
}

// obeys says that a stop is one, and not an ordinary message. asked are the mentions of its signal.
func (m *model) obeys(s stop, asked set) bool {
	if !m.here {
		return m.worksFor(s) && m.stage != mPosting
	}
	return s.mention || m.worksFor(s) || s.ofAny(asked) || s.ofAny(m.mentions)
}

func (m *model) stop(s stop) {
	ours, replying := m.worksFor(s), m.stage == mComposing || m.stage == mLooking || m.stage == mPosting
	if ours && m.line != NoStop {
		m.served.add(s.ts)
		m.joined.add(s.ts)
		m.again.add(s.ts)
		return
	}
	given := func(ts string, _ bool) bool { return s.of(ts) && m.stops[ts] == NoStop }
	for _, all := range []set{m.said, m.mentions, m.served, m.joined} {
		maps.DeleteFunc(all, given)
	}
	m.stops[s.ts] = Stopped
	switch {
	case m.stage == mPosting:
		for _, all := range []set{m.answering, m.pending} {
			maps.DeleteFunc(all, func(ts string, _ bool) bool { return s.of(ts) && ts != m.trigger })
		}
		if ours {
			m.stops[s.ts] = TooLate
		}
		m.mentions.add(s.ts)
		return
	case replying && !ours:
		m.mentions.add(s.ts)
		return
	}
	maps.DeleteFunc(m.answering, func(ts string, _ bool) bool { return s.of(ts) })
	maps.DeleteFunc(m.pending, func(ts string, _ bool) bool { return s.of(ts) })
	switch {
	case !m.here:
		delete(m.stops, s.ts)
		if len(m.pending)+len(m.said) > 0 {
			m.quietTime()
		} else {
			m.next()
		}
	case len(m.answering) > 0:
		m.mentions.add(s.ts)
		m.stage, m.capped, m.ordered, m.notice = mComposing, false, false, false
	default:
		m.keepServed()
		m.said.add(m.pending.list()...)
		m.mentions.add(s.ts)
		delete(m.said, s.ts)
		m.next()
	}
}

// unposted: the post has ended without a message, so that no stop was too late.
func (m *model) unposted() {
	for ts, line := range m.stops {
		if line != TooLate {
			continue
		}
		m.stops[ts] = Stopped
		for _, all := range []set{m.answering, m.pending} {
			maps.DeleteFunc(all, func(other string, _ bool) bool {
				return m.stoppedBy[ts] || authorOf(ts) == authorOf(other)
			})
		}
	}
}

func (m *model) changes(changes Changes) {
	said, mentions, edits := set{}, set{}, set{}
	var removals []string
	var stops []stop
	for _, c := range changes {
		if m.known[c.ID()] {
			continue
		}
		m.known[c.ID()] = true
		if c.Kind == Addressed {
			delete(m.hushed, c.TS)
		}
		if s := (stop{c.TS, c.By != "", c.Mention}); c.Stop && !m.hushed[c.TS] && m.obeys(s, mentions) {
			m.stoppedBy[c.TS] = s.operator
			for _, all := range []set{said, mentions, edits} {
				maps.DeleteFunc(all, func(ts string, _ bool) bool { return s.of(ts) })
			}
			stops = append(stops, s)
			continue
		}
		switch c.Kind {
		case Said:
			if !m.hushed[c.TS] {
				said.add(c.TS)
			}
		case Addressed:
			delete(m.hushed, c.TS)
			delete(said, c.TS)
			mentions.add(c.TS)
		case Edited:
			if !m.hushed[c.TS] && (m.pending[c.TS] || m.answering[c.TS] || m.said[c.TS] || m.mentions[c.TS]) {
				edits.add(c.TS)
			}
		case Deleted, Hushed:
			if c.Kind == Hushed {
				m.hushed.add(c.TS)
			}
			for _, s := range []set{said, mentions, edits} {
				delete(s, c.TS)
			}
			stops = slices.DeleteFunc(stops, func(s stop) bool { return s.ts == c.TS })
			removals = append(removals, c.TS)
		}
	}
	for ts := range said {
		delete(edits, ts)
	}
	for _, ts := range removals {
		m.remove(ts)
	}
	for _, s := range stops {
		m.stop(s)
	}
	if len(said)+len(mentions)+len(edits) == 0 {
		return
	}
	switch busy := m.stage == mPosting || len(m.answering) > 0; {
	case len(mentions) > 0 && !m.here:
		said.add(edits.list()...)
		served := func(s set) {
			for ts := range s {
				for mention := range mentions {
					if ts == mention || authorOf(ts) == authorOf(mention) && chat.Time(ts).Before(chat.Time(mention)) {
						delete(s, ts)
					}
				}
			}
		}
		served(said)
		served(m.said)
		if m.stage == mPosting {
			m.said.add(said.list()...)
			return
		}
		served(m.pending)
		m.pending.add(said.list()...)
		switch {
		case len(m.pending)+len(m.said) == 0:
			m.next()
		case m.ordered && len(m.pending) > 0:
			m.stage = mComposing
		default:
			m.quietTime()
		}
	case busy, m.capped && len(mentions) == 0:
		for _, all := range []set{mentions, said, edits} {
			for ts := range all {
				delete(m.stops, ts)
			}
		}
		m.mentions.add(mentions.list()...)
		m.said.add(said.list()...)
		m.said.add(edits.list()...)
		for ts := range m.mentions {
			delete(m.said, ts)
		}
	case len(mentions) > 0:
		m.said.add(said.list()...)
		m.said.add(m.pending.list()...)
		m.said.add(edits.list()...)
		m.mentions = mentions
		m.next()
	default:
		m.pending.add(said.list()...)
		m.pending.add(edits.list()...)
		m.quietTime()
	}
}

func (m *model) remove(ts string) {
	delete(m.said, ts)
	delete(m.mentions, ts)
	delete(m.served, ts)
	delete(m.joined, ts)
	delete(m.again, ts)
	delete(m.stops, ts)
	switch {
	case m.stage == mPosting:
		if ts != m.trigger {
			delete(m.answering, ts)
			delete(m.pending, ts)
		}
	case m.answering[ts]:
		delete(m.answering, ts)
		m.notice, m.stage = false, mComposing
		if len(m.answering) == 0 {
			m.requeueServed()
		}
	case m.pending[ts]:
		delete(m.pending, ts)
		switch {
		case len(m.pending) == 0:
			m.next()
		case m.ordered: // the others are part of the order
			m.stage = mComposing
		case m.stage != mWaiting:
			m.quietTime()
		}
	}
}

// tick is called when something is due. late says that MaxWait is over.
func (m *model) tick(late bool) {
	switch m.stage {
	case mWaiting:
		m.stage, m.capped = mJudging, late
	case mDelaying:
		m.stage = mComposing
	}
}

// judged ends a judgment. late says that MaxWait is over.
func (m *model) judged(yes, gone, delayed, late bool) {
	m.capped = m.capped || yes && late
	switch {
	case gone:
		m.dropTrigger(m.replyTo())
	case !yes:
		m.next()
	case delayed:
		m.stage = mDelaying
	default:
		m.stage = mComposing
	}
}

func (m *model) composed(r Result, steps ...Step) {
	switch {
	case r == Looking && len(steps) > 0:
		m.stage, m.left = mLooking, set{}
		for _, s := range steps {
			m.left.add(s.ID)
		}
	case r == Looking:
		m.nextRound()
	case r == Done:
		m.stage, m.trigger = mPosting, m.replyTo()
	case r == Failed && len(m.answering) > 0 && !m.notice && m.line == NoStop:
		m.notice = true
	case r == Gone:
		m.dropTrigger(m.replyTo())
	case r == Outdated:
		m.restart()
	default:
		m.next()
	}
}

func (m *model) looked(step string) {
	if delete(m.left, step); len(m.left) == 0 {
		m.nextRound()
	}
}

func (m *model) posted(r Result) {
	switch r {
	case Failed, Silenced:
		m.unposted()
		m.next()
	case Gone:
		m.dropTrigger(m.trigger)
	case Outdated:
		if m.hushed[m.trigger] || m.known[Change{TS: m.trigger, Kind: Deleted}.ID()] {
			m.dropTrigger(m.trigger)
			return
		}
		m.restart()
	default:
		m.next()
	}
}

func (m *model) replyTo() string {
	if len(m.answering) > 0 {
		return m.answering.newest()
	}
	return m.pending.newest()
}

func (m *model) dropTrigger(ts string) {
	for _, s := range []set{m.pending, m.answering, m.said, m.mentions} {
		delete(s, ts)
	}
	delete(m.stops, ts)
	m.restart()
}

func (m *model) restart() {
	m.unposted()
	switch {
	case len(m.answering) > 0:
		m.stage, m.notice, m.capped = mComposing, false, false
	case len(m.pending) == 0, len(m.mentions) > 0:
		m.requeueServed()
	case m.ordered:
		m.stage = mComposing
	default:
		m.quietTime()
	}
}

func (m *model) answerable() bool {
	return m.stage == mWaiting || m.stage == mJudging || m.stage == mDelaying
}

func (m *model) answerNow() {
	if m.answerable() {
		m.stage, m.capped, m.ordered = mComposing, true, true
	}
}

func (m *model) drop() {
	if m.answerable() || m.stage == mComposing || m.stage == mLooking {
		m.next()
	}
}

// diff describes the first difference between a state and the model, or "".
func (m *model) diff(s *State) string {
	stage := string(s.Phase)
	if s.Phase == Replying {
		stage = mComposing
		switch {
		case s.Posting:
			stage = mPosting
		case len(s.Steps) > 0:
			stage = mLooking
		}
	} else if s.Posting {
		return "posting while " + stage
	}
	if stage != m.stage {
		return fmt.Sprintf("phase is %s, want %s", stage, m.stage)
	}
	said, mentions, stops := set{}, set{}, map[string]Stop{}
	for _, it := range s.Later {
		if isStop(it) {
			stops[it.TS] = it.Stop
		}
		if it.Addressed {
			mentions.add(it.TS)
		} else {
			said.add(it.TS)
		}
	}
	for _, l := range []struct {
		name      string
		got, want set
	}{
		{"pending", tsOf(s.Pending), m.pending}, {"answering", tsOf(s.Answering), m.answering}, {"served", tsOf(s.Served), m.served},
		{"kept for later, plain", said, m.said}, {"kept for later, addressed", mentions, m.mentions},
	} {
		if !maps.Equal(l.got, l.want) {
			return fmt.Sprintf("%s: %v, want %v", l.name, l.got.list(), l.want.list())
		}
	}
	switch {
	case !maps.Equal(stops, m.stops):
		return fmt.Sprintf("stops kept for later: %v, want %v", stops, m.stops)
	case s.trigger().Stop != m.line:
		return fmt.Sprintf("the line is %q, want %q", s.trigger().Stop, m.line)
	case s.Notice != m.notice:
		return fmt.Sprintf("notice is %v, want %v", s.Notice, m.notice)
	case s.Ordered != m.ordered:
		return fmt.Sprintf("ordered is %v, want %v", s.Ordered, m.ordered)
	case (s.Phase == Judging || s.Phase == Replying) && len(m.answering) == 0 && s.Capped != m.capped:
		return fmt.Sprintf("capped is %v, want %v", s.Capped, m.capped)
	}
	return ""
}

func tsOf(items []Item) set {
	s := set{}
	for _, it := range items {
		s.add(it.TS)
	}
	return s
}

// maxWaitOf is when MaxWait is over.
func maxWaitOf(s *State) time.Time { return s.FirstAt.Add(seconds(s.Policy.MaxWait)) }
