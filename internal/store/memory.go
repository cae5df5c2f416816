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

// memoryRow has an empty channel and thread where chat.Scope has, and so has scopeRow.
type memoryRow struct {
	ID        int64 `gorm:"primaryKey;autoIncrement" json:"id"`
	TeamID    string
	ChannelID string
	ThreadTS  string `gorm:"column:thread_ts"`
	Term      string `json:"term"`
	Version   int
	Text      string `json:"text"`
	Origin    string
	Model     string
	TokensIn  int
	TokensOut int
	LatencyUS int64  `gorm:"column:latency_us"`
	Sources   string `json:"sources"`
	Cursor    string
	MadeUS    int64 `gorm:"column:made_us" json:"made_us"`
	OrderedBy string
	// ForgottenBy had the text emptied at ForgottenUS.
	ForgottenBy string
	ForgottenUS int64 `gorm:"column:forgotten_us"`
}

func (memoryRow) TableName() string { return "memories" }

type scopeRow struct {
	TeamID    string `gorm:"primaryKey"`
	ChannelID string `gorm:"primaryKey"`
	ThreadTS  string `gorm:"primaryKey;column:thread_ts"`
	LongID    *int64
	ShortID   *int64
	SinceUS   int64 `gorm:"column:since_us"`
	NewestUS  int64 `gorm:"column:newest_us"`
	Revision  string
	Count     int
	ReadUS    int64 `gorm:"column:read_us"`
	UpdatedUS int64 `gorm:"column:updated_us"`
	OrderedUS int64 `gorm:"column:ordered_us"`
}

func (scopeRow) TableName() string { return "memory_scopes" }

// Memory is one version of a memory, with where it came from.
type Memory struct {
	ID    int64
	Scope chat.Scope
	Term  chat.Term
	// Version counts from 1; 0 is a draft, which is not in force yet.
	Version int
	Text    string
	// Origin is who made it: "model", or "operator" for a text that By has written, or an
	// old version that By has put in force again.
	Origin, By          string
	Model               string
	TokensIn, TokensOut int
	Latency             time.Duration
	// Sources are the ts of the messages that it was made of, and for the workspace
	// the memories, each as its channel and id: "C1/57".
	Sources []string
	Made    time.Time
	// ForgottenBy is who had the text emptied, at Forgotten; empty and zero: it is there.
	ForgottenBy string
	Forgotten   time.Time
}

func (r memoryRow) memory() Memory {
	m := Memory{
		ID: r.ID, Scope: chat.Scope{Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS}, Term: chat.Term(r.Term),
		Version: r.Version, Text: r.Text, Origin: r.Origin, Model: r.Model, TokensIn: r.TokensIn, TokensOut: r.TokensOut,
		Latency: time.Duration(r.LatencyUS) * time.Microsecond, Made: instant(r.MadeUS),
		By: r.OrderedBy, ForgottenBy: r.ForgottenBy, Forgotten: moment(r.ForgottenUS),
	}
	if r.Sources != "" {
		// Written by PutDraft: it cannot fail, and a memory of unknown sources is better than none.
		_ = json.Unmarshal([]byte(r.Sources), &m.Sources)
	}
	return m
}

// Standing is what is in force of a scope.
type Standing struct {
	// Long and Short are nil where there is none.
	Long, Short *Memory
	// Cursor belongs to them. Known is false for a scope that was never remembered.
	Cursor Cursor
	Known  bool
	// Read is when the messages were read: what was stored later is new.
	Read time.Time
}

// ofScope restricts a query of memories, or of scopes, to one scope.
func ofScope(db *gorm.DB, s chat.Scope) *gorm.DB {
	return db.Where("team_id = ? AND channel_id = ? AND thread_ts = ?", s.Team, s.Channel, s.Thread)
}

