package conversation

import (
	"slices"
	"time"

	"myao/internal/chat"
)

// Apply takes in an event and returns what is to be done about it, in order.
func (s *State) Apply(e Event, now time.Time) []Effect {
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
		if s.Phase == Replying && !s.Posting && e.Epoch == s.Epoch {
			return s.composed(e, now)
		}
	case Posted:
		if s.Phase == Replying && s.Posting && e.Epoch == s.Epoch {
			return s.posted(e.Result, now)
		}
	case AnswerNow:
		if s.Answerable() {
			return s.answerNow(e.By, now)
		}
	case Drop:
		if s.Answerable() || (s.Phase == Replying && !s.Posting) {
			effects := s.callBack(Dropped, e.By)
			return append(effects, s.next(now)...)
		}
	}
	return nil
}

// answerNow carries out a decision that has been taken, or else answers without one.
func (s *State) answerNow(by string, now time.Time) []Effect {
	if s.Phase == Delaying {
		s.Ordered, s.Capped = true, true
		return []Effect{s.reply(now)}
	}
	effects := s.callBack(Overruled, by)
	return append(effects, s.obey(now))
}

// obey answers what is pending without a judgment, whatever is said meanwhile.
func (s *State) obey(now time.Time) Effect {
	s.Ordered, s.Capped = true, true
	return s.compose(now)
}

// Answerable reports whether something waits that could be answered or dropped.
func (s *State) Answerable() bool {
	return s.Phase == Waiting || s.Phase == Judging || s.Phase == Delaying
}

// news sorts what came together: what is new, and what became of what is known.
type news struct {
	said, addressed []Item
	edited          []Item // of messages that are being waited on
	removed         []removal
}

// removal is a message that wants nothing any more, and what that makes of a decision
// that was about it.
type removal struct {
	ts  string
	why Outcome
	by  string
}

func (s *State) sort(changes Changes, now time.Time) news {
	var n news
	for _, c := range changes {
		if s.seen(c.ID()) {
			continue
		}
		it := c.item(now)
		switch c.Kind {
		case Said:
			if !s.hushed(c.TS) { // or it was heard of late
				n.said = put(n.said, it)
			}
		case Addressed:
			n.said = without(n.said, c.TS)
			n.addressed = put(n.addressed, it)
		case Edited:
			switch {
			case s.hushed(c.TS): // and stays so: only an edit that adds a mention asks again
			case has(n.said, c.TS):
				n.said = put(n.said, it)
			case has(n.addressed, c.TS):
				n.addressed = put(n.addressed, it)
			case has(s.Pending, c.TS), has(s.Answering, c.TS), has(s.Later, c.TS):
				n.edited = put(n.edited, it)
			}
		case Deleted:
			n.remove(removal{c.TS, Withdrawn, c.TS})
		case Hushed:
			n.remove(removal{c.TS, Dropped, c.By})
		}
	}
	return n
}

func (n *news) remove(r removal) {
	n.said, n.addressed, n.edited = without(n.said, r.ts), without(n.addressed, r.ts), without(n.edited, r.ts)
	n.removed = append(n.removed, r)
}

func (s *State) receive(changes Changes, now time.Time) []Effect {
	n := s.sort(changes, now)
	var effects []Effect
	for _, r := range n.removed {
		effects = append(effects, s.forget(r, now)...)
	}
	if len(n.said)+len(n.addressed)+len(n.edited) == 0 {
		return effects
	}
	switch {
	case len(n.addressed) > 0 && !s.Conversation.AnswersHere():
		return append(effects, s.standBack(n, now)...)
	case s.Phase == Replying && (s.Posting || len(s.Answering) > 0),
		s.Capped && len(n.addressed) == 0:
		s.remember(n)
		return effects
	case len(n.addressed) > 0:
		// What was said after the mention is not withdrawn by it, though the answer may serve it, too:
		// that mention may yet be deleted.
		effects = append(effects, s.callBack(Withdrawn, newest(n.addressed).TS)...)
		return append(effects, s.answer(putAll(s.Pending, slices.Concat(s.Later, n.said, n.edited, n.addressed)), now))
	default:
		came := putAll(n.said, n.edited)
		effects = append(effects, s.callBack(Withdrawn, newest(came).TS)...)
		s.Pending = putAll(s.Pending, came)
		s.wait(now)
		return effects
	}
}

// standBack withdraws what waits at the top level of a channel, because somebody
// there has addressed the bot and gets the answer in a thread; what was said
// after that begins anew. A post is not called back.
func (s *State) standBack(n news, now time.Time) []Effect {
	last := newest(n.addressed).TS
	s.Later = putAll(after(s.Later, last), after(n.said, last))
	if s.Posting {
		return nil
	}
	// The mention may be heard of late, when what was said after it waits already.
	since := after(putAll(slices.Clone(s.Pending), n.edited), last)
	effects := s.callBack(Withdrawn, last)
	s.Later = putAll(since, s.Later)
	return append(effects, s.next(now)...)
}

