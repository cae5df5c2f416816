package conversation

import (
	"slices"
	"time"

	"myao/internal/chat"
)

// Apply handles an event and returns the effects to execute, in order. The end of work that
// was cancelled, and an order that does not apply, have no effect.
func (s *State) Apply(e Event, now time.Time) []Effect {
	effects := s.apply(e, now)
	if s.Phase != Replying && len(s.Occasions) > 0 { // the reply that it waited for was withdrawn
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

// incoming is one signal's changes by what they mean for the conversation.
type incoming struct {
	said, addressed []Item
	edited          []Item // edits of messages that want something already
	stops           []Item
	removed         []removal
	decided         []Change
}

// removal is a message that wants nothing any more, and the outcome of a decision about it.
type removal struct {
	ts      string
	outcome Outcome
	by      string
}

// classify leaves out changes that were seen before.
func (s *State) classify(changes Changes, now time.Time) incoming {
	var in incoming
	for _, c := range changes {
		if !s.markSeen(c.ID()) {
			continue
		}
		it := c.item(now)
		if c.Stop && (c.Kind == Said || c.Kind == Addressed) && !s.isHushed(c.TS) && s.obeys(c, in.addressed) {
			in.stop(c.stopItem(now))
			continue
		}
		switch c.Kind {
		case Said:
			if !s.isHushed(c.TS) { // the hush may arrive first
				in.said = put(in.said, it)
			}
		case Addressed:
			in.said = without(in.said, c.TS)
			in.addressed = put(in.addressed, it)
		case Edited:
			switch {
			case s.isHushed(c.TS): // it stays so, unless an edit adds a mention
			case contains(in.said, c.TS):
				in.said = put(in.said, it)
			case contains(in.addressed, c.TS):
				in.addressed = put(in.addressed, it)
			case contains(s.Answering, c.TS) && s.currentPromise() != nil: // what was promised stays
			case contains(s.Pending, c.TS), contains(s.Answering, c.TS), contains(s.Later, c.TS):
				in.edited = put(in.edited, it)
			}
		case Deleted:
			in.remove(removal{c.TS, Withdrawn, c.TS})
		case Hushed:
			in.remove(removal{c.TS, Dropped, c.By})
		case Approved, Declined, Cancelled, Overdue, Moved, Due:
			in.decided = append(in.decided, c)
		}
	}
	return in
}

func (in *incoming) remove(r removal) {
	in.said, in.addressed, in.edited = without(in.said, r.ts), without(in.addressed, r.ts), without(in.edited, r.ts)
	in.stops = without(in.stops, r.ts)
	in.removed = append(in.removed, r)
}

func (in *incoming) stop(it Item) {
	in.said, in.addressed, in.edited = withoutStopped(in.said, it), withoutStopped(in.addressed, it), withoutStopped(in.edited, it)
	in.stops = append(in.stops, it)
}

func (s *State) receive(changes Changes, now time.Time) []Effect {
	in := s.classify(changes, now)
	var effects []Effect
	for _, c := range in.decided {
		effects = append(effects, s.decided(c, now)...)
	}
	for _, r := range in.removed {
		if s.isDeleted(r.ts) {
			effects = append(effects, s.endProposals(r.ts)...)
			effects = append(effects, s.withdrawPromises(r.ts)...)
		}
		effects = append(effects, s.remove(r, now)...)
	}
	for _, it := range in.stops {
		effects = append(effects, s.stop(it, now)...)
	}
	if len(in.said)+len(in.addressed)+len(in.edited) == 0 {
		return effects
	}
	if s.currentPromise() != nil {
		effects = append(effects, s.beginAgain(newest(merge(slices.Concat(in.said, in.addressed), in.edited)).TS, now)...)
	}
	switch {
	case s.currentPromise() != nil: // too late to begin again
		s.keepForLater(in)
		return effects
	case len(in.addressed) > 0 && !s.Conversation.AnswersHere():
		return append(effects, s.withdrawTopLevel(in, now)...)
	case s.Phase == Replying && (s.Posting || len(s.Answering) > 0),
		s.Capped && len(in.addressed) == 0:
		s.keepForLater(in)
		return effects
	case len(in.addressed) > 0:
		// Messages after the mention stay in Later, though the answer may cover them too:
		// the mention may yet be deleted.
		effects = append(effects, s.withdraw(Withdrawn, newest(in.addressed).TS)...)
		return append(effects, s.composeAnswer(merge(s.Pending, slices.Concat(s.Later, in.said, in.edited, in.addressed)), now)...)
	default:
		came := merge(in.said, in.edited)
		effects = append(effects, s.withdraw(Withdrawn, newest(came).TS)...)
		s.Pending = merge(s.Pending, came)
		s.startQuietTime(now)
		return effects
	}
}

// withdrawTopLevel handles a mention at the top level of a channel, which is answered in a thread
// of its own. Work in flight is withdrawn, so that the bot does not speak twice at once. What
// others have asked gets a new quiet time, and its judgment sees the mention and its thread. What the
// same person has said before is withdrawn: that person gets an answer. An operator's order starts
// over. A post in flight is not withdrawn.
func (s *State) withdrawTopLevel(in incoming, now time.Time) []Effect {
	came := merge(in.said, in.edited)
	var effects []Effect
	ordered := s.Ordered
	if !s.Posting {
		effects = s.withdraw(Withdrawn, newest(in.addressed).TS)
		s.Pending = notAnsweredBy(in.addressed, merge(s.Pending, came))
	}
	s.Later = notAnsweredBy(in.addressed, s.Later)
	if s.Posting { // whose trigger stays what its end is about
		s.Later = merge(s.Later, notAnsweredBy(in.addressed, came))
		return nil
	}
	switch {
	case len(s.Pending)+len(s.Later) == 0:
		return append(effects, s.next(now)...)
	case ordered && len(s.Pending) > 0:
		return append(effects, s.composeOrdered(now))
	default:
		s.startQuietTime(now)
		return effects
	}
}

// notAnsweredBy leaves the items that an answer to some mentions does not serve: it serves the
// mentions, and what their authors said before them.
func notAnsweredBy(mentions, items []Item) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(it Item) bool {
		return slices.ContainsFunc(mentions, func(m Item) bool {
			return m.TS == it.TS || m.Author != "" && m.Author == it.Author && compareTS(it, m.TS) < 0
		})
	})
}

