package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/telemetry"
)

// ShowPromises records that the reply of a decision, which confirms its promises, was posted, and returns
// the promises. Somebody may have cancelled one in the meantime.
func (s *Store) ShowPromises(ctx context.Context, decision, ts string) ([]Promise, error) {
	if err := s.db.WithContext(ctx).Model(&Promise{}).Where("decision = ? AND shown_ts = ''", decision).
		Update("shown_ts", ts).Error; err != nil {
		return nil, fmt.Errorf("show promises of %s: %w", decision, err)
	}
	return s.PromisesOf(ctx, decision)
}

// HoldPromises records until when the promises of a conversation that are due are held up.
func (s *Store) HoldPromises(ctx context.Context, c chat.Conversation, until time.Time) error {
	if err := openPromisesIn(s.db.WithContext(ctx), c).Where("due_us < ?", micros(until)).
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
		if p, err = s.onePromise(s.locked(tx), id); err != nil {
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
	err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
		if p, err = s.onePromise(s.locked(tx), id); err != nil {
			return err
		}
		if first = p.State == PromiseOpen; !first {
			return nil
		}
		now := s.nowMicros()
		p.State, p.EndedBy, p.EndedUS = PromiseCancelled, by, now
		if err := tx.Model(&Promise{}).Where("id = ?", id).
			Updates(map[string]any{"state": p.State, "ended_by": by, "ended_us": now}).Error; err != nil {
			return err
		}
		c := p.change(conversation.Cancelled, p.ID, now)
		c.OrderedBy, c.Trace = by, telemetry.Traceparent(ctx)
		targets = []Target{{Conversation: p.Conversation(), Awaited: true}}
		return tx.Create(&c).Error
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
		if p, err = s.onePromise(s.locked(tx), id); err != nil {
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
			c := p.change(conversation.Moved, p.reference(), s.nowMicros())
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
