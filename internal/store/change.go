package store

import (
	"context"
	"fmt"
	"time"

	"myao/internal/conversation"
)

type changeRow struct {
	ID         int64  `gorm:"primaryKey;autoIncrement" json:"id"`
	WorkflowID string `json:"workflow_id"`
	TS         string `gorm:"column:ts" json:"ts"`
	SentUS     int64  `gorm:"column:sent_us" json:"sent_us"`
	Kind       string `json:"kind"`
	Revision   string `json:"revision"`
	FollowUp   bool   `json:"follow_up"`
	StoredUS   int64  `gorm:"column:stored_us" json:"stored_us"`
	RelayedUS  *int64 `gorm:"column:relayed_us" json:"relayed_us"`
	OrderedBy  string `json:"ordered_by"`
	Trace      string `json:"trace"`
}

func (changeRow) TableName() string { return "changes" }

func (r changeRow) change() conversation.Change {
	return conversation.Change{TS: r.TS, Kind: conversation.Kind(r.Kind), Revision: r.Revision, FollowUp: r.FollowUp, By: r.OrderedBy}
}

type conversationRow struct {
	WorkflowID string `gorm:"primaryKey"`
	ClaimedBy  string
	ClaimedUS  int64 `gorm:"column:claimed_us"`
	SilencedUS int64 `gorm:"column:silenced_us"`
}

func (conversationRow) TableName() string { return "conversations" }

// PendingChange is a change that no signal has taken yet.
type PendingChange struct {
	ID int64
	conversation.Change
	// Trace is the traceparent (W3C) of the request that brought it, or empty.
	Trace string
}

const (
	// pendingChanges is the changes of a conversation that have yet to be relayed, in their order.
	pendingChanges = `SELECT * FROM changes WHERE workflow_id = ? AND relayed_us IS NULL ORDER BY sent_us, id LIMIT ?`

	// claim leases a conversation that has changes waiting, unless another relay holds it.
	claim = `
		INSERT INTO conversations (workflow_id, claimed_by, claimed_us)
		SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT)
		WHERE EXISTS (SELECT 1 FROM changes WHERE workflow_id = ? AND relayed_us IS NULL)
		ON CONFLICT (workflow_id) DO UPDATE SET claimed_by = excluded.claimed_by, claimed_us = excluded.claimed_us
		WHERE conversations.claimed_us < ? OR conversations.claimed_by = excluded.claimed_by`
)

// Claim leases a conversation to one relay until a time and returns the changes that
// have yet to be relayed, in order of the messages' ts, and of their coming for the
// same message. None come back, and nothing is leased, where nothing waits or another
// relay is at work. A relay renews its own lease by taking again.
//
// In Postgres it is one statement, which sees the changes as they stood when it began.
// It may have waited then for the relay that let go: what that one marked in the
// meantime comes once more. That does no harm: the workflow remembers more changes
// than a signal carries, and knows these.
func (s *Store) Claim(ctx context.Context, workflowID, relay string, until time.Time, limit int) ([]PendingChange, error) {
	db := s.db.WithContext(ctx)
	args := []any{workflowID, relay, micros(until), workflowID, s.nowMicros()}
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
	var answer string // one of none does not come: what is claimed has something waiting
	if err := db.Raw(claim+" RETURNING CASE WHEN "+s.asyncCommit()+" THEN "+pack(pendingChanges, &rows)+" END", append(args, workflowID, limit)...).
		Scan(&answer).Error; err != nil {
		return nil, fmt.Errorf("claim %s: %w", workflowID, err)
	}
	if err := unpack([]byte(answer), &rows); err != nil {
		return nil, fmt.Errorf("read changes of %s: %w", workflowID, err)
	}
	return mapRows(rows, changeRow.pending), nil
}

// PendingChanges is the changes of a conversation that have yet to be relayed, as Take
// returns them, whoever is at work on it.
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

