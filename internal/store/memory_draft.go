package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// Draft is the scope's draft of a term if it was made from this cursor, otherwise ErrNotFound.
func (s *Store) Draft(ctx context.Context, scope chat.Scope, term chat.Term, c Cursor) (Memory, error) {
	var rows []memoryRow
	if err := ofScope(s.db.WithContext(ctx), scope).Where("term = ? AND version = 0 AND cursor = ?", string(term),
		c.key()).
		Find(&rows).Error; err != nil {
		return Memory{}, fmt.Errorf("read draft of the %s memory of %s: %w", term, scope, err)
	}
	if len(rows) == 0 {
		return Memory{}, fmt.Errorf("draft of the %s memory of %s: %w", term, scope, ErrNotFound)
	}
	return rows[0].memory(), nil
}

var errEmpty = errors.New("the text is empty")

// SaveDraft saves a memory that is not current yet, in place of the scope's earlier draft of the
// term. It ignores Version and ID; a zero Made means now. Text must not be empty. If an order has
// been given since the cursor was taken, it saves nothing and returns ErrOverruled.
func (s *Store) SaveDraft(ctx context.Context, m Memory, c Cursor) error {
	err := s.saveDraft(ctx, m, c)
	if err != nil {
		return fmt.Errorf("save draft of the %s memory of %s: %w", m.Term, m.Scope, err)
	}
	return nil
}

func (s *Store) saveDraft(ctx context.Context, m Memory, c Cursor) error {
	if strings.TrimSpace(m.Text) == "" {
		return errEmpty
	}
	row := memoryRow{
		TeamID: m.Scope.Team, ChannelID: m.Scope.Channel, ThreadTS: m.Scope.Thread, Term: string(m.Term), Text: m.Text,
		Origin: m.Origin, Model: m.Model, TokensOut: m.TokensOut, Cursor: c.key(), MadeUS: microsOrZero(m.Made),
	}
	if row.MadeUS == 0 {
		row.MadeUS = s.nowMicros()
	}
	if len(m.Sources) > 0 {
		sources, err := json.Marshal(m.Sources)
		if err != nil {
			return err
		}
		row.Sources = string(sources)
	}
	return s.transaction(ctx, func(tx *gorm.DB) error {
		if err := s.lockChannel(tx, m.Scope); err != nil {
			return err
		}
		if err := ofScope(s.locked(tx), m.Scope).Find(&[]scopeRow{}).Error; err != nil {
			return err
		}
		if err := checkNotOverruled(tx, m.Scope, c); err != nil {
			return err
		}
		return tx.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "team_id"}, {Name: "channel_id"}, {Name: "thread_ts"}, {Name: "term"},
				{Name: "version"}},
			DoUpdates: clause.AssignmentColumns([]string{
				"text", "origin", "model", "tokens_out", "sources", "cursor", "made_us",
			}),
		}).Create(&row).Error
	})
}

// checkNotOverruled returns ErrOverruled if an order has been given about a scope since a cursor of
// it was taken.
func checkNotOverruled(tx *gorm.DB, scope chat.Scope, c Cursor) error {
	at, err := lastOrder(tx, scope)
	if err == nil && at != microsOrZero(c.Ordered) {
		err = ErrOverruled
	}
	return err
}

// MemoryAction is what SaveMemories does with a term; the zero value is KeepMemory.
type MemoryAction string

// The actions.
const (
	// KeepMemory leaves the current memory.
	KeepMemory MemoryAction = "keep"
	// RenewMemory makes the draft current.
	RenewMemory MemoryAction = "renew"
	// WithdrawMemory leaves no current memory; the versions stay.
	WithdrawMemory MemoryAction = "withdraw"
)

// MemoryUpdate is the result of a run for one scope.
type MemoryUpdate struct {
	Scope       chat.Scope
	Long, Short MemoryAction
	Cursor      Cursor
	// Read is when the run began to read the messages.
	Read time.Time
}

