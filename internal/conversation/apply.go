package conversation

import (
	"time"
)

// Apply handles an event and returns the effects to execute, in order. The end of work that
// was cancelled, and an order that does not apply, have no effect.
func (s *State) Apply(e Event, now time.Time) []Effect {
	effects := s.apply(e, now)
	if s.Phase != Replying && len(s.Untold) > 0 { // the reply that it waited for was withdrawn
		effects = append(effects, s.tellNext(now)...)
	}
	return effects
}

func (s *State) apply(e Event, now time.Time) []Effect {
	switch e := e.(type) {
	case Changes:
		return s.receive(e, now)
	case Tick:
		return s.tick(now)
	case Judged:
		if s.Phase == Judging && e.Epoch == s.Epoch {
			return s.judged(e, now)
		}
	case Composed:
		if s.Phase == Replying && !s.Posting && len(s.Steps) == 0 && e.Epoch == s.Epoch && e.Round == s.Round {
			return s.composed(e, now)
		}
	case Looked:
		if e.Epoch == s.Epoch {
			return s.looked(e.Step)
		}
	case Posted:
		if s.Phase == Replying && s.Posting && e.Epoch == s.Epoch {
			effects := append(s.open(e.Opened), s.addPromises(e.Promised)...)
			return append(effects, s.posted(e.Result, now)...)
		}
	case Checked:
		if s.Phase == Judging && e.Epoch == s.Epoch {
			return s.checked(e, now)
		}
	case PromiseEnded:
		return s.promiseEnded(e)
	case Unsilenced:
		s.HeldUntil = time.Time{}
	case Acted:
		return s.acted(e, now)
	case AnswerNow:
		if s.Answerable() {
			return s.answerNow(e.By, now)
		}
	case Drop:
		if s.Droppable() {
			return s.drop(e, now)
		}
	}
	return nil
}
