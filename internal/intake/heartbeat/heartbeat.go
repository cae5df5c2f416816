// Package heartbeat shows in the database when starters take Slack's events, and opens a gap where
// none did, so that catch-up reads what was said in that time. In doubt there was a gap.
//
// A starter that begins may follow another one that was killed, whose last heartbeat is recent. So it
// waits for a heartbeat of one that was there before it; only that shows that somebody took events
// all along. Where the clocks of two machines differ, a gap is opened that was none.
package heartbeat

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync/atomic"
	"time"

	"myao/internal/runtime/required"
	"myao/internal/store"
)

const (
	// Interval is the time between two heartbeats.
	Interval = 5 * time.Second
	// Lifetime is how long a starter counts as there after its last heartbeat. Slack itself sends an
	// event again after a minute.
	Lifetime = time.Minute
	// settleTime is how long a starter that begins waits for a heartbeat of another one.
	settleTime = 3 * Interval
	// saveTimeout bounds a heartbeat.
	saveTimeout = Interval
)

// Store keeps heartbeats and gaps.
type Store interface {
	Starters(ctx context.Context) ([]store.Starter, error)
	SaveStarter(ctx context.Context, x store.Starter) error
	RemoveStarter(ctx context.Context, id string) error
	OpenGap(ctx context.Context) error
}

// Heartbeat is that of one starter.
type Heartbeat struct {
	Store Store
	// Session returns 0 while events cannot arrive, and otherwise a number that changes whenever some
	// may not have arrived. Nil means that they always can.
	Session func() int64 `nil:"ok"`
	// Opened is called after a gap was opened because no starter was there; nil: nothing is.
	Opened func() `nil:"ok"`
	// Ending is called before Run returns. It may call Missed. Nil: nothing is called.
	Ending func() `nil:"ok"`
	Clock  func() time.Time
	Logger *slog.Logger

	missed atomic.Pointer[string]

	id      string // "" while events cannot arrive
	session int64
	settled bool
	began   time.Time            // when it began to settle
	beat    time.Time            // the last heartbeat
	before  map[string]time.Time // while it settles: the starters that were there, and their heartbeats
}

// Missed opens a gap with the next heartbeat, because an event was not taken. reason is for the log.
func (h *Heartbeat) Missed(reason string) { h.missed.Store(&reason) }

// Run sends heartbeats at each tick until the context ends. It returns the context's error.
func (h *Heartbeat) Run(ctx context.Context, tick <-chan time.Time) error {
	required.Fields(h)
	for {
		h.try(ctx, h.next)
		select {
		case <-ctx.Done():
			if h.Ending != nil {
				h.Ending()
			}
			h.try(context.WithoutCancel(ctx), h.end)
			return ctx.Err()
		case <-tick:
		}
	}
}

func (h *Heartbeat) try(ctx context.Context, do func(context.Context) error) {
	within, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if err := do(within); err != nil && ctx.Err() == nil {
		h.Logger.WarnContext(ctx, "heartbeat not saved", "error", err)
	}
}

// next sends a heartbeat. After an error the next one does what is left.
func (h *Heartbeat) next(ctx context.Context) error {
	session := int64(1)
	if h.Session != nil {
		session = h.Session()
	}
	now := h.Clock()
	switch {
	case session == 0:
		return h.end(ctx)
	case h.id == "" || session != h.session || apart(h.beat, now) > Lifetime:
		if err := h.begin(ctx, now); err != nil {
			return err
		}
		h.session = session
	}
	if err := h.settle(ctx, now); err != nil {
		return err
	}
	if err := h.openMissed(ctx); err != nil {
		return err
	}
	if err := h.Store.SaveStarter(ctx, store.Starter{ID: h.id, Beat: now, Settled: h.settled}); err != nil {
		return err
	}
	h.beat = now
	return nil
}

// apart is the time between two instants, by the clock that shows more: one of them stands still
// while the machine sleeps. A clock that was set back was wrong, and the door refused what came.
func apart(a, b time.Time) time.Duration { return max(b.Sub(a), b.Round(0).Sub(a.Round(0)).Abs()) }

// begin notes which starters are there. Those that have not settled do not count: they may be as new
// as this one.
func (h *Heartbeat) begin(ctx context.Context, now time.Time) error {
	there, err := h.Store.Starters(ctx)
	if err != nil {
		return err
	}
	before := map[string]time.Time{}
	for _, s := range there {
		if s.Settled && s.ID != h.id && now.Sub(s.Beat) <= Lifetime {
			before[s.ID] = s.Beat
		}
	}
	if h.id == "" {
		h.id = rand.Text()
	}
	h.settled, h.began, h.before, h.beat = false, now, before, now
	return nil
}

// settle finds out whether another starter took events before this one began.
func (h *Heartbeat) settle(ctx context.Context, now time.Time) error {
	if h.settled {
		return nil
	}
	there, err := h.Store.Starters(ctx)
	if err != nil {
		return err
	}
	for _, s := range there {
		if beat, ok := h.before[s.ID]; ok && s.Settled && !s.Beat.Equal(beat) {
			h.settled = true
			return nil
		}
	}
	if len(h.before) > 0 && apart(h.began, now) < settleTime {
		return nil
	}
	if err := h.open(ctx, "no starter was there"); err != nil {
		return err
	}
	h.settled = true
	if h.Opened != nil {
		h.Opened()
	}
	return nil
}

func (h *Heartbeat) openMissed(ctx context.Context) error {
	reason := h.missed.Swap(nil)
	if reason == nil {
		return nil
	}
	err := h.open(ctx, *reason)
	if err != nil {
		h.missed.CompareAndSwap(nil, reason)
	}
	return err
}

func (h *Heartbeat) open(ctx context.Context, reason string) error {
	if err := h.Store.OpenGap(ctx); err != nil {
		return err
	}
	h.Logger.WarnContext(ctx, "events may have been missed; all channels will be read", "reason", reason)
	return nil
}

// end says that no more events can arrive.
func (h *Heartbeat) end(ctx context.Context) error {
	if err := h.openMissed(ctx); err != nil || h.id == "" {
		return err
	}
	if err := h.Store.RemoveStarter(ctx, h.id); err != nil {
		return err
	}
	h.id = ""
	return nil
}