// remember keeps what came while it cannot be attended to.
func (s *State) remember(n news) {
	s.Later = putAll(s.Later, slices.Concat(n.said, n.addressed, n.edited))
}

// forget takes out a message that was deleted, or that nobody wants answered, and ends
// what was meant for it alone. Work under way for others as well starts over: it may
// have read the deleted text, or be about to answer what nobody wants answered.
func (s *State) forget(r removal, now time.Time) []Effect {
	ts := r.ts
	s.Later, s.Served = without(s.Later, ts), without(s.Served, ts)
	switch {
	case s.Posting:
		if ts != s.trigger().TS { // which stays what the post's end is about
			s.Answering, s.Pending = without(s.Answering, ts), without(s.Pending, ts)
		}
	case has(s.Answering, ts):
		effects := s.callBack(r.why, r.by)
		s.Answering = without(s.Answering, ts)
		if len(s.Answering) > 0 {
			return append(effects, s.compose(now))
		}
		s.takeBack()
		return append(effects, s.next(now)...)
	case has(s.Pending, ts):
		ordered := s.Ordered
		effects := s.callBack(r.why, r.by) // none of a wait
		s.Pending = without(s.Pending, ts)
		switch {
		case len(s.Pending) == 0:
			return append(effects, s.next(now)...)
		case ordered:
			return append(effects, s.obey(now))
		case s.Phase != Waiting:
			s.wait(now)
		}
		return effects
	}
	return nil
}

// takeBack has what an answer would have served wait again: nothing that it answers is left.
func (s *State) takeBack() {
	s.Later, s.Served = putAll(s.Later, s.Served), nil
}

// callBack ends the work under way, and settles the decision that it was about.
func (s *State) callBack(why Outcome, by string) []Effect {
	var effects []Effect
	if s.Phase == Judging || s.Phase == Replying {
		effects = append(effects, Cancel{})
	}
	if s.Phase == Judging || s.Phase == Delaying || s.Phase == Replying {
		effects = append(effects, s.settle(why, by))
	}
	s.Capped, s.Notice, s.Ordered = false, false, false
	return effects
}

// wait starts the quiet time again, of all that wants a judgment, never past
// MaxWait after the first pending message.
func (s *State) wait(now time.Time) {
	s.Pending, s.Later = putAll(s.Pending, s.Later), nil
	if s.FirstAt.IsZero() {
		s.FirstAt = now
	}
	for _, it := range s.Pending { // some may have come while they could not be attended to
		if !it.At.IsZero() && it.At.Before(s.FirstAt) {
			s.FirstAt = it.At
		}
	}
	s.DueAt = now.Add(s.quiet(newest(s.Pending)))
	if limit := s.limit(); s.DueAt.After(limit) {
		s.DueAt = limit
	}
	s.enter(Waiting, now)
}

// limit is when what is pending is judged however busy the conversation is.
func (s *State) limit() time.Time { return s.FirstAt.Add(seconds(s.Policy.MaxWait)) }

func (s *State) tick(now time.Time) []Effect {
	switch {
	case s.Phase == Waiting && !now.Before(s.DueAt):
		s.Epoch++
		s.Capped = !now.Before(s.limit())
		s.enter(Judging, now)
		return []Effect{Judge{Epoch: s.Epoch, Trigger: newest(s.Pending)}}
	case s.Phase == Delaying && !now.Before(s.DueAt):
		return []Effect{s.reply(now)}
	}
	return nil
}

func (s *State) judged(e Judged, now time.Time) []Effect {
	if e.Failed {
		return s.unsent(now)
	}
	s.Verdict = &e.Verdict
	if e.Gone {
		return s.gone(now)
	}
	if !e.Verdict.ShouldRespond {
		return s.next(now)
	}
	s.Capped = s.Capped || !now.Before(s.limit())
	if delay := s.delay(e.Verdict); delay > 0 {
		s.DueAt = now.Add(delay)
		s.enter(Delaying, now)
		return nil
	}
	return []Effect{s.reply(now)}
}

// delay is how long a verdict yes is held back: what the model asked for, at
// most MaxDelay, and nothing once MaxWait is over.
func (s *State) delay(v chat.Verdict) time.Duration {
	if v.DelaySeconds == nil || s.Capped {
		return 0
	}
	return seconds(min(*v.DelaySeconds, s.Policy.MaxDelay))
}

// reply composes a judged reply, under the epoch of its judgment.
func (s *State) reply(now time.Time) Effect {
	s.enter(Replying, now)
	return s.composeEffect()
}

