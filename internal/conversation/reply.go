package conversation

import (
	"slices"
	"time"
)

// composeJudged composes a judged reply, under the epoch of its judgment.
func (s *State) composeJudged(now time.Time) Effect {
	s.enter(Replying, now)
	return s.composeEffect()
}

// composeAnswer answers the addressed messages among all, but stops first. The answer serves the
// messages before the newest of those; the others wait in Later.
func (s *State) composeAnswer(all []Item, now time.Time) []Effect {
	answered := isAddressed
	if slices.ContainsFunc(all, isStop) {
		answered = isStop
	}
	s.Occasion = Occasion{}
	s.Answering = slices.DeleteFunc(slices.Clone(all), func(it Item) bool { return !answered(it) })
	last := newest(s.Answering).TS
	s.Served = unaddressedUntil(all, last)
	s.Later = slices.DeleteFunc(all, func(it Item) bool {
		return answered(it) || !it.Addressed &&
			compareTS(it, last) <= 0
	})
	return []Effect{s.compose(now)}
}

// compose begins a new epoch and replies at once, without a judgment: to the addressed
// messages or, on an operator's order, to the pending ones.
func (s *State) compose(now time.Time) Effect {
	if len(s.Answering) > 0 {
		s.Pending, s.FirstAt, s.Verdict = nil, time.Time{}, nil
	}
	s.Epoch++
	s.enter(Replying, now)
	return s.composeEffect()
}

func (s *State) composeEffect() Effect {
	e := Compose{About: s.about(), Notice: s.isNotice(), Stop: s.trigger().Stop, Ordered: s.Ordered, Round: s.Round}
	if added := newest(s.Served).TS; e.Addressed && !e.Notice && compareTS(s.trigger(), added) < 0 {
		e.Until = added
	}
	if !e.Addressed && !s.Capped && s.Conversation.Thread == "" {
		e.Oldest = s.Pending[0].TS
	}
	return e
}

func (s *State) lookEffect() Effect {
	return Look{s.about(), s.Round}
}

func (s *State) postEffect() Effect {
	return Post{s.about(), s.isNotice()}
}

// isNotice reports whether the reply is a note that no model writes.
func (s *State) isNotice() bool { return s.Notice || isStop(s.trigger()) }

func (s *State) settleEffect(o Outcome, by string) Effect {
	return Settle{s.about(), o, by}
}

// about is what the work under way is about.
func (s *State) about() About {
	return About{s.Epoch, s.trigger(), s.Occasion, len(s.Answering) > 0}
}

// trigger is the newest of the messages that the current decision is about.
func (s *State) trigger() Item {
	if len(s.Answering) > 0 {
		return newest(s.Answering)
	}
	return newest(s.Pending)
}

func (s *State) composed(e Composed, now time.Time) []Effect {
	switch r := e.Result; {
	case r == Done:
		s.Posting = true
		return []Effect{s.postEffect()}
	case r == Looking && len(e.Steps) > 0:
		s.Steps = slices.Clone(e.Steps)
		return []Effect{s.lookEffect()}
	case r == Looking:
		return s.nextRound()
	case r == Failed && len(s.Answering) > 0 && !s.isNotice():
		// Somebody who addressed the bot never meets silence by accident.
		s.Notice, s.Round = true, 0
		return []Effect{s.composeEffect()}
	case r == Failed:
		return s.fail(now)
	case r == Gone:
		effects := []Effect{s.settleEffect(Withdrawn, s.trigger().TS)}
		return append(effects, s.dropTrigger(now)...)
	case r == Outdated:
		effects := []Effect{s.settleEffect(Withdrawn, e.By)}
		return append(effects, s.restart(now)...)
	case s.currentPromise() != nil: // silenced
		return s.hold(now.Add(recheck), now)
	default:
		return s.next(now)
	}
}

// looked marks a step as done, and begins the next round after the last one.
func (s *State) looked(step string) []Effect {
	left := false
	for i := range s.Steps {
		s.Steps[i].Done = s.Steps[i].Done || s.Steps[i].ID == step
		left = left || !s.Steps[i].Done
	}
	if left || len(s.Steps) == 0 {
		return nil
	}
	return s.nextRound()
}

// nextRound composes again with what was looked up. What the people who are answered have said
// meanwhile joins the reply: its context is read afresh.
func (s *State) nextRound() []Effect {
	s.Steps = nil
	s.Round++
	var asking []string
	if s.Occasion == (Occasion{}) { // what is said to an occasion gets an answer of its own
		asking = authors(s.Answering)
	}
	joins := func(it Item) bool { return it.Stop == NoStop && slices.Contains(asking, it.Author) }
	for _, it := range s.Later {
		if joins(it) {
			s.Served = put(s.Served, it)
		}
	}
	s.Later = slices.DeleteFunc(s.Later, joins)
	return []Effect{s.composeEffect()}
}

func (s *State) posted(r Result, now time.Time) []Effect {
	switch r {
	case Gone:
		return s.dropTrigger(now)
	case Outdated:
		if ts := s.trigger().TS; s.isDeleted(ts) || s.isHushed(ts) { // during the post
			return s.dropTrigger(now)
		}
		return s.restart(now)
	case Failed:
		effects := []Effect{s.settleEffect(OutcomeFailed, "")}
		effects = append(effects, s.endCurrentPromise(PromiseFailed, "")...)
		s.notPosted()
		return append(effects, s.next(now)...)
	case Silenced:
		s.notPosted()
		if s.currentPromise() != nil {
			return s.hold(now.Add(recheck), now)
		}
	}
	effects := s.endCurrentPromise(PromiseKept, "")
	return append(effects, s.next(now)...)
}
