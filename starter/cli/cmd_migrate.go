package cli

import (
	"context"
	"fmt"

	"myao/internal/store"
)

// migrateCommand brings the tables of the database up to date.
type migrateCommand struct{}

// Help implements kong's Help.
func (migrateCommand) Help() string {
	return `Examples:
  starter migrate
  starter migrate --config /etc/myao/config.yaml

It is safe at any time, also while programs run and migrate themselves: one does it, the others wait.
With database.migrate: check, the programs leave it to this command.`
}

func (migrateCommand) run(ctx context.Context, p *program) error {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(p.stderr, format+"\n", args...) }
	applied, err := p.Migrate(ctx, store.Progress{
		Waiting:  func() { say("another program migrates the database; waiting") },
		Applying: func(left []string) { say("migrating: %s, %d pending", left[0], len(left)) },
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "migrations applied: %d; the database is up to date\n", len(applied))
	return err
}
