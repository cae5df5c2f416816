// Package indexer keeps the search index behind the messages by a few seconds. Whoever stores a
// message pays nothing for it. Every starter runs one; they take turns step by step.
package indexer

import (
	"context"
	"log/slog"
	"time"

	"myao/internal/runtime/pause"
	"myao/internal/store"
)

const (
	// interval is the time between two looks for new messages. With the time of a step it stays
	// below ten seconds.
	interval = 5 * time.Second
	// lately is how far back most looks go: they find what was committed since the look before.
	lately = 30 * time.Second
	// thoroughInterval is the time between two looks that continue where the saved cursor stands,
	// which finds also what was committed late.
	thoroughInterval = time.Minute
	// batch is how many messages one step indexes. Whoever changes one of them waits for the step.
	batch = 500
	// stepTimeout bounds a step.
	stepTimeout = time.Minute
	// reportInterval is the time between two log lines about a long run.
	reportInterval = 10 * time.Second
)

// Index adds messages to the search index, as store.Store does.
type Index interface {
	Index(ctx context.Context, since time.Time, limit int) (store.IndexProgress, error)
}

// Indexer keeps an index up to date.
type Indexer struct {
	index  Index
	clock  func() time.Time
	logger *slog.Logger
	pause  func(context.Context, time.Duration) bool

	looked   time.Time // when the last look began that caught up
	thorough time.Time // and the last one from the saved cursor on
}

// New returns an Indexer for an index.
func New(index Index, clock func() time.Time, logger *slog.Logger) *Indexer {
	return &Indexer{index: index, clock: clock, logger: logger, pause: pause.For}
}

// Run indexes until the context ends.
func (x *Indexer) Run(ctx context.Context) {
	for {
		if err := x.catchUp(ctx); err != nil && ctx.Err() == nil {
			x.logger.WarnContext(ctx, "messages not indexed; trying again", "error", err)
		}
		if !x.pause(ctx, interval) {
			return
		}
	}
}

// catchUp indexes what there is. After each step it leaves the database to others for as long as
// the step took.
func (x *Indexer) catchUp(ctx context.Context) error {
	began := x.clock()
	since := began.Add(-lately)
	if began.Sub(x.looked) > lately/2 || began.Sub(x.thorough) >= thoroughInterval {
		since = time.Time{}
	}
	thorough, reported, total := since.IsZero(), began, 0
	for {
		at := x.clock()
		p, err := x.step(ctx, since)
		if err != nil {
			return err
		}
		total += p.Indexed
		now := x.clock()
		if p.CaughtUp {
			if reported != began {
				x.logger.InfoContext(ctx, "messages indexed for search", "messages", total)
			}
			x.looked = began
			if thorough {
				x.thorough = began
			}
			return nil
		}
		if now.Sub(reported) >= reportInterval {
			reported = now
			x.logger.InfoContext(ctx, "indexing messages for search", "messages", total, "up_to",
				p.UpTo.Format(time.RFC3339))
		}
		if p.UpTo.After(began.Add(-store.Settled)) {
			since = p.UpTo // the saved cursor stays behind, so that the next step would look at all this again
		}
		if !x.pause(ctx, now.Sub(at)) {
			return ctx.Err()
		}
	}
}

func (x *Indexer) step(ctx context.Context, since time.Time) (store.IndexProgress, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return x.index.Index(ctx, since, batch)
}
