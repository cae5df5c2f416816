package store

import (
	"context"
	"maps"
	"time"

	"myao/internal/chat"
)

// SituationRequest names the conversations of a Situation.
type SituationRequest struct {
	// Now is the time at which a silence must last to count; zero means now.
	Now time.Time
	// Conversations are those of Silences.
	Conversations []chat.Conversation
	// Open narrows Proposals and Promises, which are left out if its Limit is 0. Muted is that of its Team.
	Open ChoiceFilter
}

// Situation is what the database knows of some conversations now: what keeps them silent, and what is open in them.
type Situation struct {
	Silences Silences
	// Muted is the order that muted the bot in the whole workspace; nil if none is in force.
	Muted *Order
	// Proposals may still come to something, the newest first. Promises are open, those due first coming first.
	Proposals []Proposal
	Promises  []Promise
}

// Situation reads what every face of the bot tells of conversations.
func (s *Store) Situation(ctx context.Context, r SituationRequest) (now Situation, err error) {
	if now.Silences, err = s.Silenced(ctx, r.Conversations...); err != nil {
		return Situation{}, err
	}
	if r.Now.IsZero() {
		r.Now = s.now()
	}
	maps.DeleteFunc(now.Silences, func(_ string, until time.Time) bool { return !until.After(r.Now) })
	if team := r.Open.Team; !now.Silences.Everywhere(team).IsZero() {
		if now.Muted, err = s.MutedEverywhere(ctx, team); err != nil {
			return Situation{}, err
		}
	}
	if r.Open.Limit == 0 {
		return now, nil
	}
	if now.Proposals, err = s.Proposals(ctx, r.Open); err != nil {
		return Situation{}, err
	}
	now.Promises, err = s.Promises(ctx, r.Open)
	return now, err
}

// In is the filter for what is open in a conversation.
func In(c chat.Conversation, limit int) ChoiceFilter {
	return ChoiceFilter{Team: c.Team, Channel: c.Channel, Thread: c.Thread, TopLevel: c.TopLevel(), Limit: limit}
}