// MarkRelayed marks changes as taken by a signal.
func (s *Store) MarkRelayed(ctx context.Context, ids []int64) error {
	marked := s.db.WithContext(ctx).Model(&changeRow{}).Where(s.asyncCommit())
	if s.sqlite != "" {
		marked = marked.Where("id IN ?", ids)
	} else {
		// One parameter, and so one prepared statement however many there are: gorm would
		// write a slice out, but not what points to one.
		marked = marked.Where("id = ANY(?)", &ids)
	}
	if err := marked.Update("relayed_us", s.nowMicros()).Error; err != nil {
		return fmt.Errorf("mark changes as relayed: %w", err)
	}
	return nil
}

// Release ends a relay's lease and reports whether more waits: whoever brought it
// may have found the conversation leased, and gone away. In Postgres a change can be
// missed that is committed, and whose relay is turned away, in the moment between the
// statement's beginning and its effect; the next look at the backlog finds it.
func (s *Store) Release(ctx context.Context, workflowID, relay string) (more bool, err error) {
	if err := s.db.WithContext(ctx).Raw(`
		UPDATE conversations SET claimed_us = 0 WHERE workflow_id = ? AND claimed_by = ? AND `+s.asyncCommit()+`
		RETURNING EXISTS (SELECT 1 FROM changes w WHERE w.workflow_id = conversations.workflow_id AND w.relayed_us IS NULL)`,
		workflowID, relay).Scan(&more).Error; err != nil {
		return false, fmt.Errorf("release %s: %w", workflowID, err)
	}
	return more, nil
}

// channelOf is the channel of a workflow id in SQL that both databases speak: the
// id without its first word and, of a thread's, without its ts.
const channelOf = `CASE WHEN workflow_id LIKE 'thread/%'
	THEN rtrim(substr(workflow_id, 8), '0123456789.') ELSE substr(workflow_id, 9) || '/' END`

// BacklogItem is a conversation that has changes waiting.
type BacklogItem struct {
	WorkflowID string
	// Addressed is set where somebody who addressed the bot is among what waits.
	Addressed bool
}

// Backlog is the conversations that have changes waiting and no relay at work on
// them: of each channel one, then of each the next, and so on, so that a storm in one
// channel leaves room for the others. Those in which the bot was addressed come
// before others, and then those that have waited longest. How long one has waited is
// told by the first of its changes to be relayed.
//
// It steps along the index from one conversation to the next: what it costs does not
// depend on how much waits for each.
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
			SELECT workflow_id, addressed, first, ROW_NUMBER() OVER (PARTITION BY `+channelOf+` ORDER BY addressed DESC, first) AS turn FROM (
				SELECT w.workflow_id, EXISTS (
					SELECT 1 FROM changes a WHERE a.workflow_id = w.workflow_id AND a.relayed_us IS NULL AND a.kind = 'addressed'
				) AS addressed, (
					SELECT f.id FROM changes f WHERE f.workflow_id = w.workflow_id AND f.relayed_us IS NULL
					ORDER BY f.sent_us, f.id LIMIT 1
				) AS first
				FROM w WHERE w.workflow_id IS NOT NULL
				AND COALESCE((SELECT c.claimed_us FROM conversations c WHERE c.workflow_id = w.workflow_id), 0) < ?
			) free
		) turns ORDER BY turn, addressed DESC, first LIMIT ?`, s.nowMicros(), limit).Scan(&left).Error
	if err != nil {
		return nil, fmt.Errorf("read backlog: %w", err)
	}
	return left, nil
}

// BacklogSize is how many changes wait to be relayed, and since when the oldest
// does; the zero time when none does.
func (s *Store) BacklogSize(ctx context.Context) (count int, oldest time.Time, err error) {
	var row struct {
		Count  int
		Oldest *int64
	}
	if err := s.db.WithContext(ctx).Model(&changeRow{}).Where("relayed_us IS NULL").
		Select("COUNT(*) AS count, MIN(stored_us) AS oldest").Scan(&row).Error; err != nil {
		return 0, time.Time{}, fmt.Errorf("measure backlog: %w", err)
	}
	if row.Oldest != nil {
		oldest = instant(*row.Oldest)
	}
	return row.Count, oldest, nil
}
