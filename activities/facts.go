package activities

import (
	"context"
	"time"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
)

// taskFacts is what is known about a task at one time.
type taskFacts struct {
	store.Facts
	settings config.ChannelSettings
	now      time.Time
}

// readFacts reads what is known about a task, in one query if possible. The query sums up the
// channel's cost since the start of its day according to the settings by id. If the
// settings by name, which the query also reads, name another time, a second query sums it up.
// Of the request only Pending, Oldest and Held need to be set.
func (a *Activities) readFacts(ctx context.Context, t Task, request store.FactsRequest) (taskFacts, error) {
	k := taskFacts{now: a.Clock()}
	team, channel := t.Conversation.Team, t.Conversation.Channel
	request.Conversation, request.Trigger, request.Decision, request.Reply = t.Conversation, t.Trigger, t.decisionKey(), t.replyKey()
	request.Since = budgetStart(a.Directory.SettingsOf(config.ChannelFacts{ID: channel}), k.now)
	var err error
	if k.Facts, err = a.Store.Facts(ctx, request); err != nil {
		return taskFacts{}, err
	}
	// Nothing is decided before a name is known that settings may depend on.
	if k.settings, err = a.Directory.Resolve(ctx, team, config.ChannelFacts{ID: channel, Name: k.ChannelName}); err != nil {
		return taskFacts{}, err
	}
	if since := budgetStart(k.settings, k.now); !since.IsZero() && !since.Equal(request.Since) {
		k.Calls, k.Tokens, err = a.Store.Spent(ctx, team, channel, since)
	}
	return k, err
}

// budgetStart returns the start of the day whose calls count for the budget, or the zero time
// without a budget.
func budgetStart(s config.ChannelSettings, now time.Time) time.Time {
	if !s.HasBudget() {
		return time.Time{}
	}
	return s.StartOfDay(now)
}

// ruleFacts returns the facts for the rules.
func (a *Activities) ruleFacts(ctx context.Context, k taskFacts) (conversation.Facts, error) {
	own, err := a.Slack.Identity(ctx)
	if err != nil {
		return conversation.Facts{}, err
	}
	f := conversation.Facts{
		Now: k.now, Mode: k.settings.Mode, BotID: own.UserID, MaxAge: k.settings.MaxMessageAge, Quiet: k.settings.InQuietHours(k.now),
		SilencedUntil: k.SilencedUntil, Silenced: k.Silenced, OverBudget: k.settings.Exhausted(k.Calls, k.Tokens), Tail: k.Tail, Pending: k.Pending, Saw: k.Saw,
	}
	// The trigger may not be in the tail: much may have been said since.
	if k.Trigger != nil && !k.Trigger.Deleted {
		f.Trigger = *k.Trigger
	}
	return f, nil
}

// overBudget reports whether a channel's calls of models have used up its budget of the day.
func (a *Activities) overBudget(ctx context.Context, team, channel string, s config.ChannelSettings) (bool, error) {
	since := budgetStart(s, a.Clock())
	if since.IsZero() {
		return false, nil
	}
	calls, tokens, err := a.Store.Spent(ctx, team, channel, since)
	return s.Exhausted(calls, tokens), err
}
