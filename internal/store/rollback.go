package store

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// ErrForgotten says that a version has no text any more.
var ErrForgotten = errors.New("it was forgotten")

// Rollback puts the text of an old version of a memory in force again, as a new version
// of origin operator, and returns that. An unknown version is ErrNotFound, one that was
// forgotten ErrForgotten. by is who wants it (cli:NAME), id that of the order. A memory
// being made meanwhile is refused (ErrOverruled); what was said since the scope was
// remembered last is remembered on top of the old version.
func (s *Store) Rollback(ctx context.Context, scope chat.Scope, term chat.Term, version int, by, id string) (Memory, error) {
	var made memoryRow
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		order := s.orderRow(Order{ID: id, Scope: scope, Kind: "rollback", By: by, Subject: fmt.Sprintf("%s/%d", term, version)})
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		if err := s.hold(tx, scope); err != nil {
			return err
		}
		var rows []scopeRow
		if err := ofScope(s.locked(tx), scope).Find(&rows).Error; err != nil {
			return err
		}
		var old []memoryRow
		if err := ofScope(tx, scope).Where("term = ? AND version = ? AND version > 0", string(term), version).Find(&old).Error; err != nil {
			return err
		}
		switch {
		case len(rows) == 0 || len(old) == 0:
			return ErrNotFound
		case old[0].ForgottenUS != 0:
			return ErrForgotten
		}
		var newest int
		if err := ofScope(tx.Model(&memoryRow{}), scope).Where("term = ?", string(term)).
			Select("MAX(version)").Scan(&newest).Error; err != nil {
			return err
		}
		now := max(s.nowMicros(), rows[0].OrderedUS+1)
		made = old[0]
		made.ID, made.Version, made.Origin, made.OrderedBy, made.MadeUS, made.Cursor = 0, newest+1, "operator", by, now, ""
		made.TokensIn, made.TokensOut, made.LatencyUS = 0, 0, 0
		if err := tx.Create(&made).Error; err != nil {
			return err
		}
		if err := ofScope(tx, scope).Where("version = 0").Delete(&memoryRow{}).Error; err != nil {
			return err
		}
		column := string(term) + "_id"
		return ofScope(tx.Model(&scopeRow{}), scope).Updates(map[string]any{
			column: made.ID, "ordered_us": now, "updated_us": max(now, rows[0].UpdatedUS),
		}).Error
	})
	if err != nil {
		return Memory{}, fmt.Errorf("roll the %s memory of %s back to version %d: %w", term, scope, version, err)
	}
	return made.memory(), nil
}