// answer answers at once what addresses the bot among all that wants something. What was
// said before the newest of that is served by the answer, what was said after it waits.
func (s *State) answer(all []Item, now time.Time) Effect {
	s.Answering = slices.DeleteFunc(slices.Clone(all), func(it Item) bool { return !it.Addressed })
	last := newest(s.Answering).TS
	s.Served, s.Later = plain(all, last), after(all, last)
	return s.compose(now)
}

// compose answers at once, without a judgment: what is addressed, or, at an
// operator's order, what is pending.
func (s *State) compose(now time.Time) Effect {
	if len(s.Answering) > 0 {
		s.Pending, s.FirstAt, s.Verdict = nil, time.Time{}, nil
	}
	s.Epoch++
	s.enter(Replying, now)
	return s.composeEffect()
}

func (s *State) composeEffect() Effect {
	e := Compose{Epoch: s.Epoch, Trigger: s.trigger(), Addressed: len(s.Answering) > 0, Notice: s.Notice, Ordered: s.Ordered}
	if !e.Addressed && !s.Capped && s.Conversation.Thread == "" {
		e.Oldest = s.Pending[0].TS
	}
	return e
}

func (s *State) postEffect() Effect {
	return Post{Epoch: s.Epoch, Trigger: s.trigger(), Addressed: len(s.Answering) > 0, Notice: s.Notice}
}

// trigger is the message that the reply under way answers: the newest of them.
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
	case r == Failed && len(s.Answering) > 0 && !s.Notice:
		// Somebody who addressed the bot never meets silence by accident.
		s.Notice = true
		return []Effect{s.composeEffect()}
	case r == Failed:
		return s.unsent(now)
	case r == Gone:
		effects := []Effect{s.settle(Withdrawn, s.trigger().TS)}
		return append(effects, s.gone(now)...)
	case r == Outdated:
		effects := []Effect{s.settle(Withdrawn, e.By)}
		return append(effects, s.anew(now)...)
	default:
		return s.next(now)
	}
}

// unsent ends a decision that came to nothing. The effect is made before what is
// next begins an epoch of its own.
func (s *State) unsent(now time.Time) []Effect {
	effects := []Effect{s.settle(Unsent, "")}
	return append(effects, s.next(now)...)
}

func (s *State) settle(o Outcome, by string) Effect {
	return Settle{Epoch: s.Epoch, Trigger: s.trigger(), Addressed: len(s.Answering) > 0, Outcome: o, By: by}
}

func (s *State) posted(r Result, now time.Time) []Effect {
	switch r {
	case Gone:
		return s.gone(now)
	case Outdated:
		if ts := s.trigger().TS; s.deleted(ts) || s.hushed(ts) { // while the post was under way
			return s.gone(now)
		}
		return s.anew(now)
	case Failed:
		return s.unsent(now)
	default:
		return s.next(now)
	}
}

// gone turns to the other messages of a judgment or reply whose trigger was deleted
// before that was made, and before the deletion was heard of here.
func (s *State) gone(now time.Time) []Effect {
	trigger := s.trigger().TS
	s.Answering, s.Pending, s.Later = without(s.Answering, trigger), without(s.Pending, trigger), without(s.Later, trigger)
	return s.anew(now)
}

// anew turns once more to what a reply was to answer, which shall not be posted as it is.
func (s *State) anew(now time.Time) []Effect {
	ordered := s.Ordered
	s.Posting, s.Notice, s.Capped, s.Ordered = false, false, false, false
	switch {
	case len(s.Answering) > 0:
		return []Effect{s.compose(now)}
	case len(s.Pending) == 0, slices.ContainsFunc(s.Later, addressed):
		s.takeBack()
		return s.next(now)
	case ordered:
		return []Effect{s.obey(now)}
	default:
		s.wait(now)
		return nil
	}
}

// next turns to what came meanwhile: one reply for all of it if the bot was
// addressed, else the quiet time; with nothing there, the conversation is idle.
func (s *State) next(now time.Time) []Effect {
	later := s.Later
	s.Pending, s.FirstAt, s.Later = nil, time.Time{}, nil
	s.Answering, s.Served = nil, nil
	s.Posting, s.Notice, s.Capped, s.Ordered = false, false, false, false
	switch {
	case slices.ContainsFunc(later, addressed):
		return []Effect{s.answer(later, now)}
	case len(later) > 0:
		s.Pending = later
		s.wait(now)
	default:
		s.enter(Idle, now)
	}
	return nil
}

// enter begins a phase. Only a wait and a delay have a time at which they are over.
func (s *State) enter(p Phase, now time.Time) {
	s.Phase, s.Since = p, now
	if p != Waiting && p != Delaying {
		s.DueAt = time.Time{}
	}
}
