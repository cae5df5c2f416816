package store

import (
	"context"

	"gorm.io/gorm"
)

// sweepChunk is how many rows a sweep looks at in one transaction.
const sweepChunk = 500

// SweepStep is told after each step of a sweep: the table, how many rows were looked at, and how many
// of them were changed or deleted. Its error ends the sweep.
type SweepStep func(table string, seen, changed int) error

// sweeper goes through tables in small transactions, so that others can use the database meanwhile.
type sweeper struct {
	*Store
	ctx  context.Context
	step SweepStep
}

// inSteps goes through a table, or the part within, in the order of a column of type K, whose values
// are never zero. An index must begin with within's columns and the column. do gets a function that
// restricts a query of the table to one part, and returns how many rows it has changed.
func inSteps[K int64 | string](w sweeper, table string, within condition, column string,
	do func(part func(*gorm.DB) *gorm.DB) (changed int, err error)) error {
	db := w.db.WithContext(w.ctx)
	for after := *new(K); ; {
		var keys []K
		if err := within.apply(db.Table(table)).Where(column+" > ?", after).Order(column).Limit(sweepChunk).
			Pluck(column, &keys).Error; err != nil {
			return err
		}
		if len(keys) == 0 {
			return nil
		}
		last := keys[len(keys)-1]
		changed, err := do(func(db *gorm.DB) *gorm.DB {
			return within.apply(db.Table(table)).Where(column+" > ? AND "+column+" <= ?", after, last)
		})
		if err != nil {
			return err
		}
		if err := w.step(table, len(keys), changed); err != nil {
			return err
		}
		if len(keys) < sweepChunk {
			return nil
		}
		after = last
	}
}

// sweep is inSteps for the rows that match. do gets them with a transaction that holds them.
func sweep[R any, K int64 | string](w sweeper, table string, within condition, column string, match condition,
	do func(tx *gorm.DB, rows []R) (changed int, err error)) error {
	return inSteps[K](w, table, within, column, func(part func(*gorm.DB) *gorm.DB) (changed int, err error) {
		found := func(db *gorm.DB) *gorm.DB { return part(db).Where("("+match.sql+")", match.args...) }
		var matching int64
		if err := found(w.db.WithContext(w.ctx)).Count(&matching).Error; err != nil || matching == 0 {
			return 0, err
		}
		err = w.transaction(w.ctx, func(tx *gorm.DB) error {
			var rows []R
			if err := found(w.locked(tx)).Order(column).Find(&rows).Error; err != nil {
				return err
			}
			changed, err = do(tx, rows)
			return err
		})
		return changed, err
	})
}

// remove is inSteps that deletes rows. Without match it deletes all of them.
func remove[K int64 | string](w sweeper, table string, within condition, column string, match condition) error {
	return inSteps[K](w, table, within, column, func(part func(*gorm.DB) *gorm.DB) (int, error) {
		gone := match.apply(part(w.db.WithContext(w.ctx))).Delete(nil)
		return int(gone.RowsAffected), gone.Error
	})
}

// channelsIn is the channels of a team that have rows in a table whose key begins with team_id and
// channel_id. It steps through the key from one channel to the next.
func (w sweeper) channelsIn(table, team string) (ids []string, err error) {
	for id := ""; ; {
		var next []string
		if err := w.db.WithContext(w.ctx).Table(table).Where("team_id = ? AND channel_id > ?", team, id).
			Order("channel_id").Limit(1).Pluck("channel_id", &next).Error; err != nil || len(next) == 0 {
			return ids, err
		}
		id = next[0]
		ids = append(ids, id)
	}
}

// contains is the condition that a column has a text in it, by the exact case.
func (w sweeper) contains(column string) string {
	if w.sqlite != "" {
		return "INSTR(" + column + ", ?) > 0"
	}
	return "STRPOS(" + column + ", ?) > 0"
}
