package activities

import (
	"context"

	"myao/internal/answer/agents"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
)

// readKnown reads what is known about a task. Of the request only Pending, Oldest and Held need to
// be set.
func (a *Activities) readKnown(ctx context.Context, t Task, request store.FactsRequest) (agents.Known, error) {
	request.Conversation, request.Trigger, request.Decision, request.Reply = t.Conversation, t.Trigger, t.decisionKey(),
		t.replyKey()
	k, err := agents.ReadKnown(ctx, a.Store, a.Directory, a.Clock(), request)
	if err != nil {
		return agents.Known{}, err
	}
	if t.Occasion.Promise != "" {
		k.Stopped = false // the word cancels no promise that is not being kept
	}
	used, err := a.Budget.Used(ctx)
	k.WorkspaceSpent = used >= 1
	return k, err
}

// overBudget says whose budget of the day is used up; "" if none is. The settings are those of the scope's
// channel.
func (a *Activities) overBudget(
	ctx context.Context, scope chat.Scope, s config.ChannelSettings,
) (reason string, err error) {
	if used, err := a.Budget.Used(ctx); err != nil || used >= 1 {
		return conversation.ReasonWorkspaceBudget, err
	}
	since := agents.BudgetStart(s, a.Clock())
	if since.IsZero() {
		return "", nil
	}
	calls, tokens, err := a.Store.Spent(ctx, scope.Team, scope.Channel, since)
	if err != nil || !s.Budget().Exhausted(calls, tokens) {
		return "", err
	}
	return conversation.ReasonChannelBudget, nil
}
