package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/store"
)

type memoryShow struct {
	memoryArg
	Term    string `enum:"long,short," default:"" placeholder:"TERM" help:"long or short (both)."`
	Version int    `placeholder:"N" help:"A version (the current one)."`
	output
}

// Help implements kong's Help.
func (memoryShow) Help() string {
	return "Examples:\n  starter memory show                                    the workspace\n  starter memory show " +
		"general --term long --version 3"
}

// Validate implements kong's Validate.
func (c *memoryShow) Validate() error {
	switch {
	case c.Version < 0:
		return fmt.Errorf("--version %d: want 1 or more", c.Version)
	case c.Version > 0 && c.Term == "" && c.Thread == "":
		return errors.New("--version needs --term long or --term short")
	}
	return checkThread(c.Thread)
}

func (c *memoryShow) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, c.Thread)
	if err != nil {
		return err
	}
	shown, err := c.memories(ctx, p.Config, db, scope)
	if err != nil {
		return err
	}
	return c.print(p.stdout, shown, func(w io.Writer) error {
		for _, r := range shown {
			if err := r.write(w, p.Config.Location()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *memoryShow) memories(
	ctx context.Context, of config.Config, db *store.Store, scope chat.Scope,
) ([]memoryReport, error) {
	standing, err := db.CurrentMemory(ctx, scope)
	if err != nil {
		return nil, err
	}
	inForce := map[chat.Term]*store.Memory{chat.LongTerm: standing.Long, chat.ShortTerm: standing.Short}
	why, err := withheld(ctx, of, db, scope, standing)
	if err != nil {
		return nil, err
	}
	shown := []memoryReport{}
	for _, term := range scope.Terms() {
		if c.Term != "" && c.Term != string(term) {
			continue
		}
		m := inForce[term]
		if c.Version > 0 && (m == nil || m.Version != c.Version) {
			old, err := db.MemoryVersion(ctx, scope, term, c.Version)
			if err != nil {
				return nil, noVersion(err, scope, term, c.Version)
			}
			m = &old
		}
		if m != nil {
			r := newMemoryReport(*m, inForce[term] != nil && inForce[term].ID == m.ID)
			r.Text, r.Withheld = m.Text, why[term]
			shown = append(shown, r)
		}
	}
	if len(shown) == 0 {
		return nil, fmt.Errorf("nothing is remembered of %s", strings.TrimSpace(scope.String()+" "+c.Term))
	}
	return shown, nil
}

// withheld tells by term why prompts do not show a scope's memories, or not all of them.
func withheld(ctx context.Context, of config.Config, db *store.Store, scope chat.Scope,
	standing store.CurrentMemory) (why map[chat.Term]string, err error) {
	why = map[chat.Term]string{}
	if scope.Workspace() {
		long, short, err := db.WorkspaceMemories(ctx, scope.Team, "")
		for _, m := range []struct{ standing, told *store.Memory }{{standing.Long, long}, {standing.Short, short}} {
			if m.standing != nil && m.told == nil {
				why[m.standing.Term] = "hidden until the next memory run: a channel that it was made of has become " +
					"private, or has remember here or nowhere"
			}
		}
		return why, err
	}
	settings, err := storedSettings(ctx, of, db, chat.Conversation(scope))
	for _, term := range scope.Terms() {
		switch settings.Remember {
		case config.RememberHere:
			why[term] = "remember is here: only the channel's own prompts show it"
		case config.RememberNowhere:
			why[term] = "remember is nowhere: no prompt shows it"
		}
	}
	return why, err
}

// write prints a memory and its sources.
func (r memoryReport) write(w io.Writer, zone *time.Location) error {
	cells := r.row(zone)
	_, err := fmt.Fprintf(w, "===== %s-term memory of %s, version %s, made %s by %s, %s\n", r.Term, r.Scope, cells[0],
		cells[1], cells[4], cells[5])
	if err != nil {
		return err
	}
	if r.Withheld != "" {
		if _, err := fmt.Fprintf(w, "----- %s\n", r.Withheld); err != nil {
			return err
		}
	}
	if err := printPlain(w, r.Text); err != nil {
		return err
	}
	if len(r.Sources) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(w, "----- made of %s\n", strings.Join(r.Sources, " "))
	return err
}
