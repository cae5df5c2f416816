package activities

import (
	"context"
	"log/slog"
	"time"

	"myao/internal/chat"
	"myao/internal/language/words"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
)

// ForgetPersonInput is the wish of a person to be forgotten.
type ForgetPersonInput struct {
	Person chat.Person `json:"person"`
	// ID is the order's id.
	ID string `json:"id"`
}

// Workspace implements Input.
func (in ForgetPersonInput) Workspace() string { return in.Person.Team }

// ForgetPerson takes a person out of the database, at their own order and in small steps. It may be
// killed at any time: the next attempt ends the same.
func (a *Activities) ForgetPerson(ctx context.Context, in ForgetPersonInput) error {
	ctx, stop := heartbeat(ctx)
	defer stop()
	rows, began := 0, a.Clock()
	last := began
	err := a.Store.ForgetPerson(ctx, in.Person, "slack:"+in.Person.User, in.ID, func(_ string, _, changed int) error {
		rows += changed
		// As long as the step, so that others can use the database.
		if changed > 0 && !pause.For(ctx, max(minPrunePause, a.Clock().Sub(last))) {
			return context.Cause(ctx)
		}
		last = a.Clock()
		return nil
	})
	a.Logger.LogAttrs(ctx, slog.LevelInfo, "forgot a person", slog.Int("rows", rows), slog.Bool("finished", err == nil),
		slog.Duration("took", a.Clock().Sub(began)))
	return classify(err)
}

// forgotten is what a person is told who asked to be forgotten.
const forgotten = "I have forgotten you, as you asked: what you wrote, what I remembered of it, and my answers to " +
	"you are no longer in my database. " +
	"Slack keeps its own copy. What you write from now on I store as before."

// TellForgotten tells a person in a direct message that they were forgotten. An attempt whose end is
// not known is repeated, so that they may read it twice. While the bot is muted everywhere, nothing
// is posted, and the person is not told.
func (a *Activities) TellForgotten(ctx context.Context, in ForgetPersonInput) error {
	ctx, cancel := timeout.After(ctx, 30*time.Second)
	defer cancel()
	if muted, err := a.Store.MutedEverywhere(ctx, in.Person.Team); err != nil || muted != nil {
		a.Logger.InfoContext(ctx, "forgot a person without telling them", "muted_everywhere", muted != nil)
		return classify(err)
	}
	_, err := a.Slack.Post(ctx, slack.Post{Channel: in.Person.User, Text: words.In(a.Language).Of(forgotten),
		Key:     in.ID,
		Plainer: (attemptNumber(ctx) - 1) / answersPerForm})
	return classify(err)
}
