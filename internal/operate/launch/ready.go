package launch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"myao/internal/runtime/web"
	"myao/internal/store"
)

// DatabaseReady checks that the database is open and accepts writes. While it is being opened, the
// error says how far that has got.
func (p Program) DatabaseReady(opened *atomic.Pointer[store.Store]) web.Check {
	return func(ctx context.Context) error {
		db := opened.Load()
		if db == nil {
			if p.openStatus != nil {
				if status, _ := p.openStatus.Load().(string); status != "" {
					return fmt.Errorf("database: not open yet: %s", status)
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
