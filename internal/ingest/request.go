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
	// replyTimeout is how long the immediate answer to a request may take. Slack waits three
	// seconds. A later answer goes to the request's response_url.
	replyTimeout = 2 * time.Second
	// commandTimeout is how long a command may take in all, and respondTimeout how long it may take
	// to deliver the late answer. Together they are shorter than the shutdown of the starter.
	commandTimeout = 8 * time.Second
	respondTimeout = 5 * time.Second
)

// replyLater is the immediate answer to a command that takes longer.
const replyLater = "I am on it. The answer follows here."

// CommandHandler carries out slash commands. Answer returns the answer in Slack's mrkdwn and, for
// the metrics, the name of the order and its result: done, refused, unknown or failed.
type CommandHandler interface {
	Answer(ctx context.Context, c slack.Command, own slack.Identity) (text, order, result string)
}

// Responder sends an answer to the response_url of a request.
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
	answered := make(chan string)
	d.pending.Go(func() {
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
		defer cancel()
		text, order, result := d.CommandHandler.Answer(work, c, own)
		d.orderHandled(work, order, result, c.Request, own)
		select {
		case answered <- text: // in time for the immediate answer
		case <-ctx.Done():
			d.respond(ctx, c.Request, text)
		}
	})
	select {
	case text := <-answered:
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

// act decodes an interaction and carries it out. Its error is a reason to leave the interaction
// out (slack.LeftOut), or says why it failed.
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

// orderHandled counts and logs an order.
func (d *Door) orderHandled(ctx context.Context, order, result string, r slack.Request, own slack.Identity) {
	d.Metrics.event("ordered")
	d.Metrics.order(order, result)
	d.Logger.InfoContext(ctx, "order from Slack", "order", order, "result", result, "conversation", "channel/"+own.TeamID+"/"+r.Channel, "user", r.User)
}

// respond sends an answer to the response_url of a request. It ignores the end of ctx, which ends
// with the immediate answer.
func (d *Door) respond(ctx context.Context, r slack.Request, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), respondTimeout)
	defer cancel()
	if err := d.Responder.Respond(ctx, r.ResponseURL, text); err != nil {
		d.Logger.WarnContext(ctx, "answer not delivered", "type", r.Type, "channel", r.Channel, "user", r.User, "error", err)
	}
}

// Close waits until all late answers are sent, or ctx ends. Nothing may be received after Close
// is called.
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
