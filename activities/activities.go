// Package activities is what workflows have done for them. A conversation's: judge,
// compose, post, settle, order; the memory's: survey, remember; and to hear what
// the door did not: sync channels, catch up. Each may be tried any number of times
// and by several workers at once, and takes effect once. What people said, and what
// the bot will say, stays in the database: inputs and outputs carry ids.
package activities

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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

// Activities holds what they all need. All fields are required.
type Activities struct {
	Store *store.Store
	Slack Slack
	Mind  *mind.Mind
	// Missed reads what the door did not hear.
	Missed *catchup.Reader
	Clock  func() time.Time
	Logger *slog.Logger
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

// reply is the outbox's name of the reply to the task's trigger. It does not
// depend on the run, so that a workflow that is reset posts nothing again.
func (t Task) reply() string {
	c := t.Conversation
	return c.Team + "/" + c.Channel + "/" + c.Thread + "/" + t.Trigger + "/" + t.Revision
}

// decision is the ledger's name of the task's decision. A workflow that is reset
// counts its decisions again from the same number, about other messages perhaps:
// so the number alone is not enough.
func (t Task) decision() string {
	key := t.Decision + "/" + t.Trigger
	if t.Revision != "" {
		key += "/" + t.Revision
	}
	return key
}

// facts gathers what the rules look at.
func (a *Activities) facts(ctx context.Context, t Task) (conversation.Facts, error) {
	own, err := a.Slack.Identity(ctx)
	if err != nil {
		return conversation.Facts{}, err
	}
	settings, err := a.Mind.Settings(ctx, t.Conversation.Team, t.Conversation.Channel)
	if err != nil {
		return conversation.Facts{}, err
	}
	now := a.Clock()
	f := conversation.Facts{
		Now: now, Mode: settings.Mode, BotID: own.UserID, MaxAge: settings.MaxMessageAge, Quiet: settings.Quiet(now),
	}
	if f.SilencedUntil, err = a.silencedUntil(ctx, t.Conversation); err != nil {
		return conversation.Facts{}, err
	}
	if f.OverBudget, err = a.overBudget(ctx, t.Conversation.Team, t.Conversation.Channel, settings); err != nil {
		return conversation.Facts{}, err
	}
	if f.Tail, err = a.tail(ctx, t.Conversation); err != nil {
		return conversation.Facts{}, err
	}
	// It need not be in the tail: others, bots perhaps, may have said much since.
	switch m, err := a.Store.Message(ctx, t.Conversation.Team, t.Conversation.Channel, t.Trigger); {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return conversation.Facts{}, err
	case err == nil && !m.Deleted:
		f.Trigger = m
	}
	if n := len(f.Tail); n > 0 && f.Tail[n-1].Own {
		if f.Saw, err = a.Store.Saw(ctx, t.Conversation.Team, t.Conversation.Channel, f.Tail[n-1].TS); err != nil {
			return conversation.Facts{}, err
		}
	}
	return f, nil
}

// silencedUntil is until when a conversation is silenced, by itself or with the top
// level of its channel: whoever silences a channel means its threads, too.
func (a *Activities) silencedUntil(ctx context.Context, c chat.Conversation) (time.Time, error) {
	until, err := a.Store.SilencedUntil(ctx, c.ID())
	if err != nil || c.TopLevel() {
		return until, err
	}
	c.Thread = ""
	top, err := a.Store.SilencedUntil(ctx, c.ID())
	if top.After(until) {
		until = top
	}
	return until, err
}

// overBudget reports whether a channel's calls of models have used up what its day may cost.
func (a *Activities) overBudget(ctx context.Context, team, channel string, s config.ChannelSettings) (bool, error) {
	if !s.Budgeted() {
		return false, nil
	}
	calls, tokens, err := a.Store.Spent(ctx, team, channel, s.Day(a.Clock()))
	return s.Exhausted(calls, tokens), err
}

// tail is the newest messages of a conversation: few where a person is among them,
// else so many that what the bot has said to other bots is found among what they say.
func (a *Activities) tail(ctx context.Context, c chat.Conversation) ([]chat.Message, error) {
	const few, many = 20, 1000
	tail, err := a.Store.Tail(ctx, c, few)
	if err != nil || len(tail) < few || slices.ContainsFunc(tail, func(m chat.Message) bool { return !m.Own && !m.ByBot() }) {
		return tail, err
	}
	return a.Store.Tail(ctx, c, many)
}