// Standing is what is in force of a scope.
func (s *Store) Standing(ctx context.Context, scope chat.Scope) (Standing, error) {
	db := s.db.WithContext(ctx)
	// First, so that what is read after an order of which this does not know is told from it by Look.
	at, err := ordered(db, scope)
	if err != nil {
		return Standing{}, fmt.Errorf("read memory of %s: %w", scope, err)
	}
	var rows []scopeRow
	if err := ofScope(db, scope).Find(&rows).Error; err != nil {
		return Standing{}, fmt.Errorf("read memory of %s: %w", scope, err)
	}
	if len(rows) == 0 {
		return Standing{Cursor: Cursor{Ordered: moment(at)}}, nil
	}
	standing := Standing{Cursor: rows[0].cursor(), Known: true, Read: moment(rows[0].ReadUS)}
	standing.Cursor.Ordered = moment(at)
	var inForce []memoryRow
	if err := db.Where("id IN ?", pointers(rows[0].LongID, rows[0].ShortID)).Find(&inForce).Error; err != nil {
		return Standing{}, fmt.Errorf("read memory of %s: %w", scope, err)
	}
	standing.Long, standing.Short = longAndShort(inForce)
	return standing, nil
}

// pointers is those of the ids that are there.
func pointers(ids ...*int64) (there []int64) {
	for _, id := range ids {
		if id != nil {
			there = append(there, *id)
		}
	}
	return there
}

// Memories is every version of a scope's term, the newest first, at most limit; drafts are not among them.
func (s *Store) Memories(ctx context.Context, scope chat.Scope, term chat.Term, limit int) ([]Memory, error) {
	var rows []memoryRow
	if err := ofScope(s.db.WithContext(ctx), scope).Where("term = ? AND version > 0", string(term)).
		Order("version DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read versions of the %s memory of %s: %w", term, scope, err)
	}
	return each(rows, memoryRow.memory), nil
}

// Draft is the scope's draft of a term, if it was made of what the cursor tells; else ErrNotFound.
func (s *Store) Draft(ctx context.Context, scope chat.Scope, term chat.Term, c Cursor) (Memory, error) {
	var rows []memoryRow
	if err := ofScope(s.db.WithContext(ctx), scope).Where("term = ? AND version = 0 AND cursor = ?", string(term), c.key()).
		Find(&rows).Error; err != nil {
		return Memory{}, fmt.Errorf("read draft of the %s memory of %s: %w", term, scope, err)
	}
	if len(rows) == 0 {
		return Memory{}, fmt.Errorf("draft of the %s memory of %s: %w", term, scope, ErrNotFound)
	}
	return rows[0].memory(), nil
}

var errEmpty = errors.New("the text is empty")

// PutDraft keeps a memory that is not in force yet, in place of the scope's earlier
// draft of the term. Its Version and ID are ignored, and a Made that is zero is now;
// Text must not be empty. If an order has been given since the cursor was taken, nothing
// is kept and the error is ErrOverruled.
func (s *Store) PutDraft(ctx context.Context, m Memory, c Cursor) error {
	err := s.putDraft(ctx, m, c)
	if err != nil {
		return fmt.Errorf("keep draft of the %s memory of %s: %w", m.Term, m.Scope, err)
	}
	return nil
}

func (s *Store) putDraft(ctx context.Context, m Memory, c Cursor) error {
	if strings.TrimSpace(m.Text) == "" {
		return errEmpty
	}
	row := memoryRow{
		TeamID: m.Scope.Team, ChannelID: m.Scope.Channel, ThreadTS: m.Scope.Thread, Term: string(m.Term), Text: m.Text,
		Origin: m.Origin, Model: m.Model, TokensIn: m.TokensIn, TokensOut: m.TokensOut,
		LatencyUS: m.Latency.Microseconds(), Cursor: c.key(), MadeUS: stamp(m.Made),
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
		if err := s.hold(tx, m.Scope); err != nil {
			return err
		}
		if err := ofScope(s.locked(tx), m.Scope).Find(&[]scopeRow{}).Error; err != nil {
			return err
		}
		if err := stillWanted(tx, m.Scope, c); err != nil {
			return err
		}
		return tx.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "team_id"}, {Name: "channel_id"}, {Name: "thread_ts"}, {Name: "term"}, {Name: "version"}},
			DoUpdates: clause.AssignmentColumns([]string{
				"text", "origin", "model", "tokens_in", "tokens_out", "latency_us", "sources", "cursor", "made_us",
			}),
		}).Create(&row).Error
	})
}

