package activities

import (
	"context"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/mind"
	"myao/internal/store"
)

// readFacts reads what is known about a task. Of the request only Pending, Oldest and Held need to
// be set.
func (a *Activities) readFacts(ctx context.Context, t Task, request store.FactsRequest) (mind.Facts, error) {
	request.Conversation, request.Trigger, request.Decision, request.Reply = t.Conversation, t.Trigger, t.decisionKey(), t.replyKey()
	return mind.ReadFacts(ctx, a.Store, a.Directory, a.Clock(), request)
}

// ruleFacts returns the facts for the rules.
func (a *Activities) ruleFacts(ctx context.Context, k mind.Facts) (conversation.Facts, error) {
	own, err := a.Slack.Identity(ctx)
	if err != nil {
		return conversation.Facts{}, err
	}
	return k.ForRules(own.UserID), nil
}

// overBudget reports whether a channel's calls of models have used up its budget of the day.
func (a *Activities) overBudget(ctx context.Context, team, channel string, s config.ChannelSettings) (bool, error) {
	since := mind.BudgetStart(s, a.Clock())
	if since.IsZero() {
		return false, nil
	}
	calls, tokens, err := a.Store.Spent(ctx, team, channel, since)
	return s.Exhausted(calls, tokens), err
}
