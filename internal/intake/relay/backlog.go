package relay

import (
	"context"
	"time"

	"myao/internal/runtime/timeout"
)

const (
	// A backlog is reported from backlogStart pending changes on, until no more than
	// backlogEnd are left.
	backlogStart, backlogEnd = 100, 10
	// reportInterval is the time between two log lines about a backlog.
	reportInterval = 10 * time.Second
)

// backlogReport is what the log says of the backlog. Only the sweep uses it.
type backlogReport struct {
	open     bool // a backlog was reported, and not yet its end
	reported time.Time
	measured time.Time
}

// reportBacklog logs the size of a large backlog, its progress, and its end. found says that
// the sweep has found any.
func (r *Relay) reportBacklog(ctx context.Context, found bool) {
	now := r.clock()
	b := &r.report
	if !found && !b.open || now.Sub(b.measured) < sweepInterval || found && b.open &&
		now.Sub(b.reported) < reportInterval {
		return
	}
	b.measured = now
	ctx, cancel := timeout.After(ctx, batchTimeout)
	defer cancel()
	changes, oldest, err := r.store.BacklogSize(ctx)
	switch {
	case err != nil:
		r.warn(ctx, "backlog not measured", err)
	case b.open && changes <= backlogEnd:
		b.open = false
		r.logger.Info("backlog relayed", "changes", changes)
	case b.open && now.Sub(b.reported) >= reportInterval, !b.open && changes > backlogStart:
		b.open, b.reported = true, now
		r.logger.Info("backlog to be relayed", "changes", changes, "oldest", now.Sub(oldest).Round(time.Second).
			String())
	}
}
