package conversation

import (
	"time"
)

// Answerable reports whether AnswerNow applies: a decision is pending, or its reply delayed.
func (s *State) Answerable() bool {
	return s.Phase == Waiting || s.Phase == Judging || s.Phase == Delaying
}

// Droppable reports whether Drop applies: as Answerable, or a reply is not posted yet.
func (s *State) Droppable() bool {
	return s.Answerable() || (s.Phase == Replying && !s.Posting)
}

// drop gives up what is pending. A promise under way is cancelled by an order to drop it, and waits if the
// order is to be silent.
func (s *State) drop(e Drop, now time.Time) []Effect {
	effects := s.withdraw(Dropped, e.By)
	switch {
	case s.currentPromise() != nil && e.Silence:
		return append(effects, s.hold(now.Add(recheck), now)...)
	case s.currentPromise() != nil:
		effects = append(effects, s.endCurrentPromise(PromiseCancelled, e.By)...)
	}
	return append(effects, s.next(now)...)
}

// answerNow executes a decision that was made already, or replies without one.
func (s *State) answerNow(by string, now time.Time) []Effect {
	if s.Phase == Delaying {
		s.Ordered, s.Capped = true, true
		return []Effect{s.composeJudged(now)}
	}
	effects := s.withdraw(Overruled, by)
	return append(effects, s.composeOrdered(now))
}

// composeOrdered replies to what is pending without a judgment. New messages that do not
// address the bot no longer withdraw the reply.
func (s *State) composeOrdered(now time.Time) Effect {
	s.Ordered, s.Capped = true, true
	return s.compose(now)
}
