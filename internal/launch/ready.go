package launch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/web"
)

// DatabaseReady checks that the database has been opened, and takes writes. Until then it
// says what that is at.
func (p Program) DatabaseReady(opened *atomic.Pointer[store.Store]) web.Check {
	return func(ctx context.Context) error {
		db := opened.Load()
		if db == nil {
			if p.opening != nil {
				if at, _ := p.opening.Load().(string); at != "" {
					return fmt.Errorf("database: not open yet: %s", at)
				}
			}
			return errors.New("database: not open yet")
		}
		if err := db.Writable(ctx); err != nil {
			return fmt.Errorf("database: %w", err)
		}
		return nil
	}
}

// SlackReady checks that Slack knows the bot.
func SlackReady(client *slack.Client) web.Check {
	return func(ctx context.Context) error {
		if _, err := client.Identity(ctx); err != nil {
			return fmt.Errorf("slack: %w", err)
		}
		return nil
	}
}
