package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

type changeRow struct {
	ID         int64  `gorm:"primaryKey;autoIncrement" json:"id"`
	WorkflowID string `json:"workflow_id"`
	TeamID     string `json:"team_id"` // empty in rows of versions before it
	TS         string `json:"ts"`
	SentUS     int64  `json:"sent_us"`
	Kind       string `json:"kind"`
	Revision   string `json:"revision"`
	FollowUp   bool   `json:"follow_up"`
	StoredUS   int64  `json:"stored_us"`
	RelayedUS  *int64 `json:"relayed_us"`
	OrderedBy  string `json:"ordered_by"`
	Author     string `json:"author"`
	Trace      string `json:"trace"`
	Mention    bool   `json:"mention"`
	Stop       bool   `json:"stop"`
	Named      bool   `json:"named"`
}

func (changeRow) TableName() string { return "changes" }

func (r changeRow) change() conversation.Change {
	return conversation.Change{TS: r.TS, Kind: conversation.Kind(r.Kind), Revision: r.Revision, FollowUp: r.FollowUp,
		By: r.OrderedBy, Author: r.Author, Mention: r.Mention, Stop: r.Stop, Named: r.Named}
}

// teamOf is the workspace of a workflow id, or of another key of conversations (everywhere).
func teamOf(workflowID string) string {
	_, after, _ := strings.Cut(workflowID, "/")
	team, _, _ := strings.Cut(after, "/")
	return team
}

type conversationRow struct {
	WorkflowID      string `gorm:"primaryKey"`
	TeamID          string // empty in rows of versions before it
	ClaimedBy       string
	ClaimedUntilUS  int64
	SilencedUntilUS int64
	StoppedUS       int64 // StopThread
	LostUS          int64 // SaveLost
}

func (conversationRow) TableName() string { return "conversations" }

// PendingChange is a change that no signal has delivered yet.
type PendingChange struct {
	ID int64
	conversation.Change
	// Trace is the traceparent (W3C) of the request that brought the change, or empty.
	Trace string
}

const (
	// pendingChanges is the changes of a conversation that have yet to be relayed, in order.
	pendingChanges = `SELECT * FROM changes WHERE workflow_id = ? AND relayed_us IS NULL ORDER BY sent_us, id LIMIT ?`

	// claim leases a conversation with pending changes, unless another relay holds it.
	claim = `
		INSERT INTO conversations (workflow_id, team_id, claimed_by, claimed_until_us)
		SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT)
		WHERE EXISTS (SELECT 1 FROM changes WHERE workflow_id = ? AND relayed_us IS NULL)
		ON CONFLICT (workflow_id) DO UPDATE SET claimed_by = excluded.claimed_by, claimed_until_us = excluded.claimed_until_us
		WHERE conversations.claimed_until_us < ? OR conversations.claimed_by = excluded.claimed_by`
)

// Claim leases a conversation to one relay until a time and returns its pending changes, in order
// of the messages' ts, then of arrival. It returns nil, and leases nothing, if nothing is pending
// or another relay holds the lease. A relay renews its own lease by claiming again.
//
// In Postgres it is one statement, which sees the changes as of its beginning. If it had to wait
// for the relay before, it returns what that one has marked in the meantime once more. That does no
// harm: the workflow remembers more changes than a signal carries, and ignores these.
func (s *Store) Claim(
	ctx context.Context, workflowID, relay string, until time.Time, limit int,
) ([]PendingChange, error) {
	db := s.db.WithContext(ctx)
	args := []any{workflowID, teamOf(workflowID), relay, micros(until), workflowID, s.nowMicros()}
	if s.sqlite != "" {
		claimed := db.Exec(claim, args...)
		if claimed.Error != nil {
			return nil, fmt.Errorf("claim %s: %w", workflowID, claimed.Error)
		}
		if claimed.RowsAffected == 0 {
			return nil, nil
		}
		return s.PendingChanges(ctx, workflowID, limit)
	}
	var rows []changeRow
	var answer string // never empty: a claimed conversation has pending changes
	if err := db.Raw(claim+" RETURNING CASE WHEN "+s.asyncCommit()+" THEN "+pack(pendingChanges, &rows)+" END",
		append(args, workflowID, limit)...).
		Scan(&answer).Error; err != nil {
		return nil, fmt.Errorf("claim %s: %w", workflowID, err)
	}
	if err := unpack([]byte(answer), &rows); err != nil {
		return nil, fmt.Errorf("read changes of %s: %w", workflowID, err)
	}
	return mapRows(rows, changeRow.pending), nil
}

// PendingChanges is a conversation's pending changes as Claim returns them, without a lease.
func (s *Store) PendingChanges(ctx context.Context, workflowID string, limit int) ([]PendingChange, error) {
	var rows []changeRow
	if err := runBatch(s.db.WithContext(ctx), query{pendingChanges, []any{workflowID, limit}, &rows}); err != nil {
		return nil, fmt.Errorf("read changes of %s: %w", workflowID, err)
	}
	return mapRows(rows, changeRow.pending), nil
}

func (r changeRow) pending() PendingChange {
	return PendingChange{ID: r.ID, Change: r.change(), Trace: r.Trace}
}

