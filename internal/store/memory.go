package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// memoryRow and scopeRow leave channel and thread empty as chat.Scope does.
type memoryRow struct {
	ID        int64 `gorm:"primaryKey;autoIncrement" json:"id"`
	TeamID    string
	ChannelID string
	ThreadTS  string
	Term      string `json:"term"`
	Version   int
	Text      string `json:"text"`
	Origin    string
	Model     string
	TokensOut int
	Sources   string `json:"sources"`
	Cursor    string
	MadeUS    int64 `json:"made_us"`
	OrderedBy string
	// ForgottenBy had the text deleted at ForgottenUS.
	ForgottenBy string
	ForgottenUS int64
}

func (memoryRow) TableName() string { return "memories" }

type scopeRow struct {
	TeamID    string `gorm:"primaryKey"`
	ChannelID string `gorm:"primaryKey"`
	ThreadTS  string `gorm:"primaryKey"`
	LongID    *int64
	ShortID   *int64
	SinceUS   int64
	NewestUS  int64
	Revision  string
	Count     int
	ReadUS    int64
	UpdatedUS int64
	OrderedUS int64
}

func (scopeRow) TableName() string { return "memory_scopes" }

// Memory is one version of a memory and its origin.
type Memory struct {
	ID    int64      `json:"id"`
	Scope chat.Scope `json:"scope"`
	Term  chat.Term  `json:"term"`
	// Version counts from 1; 0 is a draft, which is not current yet.
	Version int    `json:"version"`
	Text    string `json:"text,omitempty"`
	// Origin is who made it: "model", or "operator" for a text that By wrote, or an old version
	// that By made current again.
	Origin    string `json:"origin"`
	By        string `json:"by,omitempty"`
	Model     string `json:"model,omitempty"`
	TokensOut int    `json:"tokens_out"` // the length of the text, as the model counted it; 0: not known
	// Sources are the ts of the messages that it was made from; for the workspace, the memories,
	// each as channel and id: "C1/57".
	Sources []string  `json:"sources,omitempty"`
	Made    time.Time `json:"made_at"`
	// ForgottenBy is who had the text deleted, at Forgotten; both are zero while the text exists.
	ForgottenBy string    `json:"forgotten_by,omitempty"`
	Forgotten   time.Time `json:"forgotten_at,omitzero"`
}

func (r memoryRow) memory() Memory {
	m := Memory{
		ID: r.ID, Scope: chat.Scope{Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS}, Term: chat.Term(r.Term),
		Version: r.Version, Text: r.Text, Origin: r.Origin, Model: r.Model, TokensOut: r.TokensOut,
		Made: instant(r.MadeUS),
		By:   r.OrderedBy, ForgottenBy: r.ForgottenBy, Forgotten: instantOrZero(r.ForgottenUS),
	}
	if r.Sources != "" {
		// SaveDraft wrote this, so it cannot fail; a memory without sources is better than none.
		_ = json.Unmarshal([]byte(r.Sources), &m.Sources)
	}
	return m
}

// CurrentMemory is a scope's current memories.
type CurrentMemory struct {
	// Long and Short are nil if there is none.
	Long, Short *Memory
	// Cursor is what they were made from. Known is false for a scope that never had memories.
	Cursor Cursor
	Known  bool
	// Read is when their messages were read: what was stored later is new.
	Read time.Time
}

// ofScope restricts a query of memories, or of scopes, to one scope.
func ofScope(db *gorm.DB, s chat.Scope) *gorm.DB {
	return db.Where("team_id = ? AND channel_id = ? AND thread_ts = ?", s.Team, s.Channel, s.Thread)
}

// CurrentMemory is a scope's current memories.
func (s *Store) CurrentMemory(ctx context.Context, scope chat.Scope) (CurrentMemory, error) {
	db := s.db.WithContext(ctx)
	// Read this first. If an order comes in between, CurrentCursor differs and the caller notices.
	at, err := lastOrder(db, scope)
	if err != nil {
		return CurrentMemory{}, fmt.Errorf("read memory of %s: %w", scope, err)
	}
	var rows []scopeRow
	if err := ofScope(db, scope).Find(&rows).Error; err != nil {
		return CurrentMemory{}, fmt.Errorf("read memory of %s: %w", scope, err)
	}
	if len(rows) == 0 {
		return CurrentMemory{Cursor: Cursor{Ordered: instantOrZero(at)}}, nil
	}
	current := CurrentMemory{Cursor: rows[0].cursor(), Known: true, Read: instantOrZero(rows[0].ReadUS)}
	current.Cursor.Ordered = instantOrZero(at)
	var memories []memoryRow
	if err := db.Where("id IN ?", nonNil(rows[0].LongID, rows[0].ShortID)).Find(&memories).Error; err != nil {
		return CurrentMemory{}, fmt.Errorf("read memory of %s: %w", scope, err)
	}
	current.Long, current.Short = longAndShort(memories)
	return current, nil
}

// nonNil is the ids that are set.
func nonNil(ids ...*int64) (there []int64) {
	for _, id := range ids {
		if id != nil {
			there = append(there, *id)
		}
	}
	return there
}

// MemoryVersions is the versions of a scope's memory, the newest first, at most limit, without
// drafts.
func (s *Store) MemoryVersions(ctx context.Context, scope chat.Scope, term chat.Term, limit int) ([]Memory, error) {
	var rows []memoryRow
	if err := ofScope(s.db.WithContext(ctx), scope).Where("term = ? AND version > 0", string(term)).
		Order("version DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read versions of the %s memory of %s: %w", term, scope, err)
	}
	return mapRows(rows, memoryRow.memory), nil
}
