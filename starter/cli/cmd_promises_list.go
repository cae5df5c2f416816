package cli

import (
	"context"
	"fmt"
	"io"

	"myao/internal/operate/timeline"
	"myao/internal/store"
)

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

func (c *promisesList) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	found, err := db.Promises(ctx, store.PromiseFilter{Team: scope.Team, Channel: scope.Channel, All: c.All,
		Limit: c.Limit})
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
			f.ID, string(f.State), promiseTimes(f, p.Config.Location()),
			conversationName(f.Conversation(), found[i].ChannelName),
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
