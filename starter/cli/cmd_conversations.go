package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"myao/internal/conversation"
	"myao/internal/operate/operator"
)

// conversationsCommand lists the open conversations.
type conversationsCommand struct {
	Channel string   `placeholder:"CHANNEL" help:"Only those of this channel: its id, or its name with or without #."`
	Phase   []string `enum:"waiting,judging,delaying,replying,idle" placeholder:"PHASE" help:"Only those that are waiting, judging, delaying, replying or idle. Separate several with commas."`
	Limit   int      `default:"50" placeholder:"N" help:"At most N conversations (${default}), up to 10000."`
	teamFlag
	temporalFlags
	output
}

// Help implements kong's Help.
func (conversationsCommand) Help() string {
	return `Conversations are sorted by when they are due. One that has been idle for long is closed and not
listed. The phase is unknown if a conversation did not answer, and paused if somebody has paused
it in Temporal.

  starter conversations
  starter conversations --phase waiting,delaying
  starter conversations --channel '#general' --json | jq '.[].due_at'`
}

// Validate implements kong's Validate.
func (c *conversationsCommand) Validate() error {
	if err := checkLimit(c.Limit, maxListed); err != nil {
		return err
	}
	return c.checkTimeout()
}

func (c *conversationsCommand) run(ctx context.Context, p *program) error {
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	filter := operator.Filter{Limit: c.Limit}
	if c.Channel != "" {
		_, scope, err := p.scope(ctx, c.Channel, "")
		if err != nil {
			return err
		}
		filter.Team, filter.Channel = scope.Team, scope.Channel
	}
	for _, phase := range c.Phase {
		filter.Phases = append(filter.Phases, conversation.Phase(phase))
	}
	o, err := p.operator(ctx, c.temporalFlags)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	all, err := o.Conversations(waiting, filter)
	if err != nil {
		return c.explain(ctx, err)
	}
	mutes, err := db.MutedWorkspaces(ctx)
	if err != nil {
		return err
	}
	return c.print(p.stdout, append([]operator.Listed{}, all...), func(w io.Writer) error {
		for _, o := range mutes {
			if _, err := fmt.Fprintf(w, "The bot is silent %s\n\n",
				everywhereMute{o.By, o.At}.text(p.Config.Location())); err != nil {
				return err
			}
		}
		return c.table(w, all, p.Config.Location(), time.Now())
	})
}

func (c *conversationsCommand) table(w io.Writer, all []operator.Listed, zone *time.Location, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "none")
		return err
	}
	rows := [][]string{{"PHASE", "DUE", "PENDING", "SINCE", "SILENT UNTIL", "CONVERSATION"}}
	for _, l := range all {
		rows = append(rows, []string{
			string(l.Phase), formatTime(l.DueAt, zone), pending(l.Pending), formatTime(l.Since, zone),
			silent(l.Silenced, zone, now),
			conversationName(l.Conversation, l.Name),
		})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	answered := slices.ContainsFunc(all, func(l operator.Listed) bool { return l.Phase != operator.Unknown })
	var err error
	switch {
	case !answered:
		_, err = fmt.Fprintln(w, "\nNone answered, so their phases are unknown. Either no worker runs or they are "+
			"stuck: starter show tells which.")
	case len(all) == c.Limit:
		_, err = fmt.Fprintln(w, "\nThere may be more: raise --limit")
	}
	return err
}

// pending formats how many messages are pending, if that is known.
func pending(n *int) string {
	if n == nil {
		return "–"
	}
	return strconv.Itoa(*n)
}

// silent formats when a mute or snooze ends. A mute has no end.
func silent(until time.Time, zone *time.Location, now time.Time) string {
	switch {
	case !now.Before(until):
		return "–"
	case until.Sub(now) > conversation.MaxSnooze:
		return "it is unmuted"
	}
	return formatTime(until, zone)
}
