// Package activities is what workflows have done for them. A conversation's: judge,
// compose, post, settle, order; the memory's: survey, remember; to hear what the door
// did not: sync channels, catch up; and prune. Each may be tried any number of times
// and by several workers at once, and takes effect once. What people said, and what
// the bot will say, stays in the database: inputs and outputs carry ids.
package activities

import (
	"context"
	"log/slog"
	"time"

	"myao/internal/catchup"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/mind"
	"myao/internal/slack"
	"myao/internal/store"
)

// Slack is what activities ask of Slack.
type Slack interface {
	Identity(ctx context.Context) (slack.Identity, error)
	Post(ctx context.Context, p slack.Post) (ts string, err error)
	FindPost(ctx context.Context, channel, threadTS, oldest, key string, own slack.Identity) (ts string, found bool, err error)
}

// Directory knows the settings of channels.
type Directory interface {
	SettingsOf(f config.ChannelFacts) config.ChannelSettings
	// StoredSettings returns settings by ID, as far as the database knows the channels.
	StoredSettings(ctx context.Context, team string, ids ...string) (map[string]config.ChannelSettings, error)
	// Resolve is SettingsOf that asks Slack for a missing name, if it may matter.
	Resolve(ctx context.Context, team string, f config.ChannelFacts) (config.ChannelSettings, error)
}

// Activities holds what they all need. All fields are required.
type Activities struct {
	Store     *store.Store
	Slack     Slack
	Directory Directory
	Mind      *mind.Mind
	// Missed reads what the door did not hear.
	Missed *catchup.Reader
	// Retention is for how long the database keeps what is over; the zero value: for ever.
	Retention config.Retention
	Clock     func() time.Time
	Logger    *slog.Logger
	// Metrics counts what comes of it; nil: nobody does.
	Metrics *Metrics
}

// Task names what an activity works on: the message that asked for it, and the
// decision of the conversation's run.
type Task struct {
	Conversation chat.Conversation `json:"conversation"`
	Trigger      string            `json:"trigger"` // ts
	Revision     string            `json:"revision,omitempty"`
	Decision     string            `json:"decision"`
	Epoch        int               `json:"epoch"` // of the decision
}

// Subject is the message that it is about, for logs and traces.
func (t Task) Subject() string { return t.Trigger }

// replyKey is the outbox's name of the reply to the task's trigger. It does not
// depend on the run, so that a workflow that is reset posts nothing again.
func (t Task) replyKey() string {
	c := t.Conversation
	return c.Team + "/" + c.Channel + "/" + c.Thread + "/" + t.Trigger + "/" + t.Revision
}

// decisionKey is the ledger's name of the task's decision. A workflow that is reset
// counts its decisions again from the same number, about other messages perhaps:
// so the number alone is not enough.
func (t Task) decisionKey() string {
	key := t.Decision + "/" + t.Trigger
	if t.Revision != "" {
		key += "/" + t.Revision
	}
	return key
}

// decisionRow is the task's decision in the ledger, as far as the task tells.
func (t Task) decisionRow(source string) store.Decision {
	return store.Decision{
		Key: t.decisionKey(), WorkflowID: t.Conversation.ID(), TriggerTS: t.Trigger, Revision: t.Revision, Source: source,
	}
}

// charge writes into a decision which model was asked for it, and what that took.
func charge(d *store.Decision, answer mind.Answer) {
	d.Model, d.TokensIn, d.TokensOut = answer.Model, answer.Usage.Input, answer.Usage.Output
	d.LatencyUS = answer.Latency.Microseconds()
}

// knowledge is what the database knows of a task at a moment.
type knowledge struct {
	store.Facts
	settings config.ChannelSettings
	now      time.Time
}

// look reads what the database knows of a task. The channel's cost is read with the rest as
// its settings under its id want it; only where those under its name, which is read with
// the rest, want it otherwise is that one more question. Of the matter it takes what the task
// does not tell: Pending, Oldest and Held.
func (a *Activities) look(ctx context.Context, t Task, matter store.FactsRequest) (knowledge, error) {
	k := knowledge{now: a.Clock()}
	team, channel := t.Conversation.Team, t.Conversation.Channel
	matter.Conversation, matter.Trigger, matter.Decision, matter.Reply = t.Conversation, t.Trigger, t.decisionKey(), t.replyKey()
	matter.Since = budgetStart(a.Directory.SettingsOf(config.ChannelFacts{ID: channel}), k.now)
	var err error
	if k.Facts, err = a.Store.Facts(ctx, matter); err != nil {
		return knowledge{}, err
	}
	// Nothing is decided while Slack may yet tell a name that matters.
	if k.settings, err = a.Directory.Resolve(ctx, team, config.ChannelFacts{ID: channel, Name: k.ChannelName}); err != nil {
		return knowledge{}, err
	}
	if since := budgetStart(k.settings, k.now); !since.IsZero() && !since.Equal(matter.Since) {
		k.Calls, k.Tokens, err = a.Store.Spent(ctx, team, channel, since)
	}
	return k, err
}

// budgetStart is when the day began whose calls of models count; the zero time if none do.
func budgetStart(s config.ChannelSettings, now time.Time) time.Time {
	if !s.HasBudget() {
		return time.Time{}
	}
	return s.StartOfDay(now)
}

// facts gathers what the rules look at.
func (a *Activities) facts(ctx context.Context, k knowledge) (conversation.Facts, error) {
	own, err := a.Slack.Identity(ctx)
	if err != nil {
		return conversation.Facts{}, err
	}
	f := conversation.Facts{
		Now: k.now, Mode: k.settings.Mode, BotID: own.UserID, MaxAge: k.settings.MaxMessageAge, Quiet: k.settings.InQuietHours(k.now),
		SilencedUntil: k.SilencedUntil, Silenced: k.Silenced, OverBudget: k.settings.Exhausted(k.Calls, k.Tokens), Tail: k.Tail, Pending: k.Pending, Saw: k.Saw,
	}
	// It need not be in the tail: others, bots perhaps, may have said much since.
	if k.Trigger != nil && !k.Trigger.Deleted {
		f.Trigger = *k.Trigger
	}
	return f, nil
}

// overBudget reports whether a channel's calls of models have used up what its day may cost.
func (a *Activities) overBudget(ctx context.Context, team, channel string, s config.ChannelSettings) (bool, error) {
	since := budgetStart(s, a.Clock())
	if since.IsZero() {
		return false, nil
	}
	calls, tokens, err := a.Store.Spent(ctx, team, channel, since)
	return s.Exhausted(calls, tokens), err
}
