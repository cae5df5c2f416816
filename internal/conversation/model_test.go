package conversation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"myao/internal/chat"
)

// model is SYSTEM.md §4 once more, told in sets of messages and without a word
// of time, epochs or effects: what must be pending, answered and remembered.
// FuzzState holds the state machine against it.
type model struct {
	here  bool // addressed messages are answered in this conversation
	stage string
	// pending wait for a judgment; answering are the addressed ones being answered.
	pending, answering set
	// served were said before what is being answered.
	served set
	// said and mentions came while they could not be attended to.
	said, mentions set
	// firm: neither the judgment nor the reply is withdrawn by what is merely said.
	firm bool
	// ordered is set while an operator's order is carried out.
	ordered bool
	notice  bool
	// trigger is the message of the post under way.
	trigger string
	known   map[string]bool // change ids
	// hushed are those that nobody wants answered.
	hushed set
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

// after is what was said after a ts.
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
	mIdle, mWaiting, mJudging  = "idle", "waiting", "judging"
	mDelaying, mCompos, mPosts = "delaying", "composing", "posting"
)

func newModel(here bool) *model {
	return &model{
		here: here, stage: mIdle, pending: set{}, answering: set{}, served: set{}, said: set{}, mentions: set{}, known: map[string]bool{}, hushed: set{},
	}
}

// turn goes on to what came meanwhile.
func (m *model) turn() {
	m.pending, m.answering, m.served = set{}, set{}, set{}
	m.firm, m.ordered, m.notice = false, false, false
	switch {
	case len(m.mentions) > 0:
		later := m.said.after(m.mentions.newest())
		for ts := range m.said {
			if !later[ts] && !m.mentions[ts] {
				m.served.add(ts)
			}
		}
		m.said = later
		m.answering, m.mentions = m.mentions, set{}
		m.stage = mCompos
	case len(m.said) > 0:
		m.pending, m.said = m.said, set{}
		m.stage = mWaiting
	default:
		m.stage = mIdle
	}
}

// again lets what is pending, and what came meanwhile, wait from the start.
func (m *model) again() {
	m.pending.add(m.said.list()...)
	m.said, m.firm, m.ordered, m.notice, m.stage = set{}, false, false, false, mWaiting
}

// restored is what an answer would have served, of which nothing is left to answer.
func (m *model) restored() {
	m.said.add(m.served.list()...)
	m.turn()
}

func (m *model) changes(changes Changes) {
	said, mentions, edits := set{}, set{}, set{}
	var removals []string
	for _, c := range changes {
		if m.known[c.ID()] {
			continue
		}
		m.known[c.ID()] = true
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
			removals = append(removals, c.TS)
		}
	}
	for ts := range said {
		delete(edits, ts)
	}
	for _, ts := range removals {
		m.remove(ts)
	}
	if len(said)+len(mentions)+len(edits) == 0 {
		return
	}
	switch busy := m.stage == mPosts || len(m.answering) > 0; {
	case len(mentions) > 0 && !m.here:
		last := mentions.newest()
		m.said = m.said.after(last)
		m.said.add(said.after(last).list()...)
		if m.stage != mPosts {
			m.said.add(m.pending.after(last).list()...)
			m.turn()
		}
	case busy, m.firm && len(mentions) == 0:
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
		m.turn()
	default:
		m.pending.add(said.list()...)
		m.pending.add(edits.list()...)
		m.again()
	}
}

func (m *model) remove(ts string) {
	delete(m.said, ts)
	delete(m.mentions, ts)
	delete(m.served, ts)
	switch {
	case m.stage == mPosts:
		if ts != m.trigger {
			delete(m.answering, ts)
			delete(m.pending, ts)
		}
	case m.answering[ts]:
		delete(m.answering, ts)
		m.notice = false
		if len(m.answering) == 0 {
			m.restored()
		}
	case m.pending[ts]:
		delete(m.pending, ts)
		switch {
		case len(m.pending) == 0:
			m.turn()
		case m.ordered: // of the others, too
			m.stage = mCompos
		case m.stage != mWaiting:
			m.again()
		}
	}
}

