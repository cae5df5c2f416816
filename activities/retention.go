package activities

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/temporal"
	"myao/internal/store"
)

const (
	// minPrunePause is the shortest pause between two steps that delete rows. Usually the pause is
	// as long as the step, so that others can use the database.
	minPrunePause = 20 * time.Millisecond
	// pruneReserve is how long before its deadline an attempt stops.
	pruneReserve = time.Minute
)

// PruneOutput counts deleted rows.
type PruneOutput struct {
	Deleted map[string]int `json:"deleted,omitempty"` // by table
	// Unfinished is set if time ran out. The next run goes on.
	Unfinished bool `json:"unfinished,omitempty"`
}

var errOutOfTime = errors.New("its time is over")

// Prune deletes rows older than the configured retention, and what is stored of workspaces that uninstalled the app
// longer ago, in small steps. It may be killed at any time: the next attempt deletes the rest.
func (a *Activities) Prune(ctx context.Context, _ Of) (PruneOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out := PruneOutput{Deleted: map[string]int{}}
	now := a.Clock()
	end, limited := ctx.Deadline()
	last := now
	step := func(table string, rows int) error {
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
	}
	err := a.Store.Prune(ctx, store.Cutoffs{
		Ledger: a.Retention.LedgerSince(now), Messages: a.Retention.MessagesSince(now),
		MemoryVersions: a.Retention.MemoryVersionsSince(now),
	}, step)
	if before := a.Retention.UninstalledBefore(now); err == nil && a.Installable && !before.IsZero() {
		err = a.purgeLeft(ctx, before, step)
	}
	out.Unfinished = errors.Is(err, errOutOfTime)
	attributes := []slog.Attr{slog.Bool("finished", err == nil), slog.Duration("took", a.Clock().Sub(now))}
	for _, table := range slices.Sorted(maps.Keys(out.Deleted)) {
		attributes = append(attributes, slog.Int(table, out.Deleted[table]))
	}
	a.Logger.LogAttrs(ctx, slog.LevelInfo, "pruned", attributes...)
	if out.Unfinished || err == nil {
		err = a.Store.RecordRun(ctx, temporal.RetentionSchedule)
	}
	if err != nil {
		return PruneOutput{}, classify(err)
	}
	return out, nil
}

// maxPurged is how many workspaces one run purges at most.
const maxPurged = 1000

// purgeLeft purges workspaces that the bot left before a time.
func (a *Activities) purgeLeft(ctx context.Context, before time.Time, step func(table string, rows int) error) error {
	left, err := a.Store.ExpiredInstallations(ctx, before, maxPurged)
	for _, id := range left {
		err = a.Store.PurgeWorkspace(ctx, id, a.Own.TeamID, func(table string, _, deleted int) error {
			return step(table, deleted)
		})
		switch {
		case err == nil:
			a.Logger.InfoContext(ctx, "purged a workspace that the bot has left", "installation", id)
		case errors.Is(err, store.ErrInUse): // installed again meanwhile
			err = nil
		default:
			return err
		}
	}
	return err
}

// predatesLedger reports whether a task's message was recorded before the oldest row that the ledger
// keeps. Then a reply may have been posted without a trace. That happens when an operator resets a
// workflow to a time long ago. An old message that comes late, or is edited, is recorded when that
// happens.
func (a *Activities) predatesLedger(ctx context.Context, t Task) (bool, error) {
	since := a.Retention.LedgerSince(a.Clock())
	if since.IsZero() || !chat.Time(t.Trigger).Before(since) || !chat.Time(t.Revision).Before(since) {
		return false, nil
	}
	recorded, err := a.Store.ChangeRecordedSince(ctx, t.Conversation, t.Trigger, t.Revision, since)
	return !recorded, err
}
