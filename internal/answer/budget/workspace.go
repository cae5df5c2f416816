// Package budget tells how much of its budget of the day the whole workspace has used.
package budget

import (
	"context"
	"sync"
	"time"

	"myao/internal/config"
	"myao/internal/store"
)

// Calls sums up what the calls of a workspace have cost since a time.
type Calls interface {
	SpentByWorkspace(ctx context.Context, team string, since time.Time) (store.Spending, error)
}

// Workspace is the budget of the workspace. The sum of the day's calls is read at most every half minute, and
// kept in memory in between: what is spent in that time, by this worker and by others, may go beyond the
// budget. A nil Workspace has no limit.
type Workspace struct {
	Calls Calls
	Team  string
	Limit config.Budget
	// StartOfDay returns when the current day began.
	StartOfDay func(now time.Time) time.Time
	Clock      func() time.Time

	mu        sync.Mutex // held while the sum is read, so that others wait for it
	day, read time.Time
	spent     store.Spending
}

// maxAge is how old the sum may be.
const maxAge = 30 * time.Second

// today is what has been spent, as of maxAge ago or later.
func (w *Workspace) today(ctx context.Context) (store.Spending, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.Clock()
	day := w.StartOfDay(now)
	if day.Equal(w.day) && now.Sub(w.read) < maxAge {
		return w.spent, nil
	}
	spent, err := w.Calls.SpentByWorkspace(ctx, w.Team, day)
	if err != nil {
		return store.Spending{}, err
	}
	w.day, w.read, w.spent = day, now, spent
	return spent, nil
}

// Used is the share of the day's budget that is used, 1 where it is reached; 0 without a limit.
func (w *Workspace) Used(ctx context.Context) (float64, error) {
	if w == nil || !w.Limit.Limited() {
		return 0, nil
	}
	spent, err := w.today(ctx)
	return w.Limit.Used(spent.Calls, spent.Tokens), err
}
