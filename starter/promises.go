package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/launch"
	"myao/internal/ledger"
	"myao/internal/promise"
	"myao/internal/store"
	"myao/internal/when"
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

// promiseReport is one promise.
type promiseReport struct {
	ID    string             `json:"id"`
	State store.PromiseState `json:"state"`
	// Due is when it is due next, or was in the end.
	Due     time.Time `json:"due"`
	What    string    `json:"what"`
	Channel string    `json:"channel"`        // id
	Thread  string    `json:"thread"`         // "" at the top level
	AskedBy string    `json:"asked_by"`       // user id
	Name    string    `json:"name,omitempty"` // the channel's
	// Unless is what makes it superfluous; empty for a reminder.
	Unless string `json:"unless,omitempty"`
	Every  string `json:"every,omitempty"` // day, weekday, week or month
	Zone   string `json:"zone"`            // the time zone in which it was made
	// Number counts the times that it is due, from 1.
	Number int `json:"number"`
	// HeldUntil is until when a mute or quiet hours hold it up.
	HeldUntil time.Time `json:"held_until,omitzero"`
	EndedBy   string    `json:"ended_by,omitempty"` // slack:U…, cli:NAME, or a rule
	Ended     time.Time `json:"ended,omitzero"`
	// TS is that of the message that asked, Shown that of the message that confirms it.
	TS    string `json:"ts"`
	Shown string `json:"shown,omitempty"`
}

func newPromiseReport(p store.Promise, channelName string) promiseReport {
	return promiseReport{
		ID: p.ID, State: p.State, Due: p.Due(), What: p.What, Channel: p.ChannelID, Thread: p.ThreadTS, AskedBy: p.Asker, Name: channelName,
		Unless: p.Unless, Every: p.Every, Zone: p.Zone, Number: p.Number, HeldUntil: p.Held(), EndedBy: p.EndedBy, Ended: p.Ended(), TS: p.TriggerTS, Shown: p.ShownTS,
	}
}

// times is when it is due, how it repeats, and until when it is held up.
func (r promiseReport) times(zone *time.Location) string {
	text := formatTime(r.Due, zone)
	if r.Every != "" {
		text += ", every " + r.Every
	}
	if !r.HeldUntil.IsZero() {
		text += ", held until " + formatTime(r.HeldUntil, zone)
	}
	return text
}

// what is what was promised, on one line.
func (r promiseReport) what() string {
	if r.Unless == "" {
		return ledger.Plain(r.What)
	}
	return ledger.Plain(r.What + " (unless: " + r.Unless + ")")
}

func (c *promisesList) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	return withMemory(ctx, p, memoryArg{Channel: c.Channel}, func(db *store.Store, scope chat.Scope) error {
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
		reports := make([]promiseReport, len(found))
		rows := [][]string{{"ID", "STATE", "DUE", "CONVERSATION", "ASKED BY", "ENDED BY", "WHAT"}}
		for i, f := range found {
			r := newPromiseReport(f, channels[f.ChannelID].Name)
			reports[i] = r
			rows = append(rows, []string{
				r.ID, string(r.State), r.times(p.Config.Location()), conversationName(f.Conversation(), r.Name), ledger.Plain(r.AskedBy), ledger.Plain(r.EndedBy), r.what(),
			})
		}
		return c.print(stdout, reports, func(w io.Writer) error {
			if len(found) == 0 {
				_, err := fmt.Fprintln(w, "none")
				return err
			}
			return table(w, rows)
		})
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

func (c *promisesCancel) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	return withMemory(ctx, p, memoryArg{}, func(db *store.Store, _ chat.Scope) error {
		found, first, _, err := db.CancelPromise(ctx, c.ID, c.by())
		if err = checkPromise(c.ID, found, first, err); err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "promise %s is cancelled\n", found.ID)
		return err
	})
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

func (c *promisesMove) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	return withMemory(ctx, p, memoryArg{}, func(db *store.Store, _ chat.Scope) error {
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
		_, err = fmt.Fprintf(stdout, "promise %s is due on %s\n", found.ID, promise.Time(nil, found.Due(), found.Location()))
		return err
	})
}

// checkPromise is the error of an order about a promise, which was open if done is set.
func checkPromise(id string, found store.Promise, done bool, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("there is no promise %s: `starter promises list --all` shows them", ledger.Plain(id))
	case err != nil:
		return err
	case !done:
		return fmt.Errorf("promise %s is %s already", found.ID, found.State)
	}
	return nil
}

// openPromises are the conversation's open promises.
func openPromises(ctx context.Context, d session) ([]promiseReport, error) {
	c := d.conversation
	found, err := d.store.Promises(ctx, store.PromiseFilter{Team: c.Team, Channel: c.Channel, Thread: c.Thread, TopLevel: c.TopLevel(), Limit: maxListed})
	reports := []promiseReport{}
	for _, p := range found {
		reports = append(reports, newPromiseReport(p, ""))
	}
	return reports, err
}
