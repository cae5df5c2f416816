package record

import (
	"context"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Outcome is how AnswerNow ended.
type Outcome int

// The outcomes of AnswerNow. Only Accepted changes anything.
const (
	Accepted Outcome = iota
	AlreadyAddressed
	OwnMessage
	DeletedMessage
)

// AnswerNow commits that a user wants a message answered: like an edit that adds a mention, it
// makes the message one that addresses the bot. id names the order; the same id again orders
// nothing. It returns the conversations that have something new to be relayed.
func (r *Recorder) AnswerNow(
	ctx context.Context, m chat.Message, id, user string,
) (targets []store.Target, outcome Outcome, err error) {
	order := store.Order{ID: id, Kind: "answer-now", By: orderedBy(user)}
	targets, err = r.Store.Record(ctx, m, func(known store.Known) (entry store.Entry) {
		entry, outcome = answerNow(m, known, order)
		return entry
	})
	return targets, outcome, err
}

// answerNow decides what to store for AnswerNow. The stored message takes precedence over m,
// which came with the order.
func answerNow(m chat.Message, known store.Known, order store.Order) (entry store.Entry, outcome Outcome) {
	if known.Message != nil {
		m = *known.Message
	}
	switch {
	case m.Own:
		return store.Entry{}, OwnMessage
	case m.Deleted, known.Erased:
		return store.Entry{}, DeletedMessage
	case known.Addressed:
		return store.Entry{}, AlreadyAddressed
	}
	order.Scope, order.Subject = chat.Scope{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}, m.TS
	entry = store.Entry{Message: &m, Handled: true, Order: &order}
	for _, c := range Conversations(m, true) {
		change := conversation.Change{TS: m.TS, Kind: conversation.Addressed, Revision: m.Revision, By: order.By,
			Mention: true}
		if c.AnswersHere() { // elsewhere it would withdraw what else this person has asked
			change.Author = m.UserID
		}
		entry.Changes = append(entry.Changes, store.Change{Conversation: c, Change: change})
	}
	return entry, Accepted
}
