package store

import (
	"context"
	"fmt"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/telemetry"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// ShowPromises records that the reply of a decision, which confirms its promises, was posted, and returns
// the promises. Somebody may have cancelled one in the meantime.
func (s *Store) ShowPromises(ctx context.Context, decision, ts string) ([]Promise, error) {
	if err := showChoices[Promise](s.db.WithContext(ctx), decision, ts); err != nil {
		return nil, fmt.Errorf("show promises of %s: %w", decision, err)
	}
	return s.PromisesOf(ctx, decision)
}

// HoldPromises records until when the promises of a conversation that are due are held up.
func (s *Store) HoldPromises(ctx context.Context, c chat.Conversation, until time.Time) error {
	if err := openPromisesIn(s.db.WithContext(ctx), c).Where("(due_us < ? OR woken_us > 0)", micros(until)).
		Update("held_us", micros(until)).Error; err != nil {
		return fmt.Errorf("hold the promises of %s: %w", c.ID(), err)
	}
	return nil
}

// EndPromise records what has become of a promise at its time of some number. With a next time, one that
// was kept, skipped as cancelled, or could not be posted stays open and is due then. If it has ended before, or that
// time was recorded before, it stays as it is. EndPromise returns the promise as it is then, or ErrNotFound.
func (s *Store) EndPromise(ctx context.Context, id string, number int, state PromiseState, by string,
	next time.Time) (p Promise, err error) {
	changed := false
	err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
		if p, err = choiceNamed[Promise](s.locked(tx), "promise", id); err != nil {
			return err
		}
		if changed = p.State == PromiseOpen && p.Number == number; !changed {
			return nil
		}
		now := s.nowMicros()
		p.HeldUS = 0
		if !next.IsZero() && state != PromiseReleased {
			p.Number, p.DueUS = number+1, micros(next)
		} else {
			p.State, p.EndedBy, p.EndedUS = state, by, now
		}
		return tx.Model(&Promise{}).Where("id = ?", id).Updates(map[string]any{
			"number": p.Number, "due_us": p.DueUS, "held_us": 0, "state": p.State, "ended_by": p.EndedBy,
			"ended_us": p.EndedUS,
		}).Error
	})
	if err != nil {
		return Promise{}, fmt.Errorf("end promise %s: %w", id, err)
	}
	if changed {
		s.metrics.endPromise(state, 1)
	}
	return p, nil
}

// CancelPromise cancels an open promise for somebody, and records the change that tells its conversation.
// It returns the promise as it is then, and first says whether this has ended it. ErrNotFound: there is no
// such promise.
func (s *Store) CancelPromise(ctx context.Context, id, by string) (p Promise, first bool, targets []Target, err error) {
	p, first, targets, err = decide(s, ctx, id, conversation.Cancelled, by, func(p *Promise, now int64) map[string]any {
		if p.State != PromiseOpen {
			return nil
		}
		p.State, p.EndedBy, p.EndedUS = PromiseCancelled, by, now
		return map[string]any{"state": p.State, "ended_by": by, "ended_us": now}
	})
	if err != nil {
		return Promise{}, false, nil, fmt.Errorf("cancel promise %s: %w", id, err)
	}
	if first {
		s.metrics.endPromise(PromiseCancelled, 1)
	}
	return p, first, targets, nil
}

// MovePromise makes an open promise due at another time for somebody, and records the change that tells
// its conversation. Of one that repeats, only the next time moves. It returns the promise as it is then,
// and moved says whether it was open. ErrNotFound: there is no such promise.
func (s *Store) MovePromise(
	ctx context.Context, id string, due time.Time, by string,
) (p Promise, moved bool, targets []Target, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
		if p, err = choiceNamed[Promise](s.locked(tx), "promise", id); err != nil {
			return err
		}
		if moved = p.State == PromiseOpen; !moved {
			return nil
		}
		if p.HeldUS = 0; p.DueUS != micros(due) {
			targets = []Target{{Conversation: p.Conversation(), Awaited: true}}
		}
		// A conversation hears of each time once. One to which the promise was moved before gets a microsecond more.
		for p.DueUS = micros(due); len(targets) > 0; p.DueUS++ {
			ref := conversation.PromiseRef{ID: p.ID, Number: p.Number, Due: p.Due()}
			c := p.change(conversation.Moved, ref.String(), s.nowMicros())
			c.OrderedBy, c.Trace = by, telemetry.Traceparent(ctx)
			added := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&c)
			if added.Error != nil {
				return added.Error
			}
			if added.RowsAffected > 0 {
				break
			}
		}
		return tx.Model(&Promise{}).Where("id = ?", id).Updates(map[string]any{"due_us": p.DueUS, "held_us": 0}).Error
	})
	if err != nil {
		return Promise{}, false, nil, fmt.Errorf("move promise %s: %w", id, err)
	}
	return p, moved, targets, nil
}

// PromiseCounts says how many promises are open, and how many of these are late: their conversation should
// have turned to them five minutes ago.
type PromiseCounts struct {
	Open, Late int
	// Oldest is when the conversation should have turned to the one that is late for longest; zero if
	// none is.
	Oldest time.Time
}

// CountPromises counts the open promises of all workspaces.
func (s *Store) CountPromises(ctx context.Context) (PromiseCounts, error) {
	before := s.nowMicros() - overdueAfter.Microseconds()
	var row struct {
		Open, Late int
		OldestUS   int64 `gorm:"column:oldest_us"`
	}
	if err := s.db.WithContext(ctx).Raw(`
		SELECT COUNT(*) AS open, COALESCE(SUM(CASE WHEN turns_us < ? AND held_us < ? THEN 1 ELSE 0 END), 0) AS late,
			COALESCE(MIN(CASE WHEN turns_us < ? AND held_us < ? THEN CASE WHEN held_us > turns_us THEN held_us ELSE turns_us END END), 0) AS oldest_us
		FROM (SELECT held_us, `+turnsUS+` AS turns_us FROM promises WHERE state = 'open' AND shown_ts <> '') p`, before, before, before, before).Scan(&row).Error; err != nil {
		return PromiseCounts{}, fmt.Errorf("count promises: %w", err)
	}
	return PromiseCounts{Open: row.Open, Late: row.Late, Oldest: instantOrZero(row.OldestUS)}, nil
}

// unshownPromises is how long after its time a promise waits for the reply that confirms it.
const unshownPromises = 24 * time.Hour

// HandOverPromises hands over the promises that are late, as handOver does. Promises whose reply was never posted are
// withdrawn.
func (s *Store) HandOverPromises(ctx context.Context) ([]Target, error) {
	now := s.nowMicros()
	lost := s.db.WithContext(ctx).Model(&Promise{}).Where("state = 'open' AND shown_ts = '' AND due_us < ?",
		now-unshownPromises.Microseconds()).
		Updates(map[string]any{"state": PromiseWithdrawn, "ended_us": now})
	if lost.Error != nil {
		return nil, fmt.Errorf("withdraw promises that were not confirmed: %w", lost.Error)
	}
	s.metrics.endPromise(PromiseWithdrawn, lost.RowsAffected)
	before := now - overdueAfter.Microseconds()
	targets, err := handOver[Promise](s, ctx, conversation.Due, "promises.id || '/' || number || '/' || "+turnsUS,
		"due_us", "state = 'open' AND shown_ts <> '' AND "+turnsUS+" < ? AND held_us < ?", before, before)
	if err != nil {
		return nil, fmt.Errorf("hand over promises: %w", err)
	}
	return targets, nil
}
