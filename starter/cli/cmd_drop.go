package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

type dropCommand struct {
	placeArg
	All bool `help:"Drop what is waiting in all open conversations."`
	Yes bool `help:"With --all: do not ask first."`
	orderFlags
}

// Help implements kong's Help.
func (dropCommand) Help() string {
	return `Waiting messages, a judgment, a delayed reply and a reply being composed are dropped. A reply that
is being posted is not withdrawn. Messages sent later, and those sent since that reply was begun,
are handled as usual.

  starter drop general
  starter drop C0123456789 1700000000.000100
  starter drop --all --yes

With --all, messages that Temporal does not know yet are not among what is dropped: mute the bot
everywhere first.`
}

// Validate implements kong's Validate.
func (c *dropCommand) Validate() error {
	if c.Yes && !c.All {
		return errors.New("--yes needs --all")
	}
	return cmp.Or(c.check(c.All, "--all"), c.checkTimeout())
}

func (c *dropCommand) run(ctx context.Context, p *program) error {
	if c.All {
		return c.dropAll(ctx, p)
	}
	return c.send(ctx, p, conversationArg(c.placeArg), conversation.UpdateDrop, 0)
}

// dropReport is what drop --all has done.
type dropReport struct {
	Open    int                 `json:"open"` // conversations that were told
	Dropped []chat.Conversation `json:"dropped"`
	Idle    int                 `json:"idle"` // conversations in which nothing waited
	Failed  []dropFailure       `json:"failed"`
}

type dropFailure struct {
	Conversation chat.Conversation `json:"conversation"`
	Reason       string            `json:"reason"`
}

func (c *dropCommand) dropAll(ctx context.Context, p *program) error {
	o, err := p.operator(ctx, c.temporalFlags)
	if err != nil {
		return err
	}
	db, scope, err := p.scope(ctx, "", "")
	if err != nil {
		return err
	}
	listing, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	open, err := o.Open(listing, scope.Team)
	if err != nil {
		return c.explain(ctx, err)
	}
	if len(open) > 0 {
		if err := (confirmFlag{c.Yes}).
			confirm(p, fmt.Sprintf("Drop what waits in %d open conversations?", len(open))); err != nil {
			return err
		}
	}
	report := c.dropIn(ctx, p, o, open)
	if err := c.print(p.stdout, report,
		func(w io.Writer) error { return report.text(ctx, w, db, scope.Team) }); err != nil {
		return err
	}
	if n := len(report.Failed); n > 0 {
		return fmt.Errorf("not dropped in %d of %d open conversations", n, report.Open)
	}
	return nil
}

// dropIn drops what waits in conversations, and tells stderr how far it is.
func (c *dropCommand) dropIn(
	ctx context.Context, p *program, o *operator.Operator, open []chat.Conversation,
) dropReport {
	report := dropReport{Open: len(open), Dropped: []chat.Conversation{}, Failed: []dropFailure{}}
	told, shown := 0, time.Now()
	o.DropIn(ctx, open, c.by(), orderID(), c.Timeout, func(r operator.DropResult) {
		switch told++; {
		case r.Err != nil:
			report.Failed = append(report.Failed, dropFailure{r.Conversation, c.whyNotDropped(ctx, r.Err)})
		case r.Dropped:
			report.Dropped = append(report.Dropped, r.Conversation)
		default:
			report.Idle++
		}
		if told == len(open) || time.Since(shown) > time.Second {
			shown = time.Now()
			_, _ = fmt.Fprintf(p.stderr, "%d of %d conversations told\n", told, len(open))
		}
	})
	return report
}

// whyNotDropped is a failure in words.
func (c *dropCommand) whyNotDropped(ctx context.Context, err error) string {
	if refused, ok := errors.AsType[*operator.Refused](err); ok && refused.Phase == conversation.Replying {
		return "its reply is being posted: mute the bot everywhere to stop what is left of it"
	}
	return c.explain(ctx, err).Error()
}

// text writes the report with the names of channels.
func (r dropReport) text(ctx context.Context, w io.Writer, db *store.Store, team string) error {
	ids := make([]string, len(r.Failed))
	for i, f := range r.Failed {
		ids[i] = f.Conversation.Channel
	}
	known, err := db.Channels(ctx, team, ids)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "dropped in %d conversations; nothing waited in %d\n", len(r.Dropped), r.Idle)
	for _, f := range r.Failed {
		_, failed := fmt.Fprintf(w, "not dropped in %s: %s\n",
			conversationName(f.Conversation, known[f.Conversation.Channel].Name), timeline.Plain(f.Reason))
		err = cmp.Or(err, failed)
	}
	return err
}
