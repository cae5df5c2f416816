package conversation

import (
	"slices"
	"time"
)

// OpenProposal is something that the bot has proposed to do and that people may decide about. Its row in
// the database is the truth; the state knows it only to end it in time.
type OpenProposal struct {
	// ID is that of its step.
	ID string `json:"id"`
	// TS is that of the message that asked.
	TS string `json:"ts"`
	// LapsesAt is when it lapses if nobody decides.
	LapsesAt time.Time `json:"lapses_at"`
}

// ProposalRef names a proposal, and the message that asked.
type ProposalRef struct {
	ID string `json:"id"`
	TS string `json:"ts"`
}

// UntoldOccasion is an occasion, told once, as an answer to the message that led to it.
type UntoldOccasion struct {
	Occasion Occasion `json:"key"`
	Trigger  Item     `json:"trigger"`
}

// Act asks for the call of an approved proposal, beside any other work. Its end is an Acted.
type Act struct{ ProposalRef }

// ShowProposal asks for the message of a proposal or a promise to show what has become of it. Close is set
// if the proposal is to end first, unless it has: "lapsed" or "withdrawn".
type ShowProposal struct {
	ProposalRef
	Close string
}

// The values of ShowProposal.Close.
const (
	CloseLapsed    = "lapsed"
	CloseWithdrawn = "withdrawn"
)

// Acted says that an Act has ended.
type Acted struct {
	ID string
	// Tell is set if the call was made, or may have been: then people are told what came of it.
	Tell bool
	// Asker is the user id of whoever asked.
	Asker string
}

func (Act) effect()          {}
func (ShowProposal) effect() {}
func (Acted) event()         {}

// open adds the proposals of a reply that was posted.
func (s *State) open(opened []OpenProposal) []Effect {
	var effects []Effect
	for _, p := range opened {
		switch decided := slices.ContainsFunc([]Kind{Approved, Declined, Cancelled}, func(k Kind) bool {
			return slices.Contains(s.Seen, Change{TS: p.TS, Kind: k, Revision: p.ID}.ID())
		}); {
		case decided: // a click may be faster than the post's end, before which nobody knew where to show it
			effects = append(effects, ShowProposal{ProposalRef: ProposalRef{p.ID, p.TS}})
		case s.isDeleted(p.TS):
			effects = append(effects, ShowProposal{ProposalRef{p.ID, p.TS}, CloseWithdrawn})
		default:
			s.Proposals = append(s.Proposals, p)
		}
	}
	return effects
}

// decided handles what people decide about proposals and promises.
func (s *State) decided(c Change, now time.Time) []Effect {
	switch {
	case c.Kind == Moved || c.Kind == Due:
		return s.moved(c, now)
	case c.Kind == Cancelled && s.promise(c.Revision) != nil:
		return s.cancelPromise(c, now)
	}
	s.Proposals = slices.DeleteFunc(s.Proposals, func(p OpenProposal) bool { return p.ID == c.Revision })
	ref, shown := ProposalRef{c.Revision, c.TS}, ShowProposal{ProposalRef: ProposalRef{c.Revision, c.TS}}
	switch c.Kind {
	case Approved:
	case Overdue: // its row says how far it has come: the activities do what is left
		shown.Close = CloseLapsed
	default:
		return []Effect{shown}
	}
	if slices.Contains(s.Acting, ref) {
		return nil
	}
	s.Acting = append(s.Acting, ref)
	return []Effect{shown, Act{ref}}
}

// endProposals withdraws the open proposals of a deleted message, and leaves untold what came of the others.
func (s *State) endProposals(ts string) []Effect {
	var effects []Effect
	s.Proposals = slices.DeleteFunc(s.Proposals, func(p OpenProposal) bool {
		if p.TS == ts {
			effects = append(effects, ShowProposal{ProposalRef{p.ID, p.TS}, CloseWithdrawn})
		}
		return p.TS == ts
	})
	s.Untold = slices.DeleteFunc(s.Untold, func(o UntoldOccasion) bool { return o.Trigger.TS == ts })
	return effects
}

// lapse ends the proposals that nobody has decided about in time.
func (s *State) lapse(now time.Time) []Effect {
	var effects []Effect
	s.Proposals = slices.DeleteFunc(s.Proposals, func(p OpenProposal) bool {
		late := !now.Before(p.LapsesAt)
		if late {
			effects = append(effects, ShowProposal{ProposalRef{p.ID, p.TS}, CloseLapsed})
		}
		return late
	})
	return effects
}

// acted shows what came of a call, and tells it.
func (s *State) acted(e Acted, now time.Time) []Effect {
	i := slices.IndexFunc(s.Acting, func(r ProposalRef) bool { return r.ID == e.ID })
	if i < 0 {
		return nil
	}
	ref := s.Acting[i]
	s.Acting = slices.Delete(s.Acting, i, i+1)
	effects := []Effect{ShowProposal{ProposalRef: ref}}
	if !e.Tell || s.isDeleted(ref.TS) {
		return effects
	}
	o := UntoldOccasion{Occasion{Step: e.ID}, Item{TS: ref.TS, Addressed: true, At: now, Author: e.Asker}}
	return append(effects, s.occur(o, now)...)
}

// occur begins the reply for an occasion, or keeps the occasion until the reply under way has ended.
func (s *State) occur(o UntoldOccasion, now time.Time) []Effect {
	s.Untold = append(s.Untold, o)
	if s.Phase == Replying {
		return nil
	}
	return s.tellNext(now)
}

// tellNext begins the reply for the oldest occasion. What waits for a judgment waits again after it: it must
// be judged with what is said now.
func (s *State) tellNext(now time.Time) []Effect {
	effects := s.withdraw(Withdrawn, s.Untold[0].Trigger.TS)
	s.Later, s.Pending = merge(s.Later, s.Pending), nil
	return append(effects, s.tell(now))
}

// tell composes the reply for the oldest occasion.
func (s *State) tell(now time.Time) Effect {
	o := s.Untold[0]
	s.Untold = slices.Delete(s.Untold, 0, 1)
	s.Occasion, s.Answering = o.Occasion, []Item{o.Trigger}
	return s.compose(now)
}

// busy reports whether the conversation has to go on although nobody says anything.
func (s *State) busy() bool {
	return len(s.Proposals)+len(s.Acting)+len(s.Untold)+len(s.Promises) > 0
}

// ShouldRenew reports whether the run should be continued by another one: the conversation has been idle
// for IdleClose and cannot close. So no run is much older than that.
func (s *State) ShouldRenew(now time.Time) bool {
	return s.Phase == Idle && s.busy() && !now.Before(s.idleEnd())
}

// Renew begins the idle time again.
func (s *State) Renew(now time.Time) { s.Since = now }
