package cli

import (
	"cmp"
	"context"
	"io"
	"strconv"

	"myao/internal/operate/timeline"
)

type notesList struct {
	Channel string `arg:"" help:"The channel: its id, or its name with or without #."`
	teamFlag
	output
}

// Help implements kong's Help.
func (notesList) Help() string { return "Examples:\n  starter notes list general --json" }

func (c *notesList) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	notes, err := db.Notes(ctx, scope.Team, scope.Channel)
	if err != nil {
		return err
	}
	var authors []string
	for _, n := range notes {
		authors = append(authors, n.Author)
	}
	users, err := db.Users(ctx, scope.Team, authors)
	if err != nil {
		return err
	}
	rows := [][]string{{"NOTE", "DATE", "BY", "TEXT"}}
	for i, n := range notes {
		notes[i].AuthorName = users[n.Author].Name
		by := cmp.Or(notes[i].AuthorName, n.Author)
		rows = append(rows, []string{strconv.FormatInt(n.ID, 10), n.Noted.In(p.Config.Location()).
			Format("2006-01-02 15:04"), timeline.Plain(by), timeline.Plain(n.Text)})
	}
	return c.print(p.stdout, nonNil(notes), func(w io.Writer) error { return table(w, rows) })
}
