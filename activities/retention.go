package activities

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/pause"
	"myao/internal/store"
)

const (
	// minPrunePause is the least that others have the database to themselves between two steps
	// that delete something: else as long as the step took.
	minPrunePause = 20 * time.Millisecond
	// pruneReserve is how long before an attempt's time is over it ends by itself.
	pruneReserve = time.Minute
)

// PruneOutput counts rows that were deleted.
type PruneOutput struct {
	Deleted map[string]int `json:"deleted,omitempty"` // by table
	// Unfinished is set when there is more than was done in time: the next run goes on.
	Unfinished bool `json:"unfinished,omitempty"`
}

var errOutOfTime = errors.New("its time is over")

// Prune deletes what the configuration does not have kept any longer, in small steps. It
// may be killed anywhere: what is gone is gone, and the next attempt finds what is left.
func (a *Activities) Prune(ctx context.Context) (PruneOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out := PruneOutput{Deleted: map[string]int{}}
	now := a.Clock()
	end, limited := ctx.Deadline()
	last := now
	err := a.Store.Prune(ctx, store.Cutoffs{
		Ledger: a.Retention.LedgerSince(now), Messages: a.Retention.MessagesSince(now), MemoryVersions: a.Retention.MemoryVersionsSince(now),
	}, func(table string, rows int) error {
		if rows > 0 {
			out.Deleted[table] += rows
			a.Metrics.pruned(table, rows)
			if !pause.For(ctx, max(minPrunePause, a.Clock().Sub(last))) {
				return context.Cause(ctx)
			}
		}
		last = a.Clock()
		if limited && time.Until(end) < pruneReserve {
			return errOutOfTime
		}
		return nil
	})
	out.Unfinished = errors.Is(err, errOutOfTime)
	attributes := []slog.Attr{slog.Bool("finished", err == nil), slog.Duration("took", a.Clock().Sub(now))}
	for _, table := range slices.Sorted(maps.Keys(out.Deleted)) {
		attributes = append(attributes, slog.Int(table, out.Deleted[table]))
	}
	a.Logger.LogAttrs(ctx, slog.LevelInfo, "pruned", attributes...)
	if err != nil && !out.Unfinished {
		return PruneOutput{}, classify(err)
	}
	return out, nil
}

// predatesLedger reports whether the ledger does not reach back to when a task's message was heard
// of: a reply to it may have been posted, and nobody would know. So comes who does again
// what was done long ago, as a workflow does that an operator has reset. What is said late,
// edited or asked for again is heard of then, however old the message is.
func (a *Activities) predatesLedger(ctx context.Context, t Task) (bool, error) {
	since := a.Retention.LedgerSince(a.Clock())
	if since.IsZero() || !chat.Time(t.Trigger).Before(since) || !chat.Time(t.Revision).Before(since) {
		return false, nil
	}
	heard, err := a.Store.ChangeRecordedSince(ctx, t.Conversation, t.Trigger, t.Revision, since)
	return !heard, err
}
