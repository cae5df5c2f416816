package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"

	"myao/internal/operate/timeline"
)

// notesCommand shows notes and takes them back.
type notesCommand struct {
	List   notesList   `cmd:"" help:"List what people asked the bot to remember in a channel."`
	Forget notesForget `cmd:"" help:"Take a note back."`
}

type notesList struct {
	Channel string `arg:"" help:"The channel: its id, or its name with or without #."`
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
		rows = append(rows, []string{strconv.FormatInt(n.ID, 10), n.Noted.In(p.Config.Location()).Format("2006-01-02 15:04"), timeline.Plain(by), timeline.Plain(n.Text)})
	}
	return c.print(p.stdout, nonNil(notes), func(w io.Writer) error { return table(w, rows) })
}

type notesForget struct {
	Channel string `arg:"" help:"The channel: its id, or its name with or without #."`
	ID      string `arg:"" help:"The number of the note."`
	byFlag
}

// Help implements kong's Help.
func (notesForget) Help() string { return "Examples:\n  starter notes forget general 3" }

// Validate implements kong's Validate.
func (c *notesForget) Validate() error {
	if _, err := strconv.ParseInt(c.ID, 10, 64); err != nil {
		return fmt.Errorf("%q is not the number of a note: `starter notes list` shows them", c.ID)
	}
	return nil
}

func (c *notesForget) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(c.ID, 10, 64)
	if err != nil {
		return err
	}
	found, err := db.ForgetNote(ctx, scope, id, orderID(), c.by())
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("there is no note %s in %s: `starter notes list` shows them", c.ID, c.Channel)
	}
	_, err = fmt.Fprintf(p.stdout, "note %d is forgotten\n", id)
	return err
}
