package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

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
		By: r.OrderedBy, ForgottenBy: r.ForgottenBy, Forgotten: instantOrZero(r.ForgottenUS),
	}
	if r.Sources != "" {
		// Written by SaveDraft: it cannot fail, and a memory of unknown sources is better than none.
		_ = json.Unmarshal([]byte(r.Sources), &m.Sources)
	}
	return m
}

// CurrentMemory is what is in force of a scope.
type CurrentMemory struct {
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

// CurrentMemory is what is in force of a scope.
func (s *Store) CurrentMemory(ctx context.Context, scope chat.Scope) (CurrentMemory, error) {
	db := s.db.WithContext(ctx)
	// First, so that what is read after an order of which this does not know is told from it by Look.
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
	standing := CurrentMemory{Cursor: rows[0].cursor(), Known: true, Read: instantOrZero(rows[0].ReadUS)}
	standing.Cursor.Ordered = instantOrZero(at)
	var inForce []memoryRow
	if err := db.Where("id IN ?", nonNil(rows[0].LongID, rows[0].ShortID)).Find(&inForce).Error; err != nil {
		return CurrentMemory{}, fmt.Errorf("read memory of %s: %w", scope, err)
	}
	standing.Long, standing.Short = longAndShort(inForce)
	return standing, nil
}

// nonNil is those of the ids that are there.
func nonNil(ids ...*int64) (there []int64) {
	for _, id := range ids {
		if id != nil {
			there = append(there, *id)
		}
	}
	return there
}

// MemoryVersions is every version of a scope's term, the newest first, at most limit; drafts are not among them.
func (s *Store) MemoryVersions(ctx context.Context, scope chat.Scope, term chat.Term, limit int) ([]Memory, error) {
	var rows []memoryRow
	if err := ofScope(s.db.WithContext(ctx), scope).Where("term = ? AND version > 0", string(term)).
		Order("version DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read versions of the %s memory of %s: %w", term, scope, err)
	}
	return mapRows(rows, memoryRow.memory), nil
}
