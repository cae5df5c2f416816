package door

import (
	"context"
	"fmt"
	"time"

	"myao/internal/runtime/timeout"
	"myao/internal/slack"
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

// Responder sends an answer to the response_url of a request.
type Responder interface {
	Respond(ctx context.Context, address string, a slack.Answer) error
}

// orderHandled counts and logs an order.
func (d room) orderHandled(ctx context.Context, order, result string, r slack.Request, own slack.Identity) {
	d.Metrics.event("ordered")
	d.Metrics.order(order, result)
	d.Logger.InfoContext(ctx, "order from Slack", "order", order, "result", result, "conversation",
		"channel/"+own.TeamID+"/"+r.Channel, "user", r.User)
}

// respond sends an answer to the response_url of a request. It ignores the end of ctx, which ends
// with the immediate answer.
func (d room) respond(ctx context.Context, r slack.Request, a slack.Answer) {
	ctx, cancel := timeout.After(context.WithoutCancel(ctx), respondTimeout)
	defer cancel()
	if err := d.Responder.Respond(ctx, r.ResponseURL, a); err != nil {
		d.Logger.WarnContext(ctx, "answer not delivered", "type", r.Type, "channel", r.Channel, "user", r.User, "error",
			err)
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
