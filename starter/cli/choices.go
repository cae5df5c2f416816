package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// choiceRow is how a list shows a proposal or a promise.
type choiceRow struct {
	*store.Choice
	state, when, by, what string
}

// listChoices prints the proposals or promises of the workspace that a filter lets through, or those of one channel.
func listChoices[C any](ctx context.Context, p *program, o output, channel string, f store.ChoiceFilter,
	read func(*store.Store, context.Context, store.ChoiceFilter) ([]C, error), when, by string,
	row func(*C, *time.Location) choiceRow) error {
	db, scope, err := p.scope(ctx, channel, "")
	if err != nil {
		return err
	}
	f.Team, f.Channel = scope.Team, scope.Channel
	found, err := read(db, ctx, f)
	if err != nil {
		return err
	}
	var ids []string
	for i := range found {
		ids = append(ids, row(&found[i], p.Config.Location()).ChannelID)
	}
	channels, err := db.Channels(ctx, scope.Team, ids)
	if err != nil {
		return err
	}
	rows := [][]string{{"ID", "STATE", when, "CONVERSATION", "ASKED BY", by, "WHAT"}}
	for i := range found {
		r := row(&found[i], p.Config.Location())
		r.ChannelName = channels[r.ChannelID].Name
		rows = append(rows, []string{r.ID, r.state, r.when, conversationName(r.Conversation(), r.ChannelName),
			timeline.Plain(r.Asker), timeline.Plain(r.by), timeline.Plain(r.what)})
	}
	return o.print(p.stdout, nonNil(found), func(w io.Writer) error {
		if len(found) == 0 {
			_, err := fmt.Fprintln(w, "none")
			return err
		}
		return table(w, rows)
	})
}

// checkChoice is the error of an order about a proposal or a promise, which was open if done is set.
func checkChoice(kind, id string, state string, done bool, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("there is no %s %s: `starter %ss list --all` shows them", kind, timeline.Plain(id), kind)
	case err != nil:
		return err
	case !done:
		return fmt.Errorf("%s %s is %s already", kind, id, state)
	}
	return nil
}
