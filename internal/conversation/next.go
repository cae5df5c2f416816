package conversation

import (
	"slices"
	"time"
)

// fail settles a decision as failed. It creates the effect before next begins a new epoch.
func (s *State) fail(now time.Time) []Effect {
	effects := []Effect{s.settleEffect(OutcomeFailed, "")}
	effects = append(effects, s.endCurrentPromise(PromiseFailed, "")...)
	return append(effects, s.next(now)...)
}

// dropTrigger removes the trigger, which an activity found deleted before the deletion was
// signalled, and restarts with the other messages.
func (s *State) dropTrigger(now time.Time) []Effect {
	trigger := s.trigger().TS
	effects := s.endCurrentPromise(PromiseWithdrawn, trigger)
	s.Answering, s.Pending, s.Later = without(s.Answering, trigger), without(s.Pending, trigger),
		without(s.Later, trigger)
	return append(effects, s.restart(now)...)
}

// restart begins a new decision about the same messages: the reply must not be posted as it is.
func (s *State) restart(now time.Time) []Effect {
	ordered := s.Ordered
	s.notPosted()
	s.Posting, s.Notice, s.Capped, s.Ordered = false, false, false, false
	switch {
	case len(s.Answering) > 0:
		return []Effect{s.compose(now)}
	case len(s.Pending) == 0, slices.ContainsFunc(s.Later, isAddressed):
		s.requeueServed()
		return s.next(now)
	case ordered:
		return []Effect{s.composeOrdered(now)}
	default:
		s.startQuietTime(now)
		return nil
	}
}

// next ends the current decision and turns to Later: one reply to all of it if somebody
// there addressed the bot, else the quiet time. Where Later is empty, the conversation is idle.
func (s *State) next(now time.Time) []Effect {
	s.Pending, s.FirstAt = nil, time.Time{}
	s.Work = Work{}
	if len(s.Untold) > 0 {
		return []Effect{s.tell(now)}
	}
	later := s.Later
	s.Later = nil
	switch {
	case slices.ContainsFunc(later, isAddressed):
		return s.composeAnswer(later, now)
	case len(later) > 0:
		s.Pending = later
		s.startQuietTime(now)
	default:
		s.enter(Idle, now)
	}
	return nil
}

// enter begins a phase. Only Waiting and Delaying have a deadline.
func (s *State) enter(p Phase, now time.Time) {
	s.Phase, s.Since = p, now
	s.Steps, s.Round = nil, 0
	if p != Waiting && p != Delaying {
		s.DueAt = time.Time{}
	}
}
