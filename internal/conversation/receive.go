package conversation

import (
	"slices"
	"time"
)

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
	in.said, in.addressed, in.edited = withoutStopped(in.said, it), withoutStopped(in.addressed, it),
		withoutStopped(in.edited, it)
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
		effects = append(effects, s.beginAgain(newest(merge(slices.Concat(in.said, in.addressed), in.edited)).TS,
			now)...)
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
		return append(effects, s.composeAnswer(merge(s.Pending, slices.Concat(s.Later, in.said, in.edited,
			in.addressed)), now)...)
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
		effects = append(effects, s.endCurrentPromise(PromiseCancelled,
			r.by)...) // unless its deletion has withdrawn it
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
