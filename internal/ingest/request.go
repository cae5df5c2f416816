package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"myao/internal/slack"
	"myao/internal/words"
)

const (
	// answerWithin is how long a request may take to be answered on the spot. Slack waits
	// three seconds; what takes longer is answered at the request's response_url.
	answerWithin = 2 * time.Second
	// workFor is how long it may take in all, and respondFor how long Slack then to take the
	// answer: together less than a program may take to stop.
	workFor    = 8 * time.Second
	respondFor = 5 * time.Second
)

// follows is what is said on the spot of what takes longer.
const follows = "I am on it. The answer follows here."

// Desk answers what people type after the slash command, in Slack's mrkdwn. It names what
// it was asked for, and how that ended, for the metrics: done, refused, unknown or failed.
type Desk interface {
	Answer(ctx context.Context, c slack.Command, own slack.Identity) (text, order, result string)
}

// Responder brings an answer to the response_url of a request.
type Responder interface {
	Respond(ctx context.Context, address, text string) error
}

// command takes in a slash command and returns what to say on the spot.
func (d *Door) command(ctx context.Context, c slack.Command) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	own, err := d.asked(ctx, c.Request)
	if err != nil {
		return nil, acknowledged(err)
	}
	said := make(chan string)
	d.pending.Go(func() {
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), workFor)
		defer cancel()
		text, order, result := d.Desk.Answer(work, c, own)
		d.told(work, order, result, c.Request, own)
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
		return slack.Ephemeral(words.In(d.Config.Language).Of(follows)), nil
	}
}

// interaction takes in a button, a dialog or a shortcut. They are answered at their
// response_url alone, once what they are about is committed.
func (d *Door) interaction(ctx context.Context, i slack.Interaction) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	own, err := d.asked(ctx, i.Request)
	if err != nil {
		return acknowledged(err)
	}
	if i.Type != "message_action" || i.Callback != AnswerNow {
		d.leaveOut(ctx, "", i.Type, fmt.Errorf("%w: nothing answers to it", slack.ErrIgnored))
		return nil
	}
	text, result, err := d.answerNow(ctx, i, own)
	if err != nil {
		d.Metrics.order("answer_now", "failed")
		return err
	}
	d.told(ctx, "answer_now", result, i.Request, own)
	d.pending.Go(func() { d.respond(ctx, i.Request, words.In(d.Config.Language).Of(text)) })
	return nil
}

// errLeftOut is a request that is acknowledged, and nothing else.
var errLeftOut = errors.New("left out")

func acknowledged(err error) error {
	if errors.Is(err, errLeftOut) {
		return nil
	}
	return err
}

// asked checks whose a request is.
func (d *Door) asked(ctx context.Context, r slack.Request) (slack.Identity, error) {
	own, err := d.own(ctx)
	if err != nil {
		d.Metrics.event("failed")
		return slack.Identity{}, err
	}
	why := r.Of(own)
	if why == nil && (r.User == "" || r.Channel == "") && (r.Type == "slash_command" || r.Type == "message_action") {
		why = fmt.Errorf("%w: a request without who or where", slack.ErrUnusable)
	}
	if why != nil {
		d.leaveOut(ctx, "", r.Type, why)
		return slack.Identity{}, errLeftOut
	}
	return own, nil
}

// told counts an order and writes it to the log.
func (d *Door) told(ctx context.Context, order, result string, r slack.Request, own slack.Identity) {
	d.Metrics.event("ordered")
	d.Metrics.order(order, result)
	d.Logger.InfoContext(ctx, "order from Slack", "order", order, "result", result, "conversation", "channel/"+own.TeamID+"/"+r.Channel, "user", r.User)
}

// respond answers at the response_url of a request, though who asked has been answered on
// the spot, and the context has ended with that.
func (d *Door) respond(ctx context.Context, r slack.Request, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), respondFor)
	defer cancel()
	if err := d.Answers.Respond(ctx, r.ResponseURL, text); err != nil {
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