// stillWanted is ErrOverruled if an order has been given about a scope since a cursor of
// it was taken.
func stillWanted(tx *gorm.DB, scope chat.Scope, c Cursor) error {
	at, err := ordered(tx, scope)
	if err == nil && at != stamp(c.Ordered) {
		err = ErrOverruled
	}
	return err
}

// Fate is what becomes of a term in Remembered; the zero value is Keep.
type Fate string

// The fates.
const (
	// Keep leaves what is in force.
	Keep Fate = "keep"
	// Renew puts the draft in force.
	Renew Fate = "renew"
	// Withdraw leaves nothing in force; the versions stay.
	Withdraw Fate = "withdraw"
)

// Remembered says how a scope has been remembered.
type Remembered struct {
	Scope       chat.Scope
	Long, Short Fate
	Cursor      Cursor
	// Read is when the reading of the messages began.
	Read time.Time
}

// SaveMemories puts drafts in force and moves the cursor, in one transaction. A draft
// that was made of another cursor does not count; drafts that do not come into force
// are dropped. Renew without a draft is an error, and then nothing is changed, unless
// the scope has this cursor already: then another worker was first, and all is done.
// If an order has been given since the cursor was taken, nothing is changed and the error
// is ErrOverruled.
func (s *Store) SaveMemories(ctx context.Context, r Remembered) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error { return s.saveMemories(tx, r) })
	if err != nil {
		return fmt.Errorf("save memories of %s: %w", r.Scope, err)
	}
	return nil
}

func (s *Store) saveMemories(tx *gorm.DB, r Remembered) error {
	if err := s.hold(tx, r.Scope); err != nil {
		return err
	}
	row := scopeRow{TeamID: r.Scope.Team, ChannelID: r.Scope.Channel, ThreadTS: r.Scope.Thread}
	created := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
	if created.Error != nil {
		return created.Error
	}
	// From here on this transaction is alone with the scope: who saves it, too, waits.
	if err := ofScope(s.locked(tx), r.Scope).Take(&row).Error; err != nil {
		return err
	}
	if err := stillWanted(tx, r.Scope, r.Cursor); err != nil {
		return err
	}
	var rows []memoryRow
	if err := ofScope(s.locked(tx), r.Scope).Where("version = 0 AND cursor = ?", r.Cursor.key()).Find(&rows).Error; err != nil {
		return err
	}
	drafts := map[chat.Term]memoryRow{}
	for _, d := range rows {
		drafts[chat.Term(d.Term)] = d
	}
	terms := []struct {
		chat.Term
		fate    Fate
		inForce **int64
	}{{chat.LongTerm, r.Long, &row.LongID}, {chat.ShortTerm, r.Short, &row.ShortID}}
	// All drafts or none: one of them may be there though another worker was first.
	for _, term := range terms {
		if _, ok := drafts[term.Term]; term.fate != Renew || ok {
			continue
		}
		if created.RowsAffected == 0 && row.cursor() == r.Cursor.stored() {
			return nil
		}
		return fmt.Errorf("draft of the %s memory: %w", term.Term, ErrNotFound)
	}
	updated := max(s.nowMicros(), stamp(r.Read))
	for _, term := range terms {
		switch term.fate {
		case Keep, "":
		case Withdraw:
			*term.inForce = nil
		case Renew:
			draft := drafts[term.Term]
			if err := promote(tx, r.Scope, draft); err != nil {
				return err
			}
			*term.inForce = &draft.ID
			updated = max(updated, draft.MadeUS)
		default:
			return fmt.Errorf("a %s memory has no fate %q", term.Term, term.fate)
		}
	}
	if err := ofScope(tx, r.Scope).Where("version = 0").Delete(&memoryRow{}).Error; err != nil {
		return err
	}
	return ofScope(tx.Model(&scopeRow{}), r.Scope).Updates(map[string]any{
		"long_id": row.LongID, "short_id": row.ShortID,
		"since_us": stamp(r.Cursor.Since), "newest_us": stamp(r.Cursor.Newest), "revision": r.Cursor.Revision, "count": r.Cursor.Count,
		// Not before what is in force was made, so that who looks for that finds the scope.
		"read_us": stamp(r.Read), "updated_us": max(updated, row.UpdatedUS),
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
