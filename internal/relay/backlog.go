package relay

import (
	"context"
	"time"
)

const (
	// muchLeft is of how many changes a backlog is told, and fewLeft how many may be on
	// their way when it is over.
	muchLeft, fewLeft = 100, 10
	// tellEvery is the time between two words about it.
	tellEvery = 10 * time.Second
)

// telling is what the sweep has told of a backlog. Only the sweep uses it.
type telling struct {
	// is there a backlog that was told of?
	told bool
	// at is when it was told of last, and looked when it was measured.
	at, looked time.Time
}

// tellBacklog says how large the backlog is when it is large, how much is left as it is
// worked off, and when it is gone. left is whether the sweep found any.
func (r *Relay) tellBacklog(ctx context.Context, left bool) {
	now := r.clock()
	t := &r.telling
	if !left && !t.told || now.Sub(t.looked) < sweepEvery || left && t.told && now.Sub(t.at) < tellEvery {
		return
	}
	t.looked = now
	ctx, cancel := context.WithTimeout(ctx, turnFor)
	defer cancel()
	changes, oldest, err := r.store.BacklogSize(ctx)
	switch {
	case err != nil:
		r.tell(ctx, "backlog not measured", err)
	case t.told && changes <= fewLeft:
		t.told = false
		r.logger.Info("backlog relayed", "changes", changes)
	case t.told && now.Sub(t.at) >= tellEvery, !t.told && changes > muchLeft:
		t.told, t.at = true, now
		r.logger.Info("backlog to be relayed", "changes", changes, "oldest", now.Sub(oldest).Round(time.Second).String())
	}
}