// SaveMemories makes drafts current and moves the cursor, in one transaction. Drafts made from
// another cursor are ignored, and all remaining drafts are deleted. RenewMemory without a draft is
// an error and changes nothing. Exception: if the scope has this cursor already, another worker was
// first and all is done. If an order has been given since the cursor was taken, nothing changes and
// the error is ErrOverruled.
func (s *Store) SaveMemories(ctx context.Context, r MemoryUpdate) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error { return s.saveMemories(tx, r) })
	if err != nil {
		return fmt.Errorf("save memories of %s: %w", r.Scope, err)
	}
	return nil
}

func (s *Store) saveMemories(tx *gorm.DB, r MemoryUpdate) error {
	if err := s.lockChannel(tx, r.Scope); err != nil {
		return err
	}
	row := scopeRow{TeamID: r.Scope.Team, ChannelID: r.Scope.Channel, ThreadTS: r.Scope.Thread}
	created := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
	if created.Error != nil {
		return created.Error
	}
	// From here on other transactions that save this scope wait.
	if err := ofScope(s.locked(tx), r.Scope).Take(&row).Error; err != nil {
		return err
	}
	if err := checkNotOverruled(tx, r.Scope, r.Cursor); err != nil {
		return err
	}
	var rows []memoryRow
	if err := ofScope(s.locked(tx), r.Scope).Where("version = 0 AND cursor = ?", r.Cursor.key()).Find(&rows).
		Error; err != nil {
		return err
	}
	drafts := map[chat.Term]memoryRow{}
	for _, d := range rows {
		drafts[chat.Term(d.Term)] = d
	}
	terms := []struct {
		chat.Term
		action  MemoryAction
		current **int64
	}{{chat.LongTerm, r.Long, &row.LongID}, {chat.ShortTerm, r.Short, &row.ShortID}}
	// Either all drafts exist or none: another worker may have saved this scope while one draft was
	// made again.
	for _, term := range terms {
		if _, ok := drafts[term.Term]; term.action != RenewMemory || ok {
			continue
		}
		if created.RowsAffected == 0 && row.cursor() == r.Cursor.asStored() {
			return nil
		}
		return fmt.Errorf("draft of the %s memory: %w", term.Term, ErrNotFound)
	}
	updated := max(s.nowMicros(), microsOrZero(r.Read))
	for _, term := range terms {
		switch term.action {
		case KeepMemory, "":
		case WithdrawMemory:
			*term.current = nil
		case RenewMemory:
			draft := drafts[term.Term]
			if err := promote(tx, r.Scope, draft); err != nil {
				return err
			}
			*term.current = &draft.ID
			updated = max(updated, draft.MadeUS)
		default:
			return fmt.Errorf("unknown action %[2]q for the %[1]s memory", term.Term, term.action)
		}
	}
	if err := ofScope(tx, r.Scope).Where("version = 0").Delete(&memoryRow{}).Error; err != nil {
		return err
	}
	return ofScope(tx.Model(&scopeRow{}), r.Scope).Updates(map[string]any{
		"long_id": row.LongID, "short_id": row.ShortID,
		"since_us": microsOrZero(r.Cursor.Since), "newest_us": microsOrZero(r.Cursor.Newest),
		"revision": r.Cursor.Revision, "count": r.Cursor.Count,
		// Not before the current memories were made, so that a query by their time finds the scope.
		"read_us": microsOrZero(r.Read), "updated_us": max(updated, row.UpdatedUS),
	}).Error
}

// promote makes a draft the newest version.
func promote(tx *gorm.DB, scope chat.Scope, draft memoryRow) error {
	var newest int
	if err := ofScope(tx.Model(&memoryRow{}), scope).Where("term = ?", draft.Term).
		Select("COALESCE(MAX(version), 0)").Scan(&newest).Error; err != nil {
		return err
	}
	return tx.Model(&memoryRow{}).Where("id = ?", draft.ID).Update("version", newest+1).Error
}