// tick is given when something is due; late when MaxWait is over.
func (m *model) tick(late bool) {
	switch m.stage {
	case mWaiting:
		m.stage, m.firm = mJudging, late
	case mDelaying:
		m.stage = mCompos
	}
}

// judged is given late when MaxWait is over.
func (m *model) judged(yes, gone, delayed, late bool) {
	m.firm = m.firm || yes && late
	switch {
	case gone:
		m.gone(m.replyTo())
	case !yes:
		m.turn()
	case delayed:
		m.stage = mDelaying
	default:
		m.stage = mCompos
	}
}

func (m *model) composed(r Result) {
	switch {
	case r == Done:
		m.stage, m.trigger = mPosts, m.replyTo()
	case r == Failed && len(m.answering) > 0 && !m.notice:
		m.notice = true
	case r == Gone:
		m.gone(m.replyTo())
	case r == Outdated:
		m.anew()
	default:
		m.turn()
	}
}

func (m *model) posted(r Result) {
	switch r {
	case Gone:
		m.gone(m.trigger)
	case Outdated:
		if m.hushed[m.trigger] || m.known[Change{TS: m.trigger, Kind: Deleted}.ID()] {
			m.gone(m.trigger)
			return
		}
		m.anew()
	default:
		m.turn()
	}
}

func (m *model) replyTo() string {
	if len(m.answering) > 0 {
		return m.answering.newest()
	}
	return m.pending.newest()
}

func (m *model) gone(ts string) {
	for _, s := range []set{m.pending, m.answering, m.said, m.mentions} {
		delete(s, ts)
	}
	m.anew()
}

func (m *model) anew() {
	switch {
	case len(m.answering) > 0:
		m.stage, m.notice, m.firm = mCompos, false, false
	case len(m.pending) == 0, len(m.mentions) > 0:
		m.restored()
	case m.ordered:
		m.stage = mCompos
	default:
		m.again()
	}
}

func (m *model) waits() bool {
	return m.stage == mWaiting || m.stage == mJudging || m.stage == mDelaying
}

func (m *model) answerNow() {
	if m.waits() {
		m.stage, m.firm, m.ordered = mCompos, true, true
	}
}

func (m *model) drop() {
	if m.waits() || m.stage == mCompos {
		m.turn()
	}
}

// differs says where a state is not what the model wants, or "".
func (m *model) differs(s *State) string {
	stage := string(s.Phase)
	if s.Phase == Replying {
		stage = mCompos
		if s.Posting {
			stage = mPosts
		}
	} else if s.Posting {
		return "posting while " + stage
	}
	if stage != m.stage {
		return fmt.Sprintf("stands at %s, want %s", stage, m.stage)
	}
	said, mentions := set{}, set{}
	for _, it := range s.Later {
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
		{"pending", named(s.Pending), m.pending}, {"answering", named(s.Answering), m.answering}, {"served", named(s.Served), m.served},
		{"remembered as said", said, m.said}, {"remembered as addressed", mentions, m.mentions},
	} {
		if !maps.Equal(l.got, l.want) {
			return fmt.Sprintf("%s: %v, want %v", l.name, l.got.list(), l.want.list())
		}
	}
	switch {
	case s.Notice != m.notice:
		return fmt.Sprintf("notice is %v, want %v", s.Notice, m.notice)
	case s.Ordered != m.ordered:
		return fmt.Sprintf("ordered is %v, want %v", s.Ordered, m.ordered)
	case (s.Phase == Judging || s.Phase == Replying) && len(m.answering) == 0 && s.Capped != m.firm:
		return fmt.Sprintf("capped is %v, want %v", s.Capped, m.firm)
	}
	return ""
}

func named(items []Item) set {
	s := set{}
	for _, it := range items {
		s.add(it.TS)
	}
	return s
}

// limit is when MaxWait is over.
func limitOf(s *State) time.Time { return s.FirstAt.Add(seconds(s.Policy.MaxWait)) }
