package conversation

import (
	"time"

	"myao/internal/chat"
)

// startQuietTime starts the quiet time again for everything that wants a judgment. It ends
// at most MaxWait after the first pending message.
func (s *State) startQuietTime(now time.Time) {
	s.Pending, s.Later = merge(s.Pending, s.Later), nil
	if s.FirstAt.IsZero() {
		s.FirstAt = now
	}
	for _, it := range s.Pending { // those from Later may be older than now
		if !it.At.IsZero() && it.At.Before(s.FirstAt) {
			s.FirstAt = it.At
		}
	}
	s.DueAt = now.Add(s.quietTime(newest(s.Pending)))
	if limit := s.maxWaitAt(); s.DueAt.After(limit) {
		s.DueAt = limit
	}
	s.enter(Waiting, now)
}

// maxWaitAt is when the pending messages are judged, however busy the conversation is.
func (s *State) maxWaitAt() time.Time { return s.FirstAt.Add(seconds(s.Policy.MaxWait)) }

func (s *State) tick(now time.Time) []Effect {
	effects := s.lapse(now)
	switch {
	case s.Phase == Waiting && !now.Before(s.DueAt):
		s.Epoch++
		s.Capped = !now.Before(s.maxWaitAt())
		s.enter(Judging, now)
		effects = append(effects, Judge{s.about()})
	case s.Phase == Delaying && !now.Before(s.DueAt):
		effects = append(effects, s.composeJudged(now))
	}
	return append(effects, s.turnToDuePromise(now)...)
}

func (s *State) judged(e Judged, now time.Time) []Effect {
	if e.Failed {
		return s.fail(now)
	}
	s.Verdict = &e.Verdict
	if e.Gone {
		return s.dropTrigger(now)
	}
	if !e.Verdict.ShouldRespond {
		return s.next(now)
	}
	s.Capped = s.Capped || !now.Before(s.maxWaitAt())
	if delay := s.delay(e.Verdict); delay > 0 {
		s.DueAt = now.Add(delay)
		s.enter(Delaying, now)
		return nil
	}
	return []Effect{s.composeJudged(now)}
}

// delay is how long a reply is delayed after a yes: what the model asked for, at most
// MaxDelay, and zero once MaxWait is over.
func (s *State) delay(v chat.Verdict) time.Duration {
	if v.DelaySeconds == nil || s.Capped {
		return 0
	}
	return seconds(min(*v.DelaySeconds, s.Policy.MaxDelay))
}
