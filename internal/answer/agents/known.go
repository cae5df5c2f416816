package agents

import (
	"context"
	"time"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Directory knows the settings of channels.
type Directory interface {
	SettingsOf(f config.ChannelFacts) config.ChannelSettings
	// Resolve is like SettingsOf. It asks Slack for a missing name if settings may depend on it.
	Resolve(ctx context.Context, team string, f config.ChannelFacts) (config.ChannelSettings, error)
}

// Known is what is known about a decision or a reply at one time, before a model is asked.
type Known struct {
	store.Facts
	Settings config.ChannelSettings
	Now      time.Time
	// WorkspaceSpent is set when the budget of the workspace is used up. ReadFacts leaves it to the caller.
	WorkspaceSpent bool
}

// ReadKnown reads what is known, in one query if possible. The query sums up the channel's cost
// since the start of its day according to the settings by id. If the settings by name, which the
// query also reads, name another time, a second query sums it up. The request's Since is ignored.
func ReadKnown(
	ctx context.Context, s *store.Store, d Directory, now time.Time, request store.FactsRequest,
) (Known, error) {
	k := Known{Now: now}
	team, channel := request.Conversation.Team, request.Conversation.Channel
	request.Since = BudgetStart(d.SettingsOf(config.ChannelFacts{ID: channel}), now)
	var err error
	if k.Facts, err = s.Facts(ctx, request); err != nil {
		return Known{}, err
	}
	// Nothing is decided before a name is known that settings may depend on.
	if k.Settings, err = d.Resolve(ctx, team, config.ChannelFacts{ID: channel, Name: k.ChannelName,
		Set: k.Set}); err != nil {
		return Known{}, err
	}
	if since := BudgetStart(k.Settings, now); !since.IsZero() && !since.Equal(request.Since) {
		k.Calls, k.Tokens, err = s.Spent(ctx, team, channel, since)
	}
	return k, err
}

// BudgetStart returns the start of the day whose calls count for the budget, or the zero time
// without a budget.
func BudgetStart(s config.ChannelSettings, now time.Time) time.Time {
	if !s.Budget().Limited() {
		return time.Time{}
	}
	return s.StartOfDay(now)
}

// ForRules returns what the rules decide by. bot is the bot's own user id.
func (k Known) ForRules(bot string) conversation.RuleInputs {
	in := conversation.RuleInputs{
		Now: k.Now, Mode: k.Settings.Mode, ModeInSlack: k.Settings.ModeInSlack, BotID: bot,
		MaxAge:        k.Settings.MaxMessageAge,
		Quiet:         k.Settings.InQuietHours(k.Now),
		SilencedUntil: k.SilencedUntil, MutedUntil: k.MutedUntil, Silenced: k.Silenced, Stopped: k.Stopped,
		Tail: k.Tail, ThroughApps: k.ThroughApps, Pending: k.Pending, Saw: k.Saw,
		OverBudget:      k.WorkspaceSpent || k.Settings.Budget().Exhausted(k.Calls, k.Tokens),
		WorkspaceBudget: k.WorkspaceSpent,
	}
	// The trigger may not be in the tail: much may have been said since.
	if k.Trigger != nil && !k.Trigger.Deleted {
		in.Trigger = *k.Trigger
	}
	return in
}
