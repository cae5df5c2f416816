package door

import (
	"context"
	"encoding/json"
	"errors"

	"myao/internal/language/words"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
)

// replyLater is the immediate answer to a command that takes longer.
const replyLater = "I am on it. The answer follows here."

// CommandHandler carries out slash commands. outsider is set if a guest or somebody of another company
// typed the command. Answer returns the answer in Slack's mrkdwn and, for
// the metrics, the name of the order and its result: done, refused, unknown or failed.
type CommandHandler interface {
	Answer(ctx context.Context, c slack.Command, own slack.Identity, outsider bool) (a slack.Answer, order,
		result string)
	// Undo undoes what the button slack.ActionUndoSettings stands for.
	Undo(ctx context.Context, b slack.BlockAction, own slack.Identity, outsider bool) (a slack.Answer, result string)
}

// command handles a slash command, and returns the immediate answer.
func (d *Door) command(ctx context.Context, c slack.Command) (json.RawMessage, error) {
	ctx, cancel := timeout.After(ctx, replyTimeout)
	defer cancel()
	team, organisation := c.Authorization()
	r, own, err := d.enter(ctx, team, organisation)
	switch {
	case err == nil:
		return r.command(ctx, c, own)
	case slack.LeftOut(err):
		d.leaveOut(ctx, "", c.Type, err)
		return nil, nil
	}
	d.Metrics.event("failed")
	return nil, err
}

func (d room) command(ctx context.Context, c slack.Command, own slack.Identity) (json.RawMessage, error) {
	why := c.Check(own)
	visits := errors.Is(why, slack.ErrForeign) && c.FromElsewhere(own) && d.shared(ctx, own.TeamID, c.Channel)
	if why != nil && !visits {
		d.leaveOut(ctx, "", c.Type, why)
		return nil, nil
	}
	answered := make(chan slack.Answer)
	d.pending.Go(func() {
		work, cancel := timeout.After(context.WithoutCancel(ctx), commandTimeout)
		defer cancel()
		outsider, err := d.outsider(work, own, c.User, c.UserTeam, c.Channel)
		if err != nil {
			d.Logger.WarnContext(work, "cannot tell whether a user is an outsider; taken for one", "user", c.User,
				"error", err)
		}
		answer, order, result := d.CommandHandler.Answer(work, c, own, visits || outsider || err != nil)
		d.orderHandled(work, order, result, c.Request, own)
		select {
		case answered <- answer: // in time for the immediate answer
		case <-ctx.Done():
			d.respond(ctx, c.Request, answer)
		}
	})
	select {
	case answer := <-answered:
		return slack.Ephemeral(answer), nil
	case <-ctx.Done():
		return slack.Ephemeral(slack.Answer{Text: words.In(d.Config.Language).Of(replyLater)}), nil
	}
}
