package store

import (
	"context"
	"fmt"
	"time"

	"myao/internal/conversation"
)

type changeRow struct {
	ID         int64 `gorm:"primaryKey;autoIncrement"`
	WorkflowID string
	TS         string `gorm:"column:ts"`
	SentUS     int64  `gorm:"column:sent_us"`
	Kind       string
	Revision   string
	FollowUp   bool
	StoredUS   int64  `gorm:"column:stored_us"`
	RelayedUS  *int64 `gorm:"column:relayed_us"`
	OrderedBy  string
	Trace      string
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

// Waiting is a change that no signal has taken yet.
type Waiting struct {
	ID int64
	conversation.Change
	// Trace is the traceparent (W3C) of the request that brought it, or empty.
	Trace string
}

// Claim leases a conversation to one relay until a time, and reports whether it
// is now that relay's. A relay renews its own lease by claiming again.
func (s *Store) Claim(ctx context.Context, workflowID, relay string, until time.Time) (bool, error) {
	claimed := s.db.WithContext(ctx).Model(&conversationRow{}).
		Where("workflow_id = ? AND (claimed_us < ? OR claimed_by = ?)", workflowID, s.nowMicros(), relay).
		Updates(map[string]any{"claimed_by": relay, "claimed_us": micros(until)})
	if claimed.Error != nil {
		return false, fmt.Errorf("claim %s: %w", workflowID, claimed.Error)
	}
	return claimed.RowsAffected == 1, nil
}

// Release ends a relay's lease.
func (s *Store) Release(ctx context.Context, workflowID, relay string) error {
	if err := s.db.WithContext(ctx).Model(&conversationRow{}).
		Where("workflow_id = ? AND claimed_by = ?", workflowID, relay).
		Update("claimed_us", 0).Error; err != nil {
		return fmt.Errorf("release %s: %w", workflowID, err)
	}
	return nil
}

// Waiting is the changes of a conversation that have yet to be relayed, in order
// of the messages' ts, and of their coming for the same message.
func (s *Store) Waiting(ctx context.Context, workflowID string, limit int) ([]Waiting, error) {
	var rows []changeRow
	if err := s.db.WithContext(ctx).Where("workflow_id = ? AND relayed_us IS NULL", workflowID).
		Order("sent_us, id").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read changes of %s: %w", workflowID, err)
	}
	waiting := make([]Waiting, len(rows))
	for i, r := range rows {
		waiting[i] = Waiting{ID: r.ID, Change: r.change(), Trace: r.Trace}
	}
	return waiting, nil
}

// Relayed marks changes as taken by a signal.
func (s *Store) Relayed(ctx context.Context, ids []int64) error {
	if err := s.db.WithContext(ctx).Model(&changeRow{}).Where("id IN ?", ids).
		Update("relayed_us", s.nowMicros()).Error; err != nil {
		return fmt.Errorf("mark changes as relayed: %w", err)
	}
	return nil
}

// channelOf is the channel of a workflow id in SQL that both databases speak: the
// id without its first word and, of a thread's, without its ts.
const channelOf = `CASE WHEN workflow_id LIKE 'thread/%'
	THEN rtrim(substr(workflow_id, 8), '0123456789.') ELSE substr(workflow_id, 9) || '/' END`

// Backlog is the workflow ids of conversations that have changes waiting and no
// relay at work on them: of each channel the one that has waited longest, then of
// each the next, and so on. A storm in one channel leaves room for the others.
func (s *Store) Backlog(ctx context.Context, limit int) ([]string, error) {
	var ids []string
	err := s.db.WithContext(ctx).Raw(`
		SELECT workflow_id FROM (
			SELECT w.workflow_id, first, ROW_NUMBER() OVER (PARTITION BY channel ORDER BY first) AS turn FROM (
				SELECT workflow_id, MIN(id) AS first, `+channelOf+` AS channel
				FROM changes WHERE relayed_us IS NULL GROUP BY workflow_id
			) w JOIN conversations c ON c.workflow_id = w.workflow_id
			WHERE c.claimed_us < ?
		) turns ORDER BY turn, first LIMIT ?`, s.nowMicros(), limit).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("read backlog: %w", err)
	}
	return ids, nil
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