// MarkRelayed marks changes as delivered by a signal.
func (s *Store) MarkRelayed(ctx context.Context, ids []int64) error {
	marked := s.db.WithContext(ctx).Model(&changeRow{}).Where(s.asyncCommit())
	if s.sqlite != "" {
		marked = marked.Where("id IN ?", ids)
	} else {
		// One parameter, and so one prepared statement for any number of ids: gorm expands a slice,
		// but not a pointer to one.
		marked = marked.Where("id = ANY(?)", &ids)
	}
	if err := marked.Update("relayed_us", s.nowMicros()).Error; err != nil {
		return fmt.Errorf("mark changes as relayed: %w", err)
	}
	return nil
}

// Release ends a relay's lease and reports whether more is pending: another relay may have found
// the conversation leased and given up. In Postgres it may miss a change that was committed, and
// whose relay gave up, while the statement was running. The next look at the backlog finds it.
func (s *Store) Release(ctx context.Context, workflowID, relay string) (more bool, err error) {
	if err := s.db.WithContext(ctx).Raw(`
		UPDATE conversations SET claimed_until_us = 0 WHERE workflow_id = ? AND claimed_by = ? AND `+s.asyncCommit()+`
		RETURNING EXISTS (SELECT 1 FROM changes w WHERE w.workflow_id = conversations.workflow_id AND w.relayed_us IS NULL)`,
		workflowID, relay).Scan(&more).Error; err != nil {
		return false, fmt.Errorf("release %s: %w", workflowID, err)
	}
	return more, nil
}

// channelOf is the channel of a workflow id in SQL that both databases understand: the id without
// its first word and, for a thread, without its ts.
const channelOf = `CASE WHEN workflow_id LIKE 'thread/%'
	THEN rtrim(substr(workflow_id, 8), '0123456789.') ELSE substr(workflow_id, 9) || '/' END`

// BacklogItem is a conversation with pending changes.
type BacklogItem struct {
	WorkflowID string
	// Addressed is set if a change that addresses the bot is among them.
	Addressed bool
}

// Backlog is the conversations that have pending changes and no lease. It takes one of each
// channel, then the next of each, and so on, so that a busy channel leaves room for the others.
// Within that order, conversations in which the bot was addressed come first, then those that have
// waited longest (by their first pending change).
//
// It steps through the index from one conversation to the next, so its cost does not depend on how
// much each of them has pending.
func (s *Store) Backlog(ctx context.Context, limit int) ([]BacklogItem, error) {
	var left []BacklogItem
	err := s.db.WithContext(ctx).Raw(`
		WITH RECURSIVE w(workflow_id) AS (
			SELECT MIN(workflow_id) FROM changes WHERE relayed_us IS NULL
			UNION ALL
			SELECT (SELECT MIN(n.workflow_id) FROM changes n WHERE n.relayed_us IS NULL AND n.workflow_id > w.workflow_id)
			FROM w WHERE w.workflow_id IS NOT NULL
		)
		SELECT workflow_id, addressed FROM (
			SELECT workflow_id, addressed, first, ROW_NUMBER() OVER (PARTITION BY `+channelOf+` ORDER BY addressed DESC, first) AS round FROM (
				SELECT w.workflow_id, EXISTS (
					SELECT 1 FROM changes a WHERE a.workflow_id = w.workflow_id AND a.relayed_us IS NULL AND a.kind = 'addressed'
				) AS addressed, (
					SELECT f.id FROM changes f WHERE f.workflow_id = w.workflow_id AND f.relayed_us IS NULL
					ORDER BY f.sent_us, f.id LIMIT 1
				) AS first
				FROM w WHERE w.workflow_id IS NOT NULL
				AND COALESCE((SELECT c.claimed_until_us FROM conversations c WHERE c.workflow_id = w.workflow_id), 0) < ?
			) free
		) rounds ORDER BY round, addressed DESC, first LIMIT ?`, s.nowMicros(), limit).Scan(&left).Error
	if err != nil {
		return nil, fmt.Errorf("read backlog: %w", err)
	}
	return left, nil
}

// BacklogSize is how many changes are pending, and when the oldest was recorded; zero if there are
// none.
func (s *Store) BacklogSize(ctx context.Context) (count int, oldest time.Time, err error) {
	var row struct {
		Count  int
		Oldest *int64
	}
	if err := s.db.WithContext(ctx).Model(&changeRow{}).Where("relayed_us IS NULL").
		Select("COUNT(*) AS count, MIN(stored_us) AS oldest").Scan(&row).Error; err != nil {
		return 0, time.Time{}, fmt.Errorf("count backlog: %w", err)
	}
	if row.Oldest != nil {
		oldest = instant(*row.Oldest)
	}
	return row.Count, oldest, nil
}

// ChangeRecordedSince reports whether a message's change was recorded for a conversation since a
// time, as far as the ledger goes back. revision selects an edit; empty means the message itself.
func (s *Store) ChangeRecordedSince(ctx context.Context, c chat.Conversation, ts, revision string,
	since time.Time) (bool, error) {
	var n int64
	if err := s.db.WithContext(ctx).Model(&changeRow{}).
		Where("workflow_id = ? AND ts = ? AND revision = ? AND stored_us >= ?", c.ID(), ts, revision, micros(since)).
		Count(&n).Error; err != nil {
		return false, fmt.Errorf("read changes of message %s: %w", ts, err)
	}
	return n > 0, nil
}
