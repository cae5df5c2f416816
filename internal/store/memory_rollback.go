package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// ErrForgotten is returned for a version whose text was forgotten.
var ErrForgotten = errors.New("it was forgotten")

// Rollback makes an old version of a memory current again, as a new version of origin operator, and
// returns that. It returns ErrNotFound for an unknown version and ErrForgotten for a forgotten one.
// by is who ordered it (cli:NAME), id the order's id. A run that is making this memory meanwhile
// gets ErrOverruled. Messages since the scope's last run are added to the old version by the next.
func (s *Store) Rollback(
	ctx context.Context, scope chat.Scope, term chat.Term, version int, by, id string,
) (Memory, error) {
	made, err := s.replaceMemory(ctx, Order{ID: id, Scope: scope, Kind: "rollback", By: by}, term,
		func(tx *gorm.DB, _ *int64) (memoryRow, error) {
			var old []memoryRow
			err := ofScope(tx, scope).Where("term = ? AND version = ? AND version > 0", string(term), version).
				Find(&old).Error
			switch {
			case err != nil:
				return memoryRow{}, err
			case len(old) == 0:
				return memoryRow{}, ErrNotFound
			case old[0].ForgottenUS != 0:
				return memoryRow{}, ErrForgotten
			}
			return old[0], nil
		})
	if err != nil {
		return Memory{}, fmt.Errorf("roll the %s memory of %s back to version %d: %w", term, scope, version, err)
	}
	return made, nil
}

// Correct replaces the current memory's text with a new version of origin operator, which keeps the
// sources, and returns that version. It returns ErrNotFound if there is no current memory. text
// must not be empty. by, id and concurrent runs are as in Rollback.
func (s *Store) Correct(ctx context.Context, scope chat.Scope, term chat.Term, text, by, id string) (Memory, error) {
	made, err := s.replaceMemory(ctx, Order{ID: id, Scope: scope, Kind: "correct", By: by}, term,
		func(tx *gorm.DB, current *int64) (memoryRow, error) {
			if strings.TrimSpace(text) == "" {
				return memoryRow{}, errEmpty
			}
			if current == nil {
				return memoryRow{}, ErrNotFound
			}
			var row memoryRow
			err := tx.Where("id = ?", *current).Take(&row).Error
			row.Text, row.Model = text, ""
			return row, err
		})
	if err != nil {
		return Memory{}, fmt.Errorf("correct the %s memory of %s: %w", term, scope, err)
	}
	return made, nil
}

// replaceMemory records an order and makes a new version current, built from the one that from
// returns. from gets the id of the current version, or nil. The transaction holds the scope
// meanwhile.
func (s *Store) replaceMemory(ctx context.Context, o Order, term chat.Term,
	from func(tx *gorm.DB, current *int64) (memoryRow, error)) (Memory, error) {
	var made memoryRow
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if err := s.lockChannel(tx, o.Scope); err != nil {
			return err
		}
		var rows []scopeRow
		if err := ofScope(s.locked(tx), o.Scope).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == 0 {
			return ErrNotFound
		}
		current := rows[0].ShortID
		if term == chat.LongTerm {
			current = rows[0].LongID
		}
		var err error
		if made, err = from(tx, current); err != nil {
			return err
		}
		o.Subject = fmt.Sprintf("%s/%d", term, made.Version)
		order := s.orderRow(o)
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		var newest int
		if err := ofScope(tx.Model(&memoryRow{}), o.Scope).Where("term = ?", string(term)).
			Select("MAX(version)").Scan(&newest).Error; err != nil {
			return err
		}
		now := max(s.nowMicros(), rows[0].OrderedUS+1)
		made.ID, made.Version, made.Origin, made.OrderedBy, made.MadeUS, made.Cursor = 0, newest+1, "operator", o.By,
			now, ""
		made.TokensOut = 0
		if err := tx.Create(&made).Error; err != nil {
			return err
		}
		if err := ofScope(tx, o.Scope).Where("version = 0").Delete(&memoryRow{}).Error; err != nil {
			return err
		}
		column := string(term) + "_id"
		return ofScope(tx.Model(&scopeRow{}), o.Scope).Updates(map[string]any{
			column: made.ID, "ordered_us": now, "updated_us": max(now, rows[0].UpdatedUS),
		}).Error
	})
	return made.memory(), err
}