// keepForLater keeps messages that the work in flight must not be withdrawn for.
func (s *State) keepForLater(in incoming) {
	s.Later = merge(s.Later, slices.Concat(in.said, in.addressed, in.edited))
}

// remove takes out a message that was deleted or hushed, and withdraws work about it. Work
// that is about other messages as well starts over: it may have read the deleted text, or
// be about to answer the hushed message.
func (s *State) remove(r removal, now time.Time) []Effect {
	ts := r.ts
	s.Later, s.Served = without(s.Later, ts), without(s.Served, ts)
	switch {
	case s.Posting:
		if ts != s.trigger().TS { // the result of the post is about the trigger
			s.Answering, s.Pending = without(s.Answering, ts), without(s.Pending, ts)
		}
	case contains(s.Answering, ts):
		effects := s.withdraw(r.outcome, r.by)
		effects = append(effects, s.endCurrentPromise(PromiseCancelled, r.by)...) // unless its deletion has withdrawn it
		s.Answering = without(s.Answering, ts)
		if len(s.Answering) > 0 {
			return append(effects, s.compose(now))
		}
		s.requeueServed()
		return append(effects, s.next(now)...)
	case contains(s.Pending, ts):
		ordered := s.Ordered
		effects := s.withdraw(r.outcome, r.by) // none while Waiting
		s.Pending = without(s.Pending, ts)
		switch {
		case len(s.Pending) == 0:
			return append(effects, s.next(now)...)
		case ordered:
			return append(effects, s.composeOrdered(now))
		case s.Phase != Waiting:
			s.startQuietTime(now)
		}
		return effects
	}
	return nil
}

// requeueServed moves the messages that an answer would have served back to Later: no
// message is left for it to answer.
func (s *State) requeueServed() {
	s.Later, s.Served = merge(s.Later, s.Served), nil
}

// withdraw cancels the work in flight and settles the decision that it was about.
func (s *State) withdraw(o Outcome, by string) []Effect {
	var effects []Effect
	if s.Phase == Judging || s.Phase == Replying {
		effects = append(effects, Cancel{})
	}
	if s.Phase == Judging || s.Phase == Delaying || s.Phase == Replying {
		effects = append(effects, s.settleEffect(o, by))
	}
	s.Capped, s.Notice, s.Ordered = false, false, false
	return effects
}

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
		effects = append(effects, Judge{Epoch: s.Epoch, Trigger: newest(s.Pending)})
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
	s.Occasion = ""
	s.Answering = slices.DeleteFunc(slices.Clone(all), func(it Item) bool { return !answered(it) })
	last := newest(s.Answering).TS
	s.Served = unaddressedUntil(all, last)
	s.Later = slices.DeleteFunc(all, func(it Item) bool { return answered(it) || !it.Addressed && compareTS(it, last) <= 0 })
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
	e := Compose{Epoch: s.Epoch, Trigger: s.trigger(), Occasion: s.Occasion, Addressed: len(s.Answering) > 0, Notice: s.isNotice(), Stop: s.trigger().Stop, Ordered: s.Ordered, Round: s.Round}
	if added := newest(s.Served).TS; e.Addressed && !e.Notice && compareTS(s.trigger(), added) < 0 {
		e.Until = added
	}
	if !e.Addressed && !s.Capped && s.Conversation.Thread == "" {
		e.Oldest = s.Pending[0].TS
	}
	return e
}

func (s *State) lookEffect() Effect {
	return Look{Epoch: s.Epoch, Trigger: s.trigger(), Occasion: s.Occasion, Addressed: len(s.Answering) > 0, Round: s.Round}
}

func (s *State) postEffect() Effect {
	return Post{Epoch: s.Epoch, Trigger: s.trigger(), Occasion: s.Occasion, Addressed: len(s.Answering) > 0, Notice: s.isNotice()}
}

// isNotice reports whether the reply is a note that no model writes.
func (s *State) isNotice() bool { return s.Notice || isStop(s.trigger()) }

func (s *State) settleEffect(o Outcome, by string) Effect {
	return Settle{Epoch: s.Epoch, Trigger: s.trigger(), Occasion: s.Occasion, Addressed: len(s.Answering) > 0, Outcome: o, By: by}
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
	if s.Occasion == "" { // what is said to an occasion gets an answer of its own
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
	s.Answering, s.Pending, s.Later = without(s.Answering, trigger), without(s.Pending, trigger), without(s.Later, trigger)
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
	if len(s.Occasions) > 0 {
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
