package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/language/when"
	"myao/internal/operate/choice"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// promisesCommand shows what the bot has promised, ends it, and moves it.
type promisesCommand struct {
	List   promisesList   `cmd:"" help:"List what the bot has promised and not kept yet, those due first coming first."`
	Cancel promisesCancel `cmd:"" help:"Cancel a promise. One that repeats ends."`
	Move   promisesMove   `cmd:"" help:"Make a promise due at another time. Of one that repeats, only the next time moves."`
}

type promisesList struct {
	Channel string `placeholder:"CHANNEL" help:"Only those of this channel and its threads: its id, or its name with or without #."`
	All     bool   `help:"Those that have ended, too; the newest come first."`
	Limit   int    `default:"50" placeholder:"N" help:"At most N promises (${default}), up to 10000."`
	output
}

// Help implements kong's Help.
func (promisesList) Help() string {
	return `A promise is open from when the message that confirms it is in Slack until it is kept, or ends otherwise:
released (it was settled), withdrawn (the message that asked was deleted), cancelled or failed.

  starter promises list
  starter promises list --all --channel '#general' --json | jq '.[] | select(.state == "failed")'`
}

// Validate implements kong's Validate.
func (c *promisesList) Validate() error { return checkLimit(c.Limit, maxListed) }

// promiseTimes is when a promise is due, how it repeats, and until when it is held up.
func promiseTimes(p store.Promise, zone *time.Location) string {
	text := formatTime(p.Due(), zone)
	if p.Every != "" {
		text += ", every " + p.Every
	}
	if !p.Held().IsZero() {
		text += ", held until " + formatTime(p.Held(), zone)
	}
	return text
}

// promiseText is what was promised, on one line.
func promiseText(p store.Promise) string {
	if p.Unless == "" {
		return timeline.Plain(p.What)
	}
	return timeline.Plain(p.What + " (unless: " + p.Unless + ")")
}

func (c *promisesList) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	found, err := db.Promises(ctx, store.PromiseFilter{Team: scope.Team, Channel: scope.Channel, All: c.All, Limit: c.Limit})
	if err != nil {
		return err
	}
	var ids []string
	for _, f := range found {
		ids = append(ids, f.ChannelID)
	}
	channels, err := db.Channels(ctx, scope.Team, ids)
	if err != nil {
		return err
	}
	rows := [][]string{{"ID", "STATE", "DUE", "CONVERSATION", "ASKED BY", "ENDED BY", "WHAT"}}
	for i, f := range found {
		found[i].ChannelName = channels[f.ChannelID].Name
		rows = append(rows, []string{
			f.ID, string(f.State), promiseTimes(f, p.Config.Location()), conversationName(f.Conversation(), found[i].ChannelName),
			timeline.Plain(f.Asker), timeline.Plain(f.EndedBy), promiseText(f),
		})
	}
	return c.print(p.stdout, nonNil(found), func(w io.Writer) error {
		if len(found) == 0 {
			_, err := fmt.Fprintln(w, "none")
			return err
		}
		return table(w, rows)
	})
}

type promisesCancel struct {
	ID string `arg:"" help:"The id of the promise."`
	byFlag
}

// Help implements kong's Help.
func (promisesCancel) Help() string {
	return `Its message in Slack shows who cancelled it. Needs the database only; the message changes when a
starter and a worker run.

  starter promises cancel 1f3870be274f6c49b3e3`
}

func (c *promisesCancel) run(ctx context.Context, p *program) error {
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	found, first, _, err := db.CancelPromise(ctx, c.ID, c.by())
	if err = checkPromise(c.ID, found, first, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "promise %s is cancelled\n", found.ID)
	return err
}

type promisesMove struct {
	ID   string   `arg:"" help:"The id of the promise."`
	When []string `arg:"" help:"When it is due: in 90m, mon 09:00, 2026-11-27 09:00, for example."`
	byFlag
}

// Help implements kong's Help.
func (promisesMove) Help() string {
	return `A local time is of the promise's own time zone, in which it was made. Needs the database only; its message
in Slack changes when a starter and a worker run.

  starter promises move 1f3870be274f6c49b3e3 tomorrow 09:00
  starter promises move 1f3870be274f6c49b3e3 2026-11-27T09:00:00+01:00`
}

func (c *promisesMove) run(ctx context.Context, p *program) error {
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	found, err := db.Promise(ctx, c.ID)
	if err = checkPromise(c.ID, found, found.State == store.PromiseOpen, err); err != nil {
		return err
	}
	due, err := when.Parse(strings.Join(c.When, " "), time.Now(), found.Location())
	if err != nil {
		return err
	}
	found, moved, _, err := db.MovePromise(ctx, c.ID, due, c.by())
	if err = checkPromise(c.ID, found, moved, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "promise %s is due on %s\n", found.ID, choice.ZonedTime(nil, found.Due(), found.Location()))
	return err
}

// checkPromise is the error of an order about a promise, which was open if done is set.
func checkPromise(id string, found store.Promise, done bool, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("there is no promise %s: `starter promises list --all` shows them", timeline.Plain(id))
	case err != nil:
		return err
	case !done:
		return fmt.Errorf("promise %s is %s already", found.ID, found.State)
	}
	return nil
}

// openPromises are the conversation's open promises.
func openPromises(ctx context.Context, db *store.Store, c chat.Conversation) ([]store.Promise, error) {
	found, err := db.Promises(ctx, store.PromiseFilter{Team: c.Team, Channel: c.Channel, Thread: c.Thread, TopLevel: c.TopLevel(), Limit: maxListed})
	return nonNil(found), err
}
