package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"myao/internal/slack"
	"myao/internal/words"
)

const (
	// replyTimeout is how long a request may take to be answered on the spot. Slack waits
	// three seconds; what takes longer is answered at the request's response_url.
	replyTimeout = 2 * time.Second
	// commandTimeout is how long it may take in all, and respondFor how long Slack then to take the
	// answer: together less than a program may take to stop.
	commandTimeout = 8 * time.Second
	respondTimeout = 5 * time.Second
)

// replyLater is what is said on the spot of what takes longer.
const replyLater = "I am on it. The answer follows here."

// CommandHandler answers what people type after the slash command, in Slack's mrkdwn. It names what
// it was asked for, and how that ended, for the metrics: done, refused, unknown or failed.
type CommandHandler interface {
	Answer(ctx context.Context, c slack.Command, own slack.Identity) (text, order, result string)
}

// Responder brings an answer to the response_url of a request.
type Responder interface {
	Respond(ctx context.Context, address, text string) error
}

// command handles a slash command, and returns the immediate answer.
func (d *Door) command(ctx context.Context, c slack.Command) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	own, err := d.identity(ctx)
	if err != nil {
		d.Metrics.event("failed")
		return nil, err
	}
	if why := c.Check(own); why != nil {
		d.leaveOut(ctx, "", c.Type, why)
		return nil, nil
	}
	said := make(chan string)
	d.pending.Go(func() {
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
		defer cancel()
		text, order, result := d.CommandHandler.Answer(work, c, own)
		d.orderHandled(work, order, result, c.Request, own)
		select {
		case said <- text: // somebody still waits for it
		case <-ctx.Done():
			d.respond(ctx, c.Request, text)
		}
	})
	select {
	case text := <-said:
		return slack.Ephemeral(text), nil
	case <-ctx.Done():
		return slack.Ephemeral(words.In(d.Config.Language).Of(replyLater)), nil
	}
}

// interaction handles the use of a shortcut, a button or a view. It is answered at its
// response_url alone, once everything about it is committed.
func (d *Door) interaction(ctx context.Context, i slack.Interaction) error {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	own, err := d.identity(ctx)
	if err != nil {
		d.Metrics.event("failed")
		return err
	}
	if err = d.act(ctx, i, own); slack.LeftOut(err) {
		d.leaveOut(ctx, "", i.Type, err)
		return nil
	}
	return err
}

// act decodes an interaction, and carries it out. Its error is as that of handle.
func (d *Door) act(ctx context.Context, i slack.Interaction, own slack.Identity) error {
	action, err := slack.DecodeInteraction(i, own)
	if err != nil {
		return err
	}
	switch a := action.(type) {
	case slack.MessageShortcut:
		return d.shortcut(ctx, a, own)
	case slack.BlockAction:
		return fmt.Errorf("%w: no button has the action_id %q", slack.ErrIgnored, a.ActionID)
	case slack.ViewSubmission:
		return fmt.Errorf("%w: no view has the callback_id %q", slack.ErrIgnored, a.Callback)
	}
	return fmt.Errorf("%w: nothing handles %T", slack.ErrIgnored, action)
}

// orderHandled counts an order and writes it to the log.
func (d *Door) orderHandled(ctx context.Context, order, result string, r slack.Request, own slack.Identity) {
	d.Metrics.event("ordered")
	d.Metrics.order(order, result)
	d.Logger.InfoContext(ctx, "order from Slack", "order", order, "result", result, "conversation", "channel/"+own.TeamID+"/"+r.Channel, "user", r.User)
}

// respond answers at the response_url of a request, though who asked has been answered on
// the spot, and the context has ended with that.
func (d *Door) respond(ctx context.Context, r slack.Request, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), respondTimeout)
	defer cancel()
	if err := d.Responder.Respond(ctx, r.ResponseURL, text); err != nil {
		d.Logger.WarnContext(ctx, "answer not delivered", "type", r.Type, "channel", r.Channel, "user", r.User, "error", err)
	}
}

// Close waits until what was promised on the spot has been answered, or the context ends.
// Nothing may be taken in any more.
func (d *Door) Close(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		d.pending.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for answers under way: %w", ctx.Err())
	}
}
