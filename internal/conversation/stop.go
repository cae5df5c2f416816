package conversation

import (
	"slices"
	"time"
)

// Stop is what one line tells whoever said stop.
type Stop string

const (
	NoStop  Stop = ""
	Stopped Stop = "stopped"  // nothing will be posted
	TooLate Stop = "too_late" // the post was under way already
)

// obeys reports whether a stop applies: otherwise its message is an ordinary one. A mention always
// does where it is answered. A bare word applies to work for its author or, from an operator, for
// anybody. asked are messages of the same signal that address the bot.
func (s *State) obeys(c Change, asked []Item) bool {
	it := c.stopItem(time.Time{})
	switch {
	case !s.Conversation.AnswersHere():
		return s.Phase == Replying && !s.Posting && s.worksFor(it)
	case c.Mention, s.Phase == Replying && s.worksFor(it):
		return true
	}
	return slices.ContainsFunc(slices.Concat(asked, s.Later), func(other Item) bool {
		return other.Addressed &&
			it.stops(other)
	})
}

// worksFor reports whether the reply under way is for the author of a stop, or that is an operator.
func (s *State) worksFor(stop Item) bool {
	served := s.Answering
	if len(served) == 0 {
		served = s.Pending
	}
	return slices.ContainsFunc(served, stop.stops)
}

// stops reports whether an item is given up on a stop: all of an operator's stop, otherwise those of
// the same author.
func (it Item) stops(other Item) bool {
	return it.Operator || it.Author != "" && it.Author == other.Author
}

func (c Change) stopItem(now time.Time) Item {
	it := c.item(now)
	it.Addressed, it.Stop, it.Operator = true, Stopped, c.By != ""
	return it
}

// stop gives up what is done for the author of a stop, and answers it in one line. A post under way
// goes on, and the line says that it was too late. At a channel's top level, where nobody knows of
// a judged reply yet, there is no line.
func (s *State) stop(it Item, now time.Time) []Effect {
	here := s.Conversation.AnswersHere()
	ours := s.Phase == Replying && s.worksFor(it)
	if ours && isStop(s.trigger()) { // a line about an earlier stop is on its way
		s.Served = put(s.Served, it)
		return nil
	}
	s.Later, s.Served = withoutStopped(s.Later, it), withoutStopped(s.Served, it)
	switch {
	case s.Posting:
		trigger := s.trigger().TS // the result of the post is about it
		kept := func(items []Item) []Item {
			return slices.DeleteFunc(items, func(other Item) bool { return it.stops(other) && other.TS != trigger })
		}
		s.Answering, s.Pending = kept(s.Answering), kept(s.Pending)
		if ours {
			it.Stop = TooLate
		}
		s.Later = put(s.Later, it)
		return nil
	case s.Phase == Replying && !ours:
		s.Later = put(s.Later, it)
		return nil
	}
	effects := s.withdraw(Dropped, it.by())
	if p := s.currentPromise(); p != nil && it.stops(Item{Author: p.Author}) {
		effects = append(effects, s.endCurrentPromise(PromiseCancelled, it.by())...)
	}
	s.Answering, s.Pending = withoutStopped(s.Answering, it), withoutStopped(s.Pending, it)
	switch {
	case here && s.Phase == Replying && len(s.Answering) > 0: // others are still to be answered
		s.Later = put(s.Later, it)
		return append(effects, s.compose(now))
	case here:
		return append(effects, s.composeAnswer(put(merge(merge(s.Pending, s.Served), s.Later), it), now)...)
	case len(s.Pending)+len(s.Later) > 0:
		s.startQuietTime(now)
		return effects
	}
	return append(effects, s.next(now)...)
}

// by names the author of a stop.
func (it Item) by() string { return "slack:" + it.Author }

// withoutStopped leaves out what is given up on a stop, but no other stop.
func withoutStopped(items []Item, stop Item) []Item {
	return slices.DeleteFunc(items, func(it Item) bool { return !isStop(it) && stop.stops(it) })
}

// notPosted is called when a post has ended without a message in Slack: a stop that seemed too late
// was not, and what it was about is not begun again.
func (s *State) notPosted() {
	for i, it := range s.Later {
		if it.Stop != TooLate {
			continue
		}
		s.Later[i].Stop = Stopped
		s.Answering, s.Pending = withoutStopped(s.Answering, it), withoutStopped(s.Pending, it)
	}
}
