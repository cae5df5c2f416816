package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// StoredMessage is a message and how it reached the store.
type StoredMessage struct {
	chat.Message
	// Handled is set once an event of the message itself has been recorded. Otherwise it was read
	// from Slack's history, and no conversation knows it.
	Handled bool
	// Stored is when its last change was stored.
	Stored time.Time
}

func (r messageRow) stored() StoredMessage {
	return StoredMessage{Message: r.message(), Handled: r.Handled, Stored: instant(r.StoredUS)}
}

// MessagesByTS is a channel's messages with the given ts, deleted ones included, in order of time.
// Unknown ts are left out.
func (s *Store) MessagesByTS(ctx context.Context, team, channel string, ts []string) ([]StoredMessage, error) {
	if len(ts) == 0 {
		return nil, nil
	}
	var rows []messageRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND ts IN ?", team, channel, ts).
		Order("sent_us, ts").
		Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read %d messages of %s: %w", len(ts), channel, err)
	}
	return mapRows(rows, messageRow.stored), nil
}

// MessagesSince is the messages of a conversation itself that were sent since a time, the newest
// limit of them, in order of time and without deleted ones.
func (s *Store) MessagesSince(
	ctx context.Context, c chat.Conversation, since time.Time, limit int,
) ([]StoredMessage, error) {
	return s.newestMessages(ctx, c, limit,
		"team_id = ? AND channel_id = ? AND thread_ts = ? AND sent_us >= ? AND NOT deleted",
		c.Team, c.Channel, c.Thread, microsOrZero(since))
}

// ChannelMessagesSince is MessagesSince for a channel with its threads.
func (s *Store) ChannelMessagesSince(ctx context.Context, c chat.Conversation, since time.Time,
	limit int) ([]StoredMessage, error) {
	return s.newestMessages(ctx, c, limit, "team_id = ? AND channel_id = ? AND sent_us >= ? AND NOT deleted", c.Team,
		c.Channel, microsOrZero(since))
}

func (s *Store) newestMessages(ctx context.Context, c chat.Conversation, limit int, where string,
	args ...any) ([]StoredMessage, error) {
	var rows []messageRow
	if err := s.db.WithContext(ctx).Where(where, args...).Order("sent_us DESC").Limit(limit).Find(&rows).
		Error; err != nil {
		return nil, fmt.Errorf("read messages of %s: %w", c.ID(), err)
	}
	slices.Reverse(rows)
	return mapRows(rows, messageRow.stored), nil
}

// RecordedChange is a recorded change and whether its workflow has received it.
type RecordedChange struct {
	conversation.Change
	WorkflowID string
	// Stored is when it was recorded; Relayed is when a signal had delivered it, or zero.
	Stored, Relayed time.Time
}

// ChangesSince is the changes of some conversations, for messages sent since a time, ordered by
// message and then by arrival, at most limit.
func (s *Store) ChangesSince(
	ctx context.Context, workflowIDs []string, since time.Time, limit int,
) ([]RecordedChange, error) {
	var rows []changeRow
	// The condition uses ts, which sorts by time, because the index on sent_us covers only changes
	// that have not been relayed.
	if err := s.db.WithContext(ctx).Where("workflow_id IN ? AND ts >= ?", workflowIDs,
		chat.TS(instant(microsOrZero(since)))).
		Order("sent_us, id").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read changes of %d conversations: %w", len(workflowIDs), err)
	}
	return mapRows(rows, changeRow.recorded), nil
}

func (r changeRow) recorded() RecordedChange {
	p := RecordedChange{Change: r.change(), WorkflowID: r.WorkflowID, Stored: instant(r.StoredUS)}
	if r.RelayedUS != nil {
		p.Relayed = instant(*r.RelayedUS)
	}
	return p
}

// DecisionsSince is the decisions of some conversations that were made since a time, or whose
// trigger was sent since then, the oldest first, at most limit.
func (s *Store) DecisionsSince(
	ctx context.Context, workflowIDs []string, since time.Time, limit int,
) ([]Decision, error) {
	var rows []Decision
	if err := s.db.WithContext(ctx).
		Where("workflow_id IN ? AND decided_us >= ? AND (decided_us >= ? OR trigger_ts >= ?)",
			workflowIDs, microsOrZero(since)-maxClockSkew.Microseconds(), microsOrZero(since),
			chat.TS(instant(microsOrZero(since)))).
		Order("decided_us, key").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read decisions of %d conversations: %w", len(workflowIDs), err)
	}
	return rows, nil
}

// ChangesAndDecisions is the changes of one message and the decisions about it, in some
// conversations, in the order of ChangesSince and DecisionsSince.
func (s *Store) ChangesAndDecisions(
	ctx context.Context, workflowIDs []string, ts string,
) ([]RecordedChange, []Decision, error) {
	var changes []changeRow
	var decisions []Decision
	if err := runBatch(s.db.WithContext(ctx),
		query{"SELECT * FROM changes WHERE workflow_id IN ? AND ts = ? ORDER BY id", []any{workflowIDs, ts}, &changes},
		// No decision is older than its message, apart from clock skew. Without the time, Postgres
		// would read all decisions of the conversations.
		query{"SELECT * FROM decisions WHERE workflow_id IN ? AND decided_us >= ? AND trigger_ts = ? ORDER BY " +
			"decided_us, key",
			[]any{workflowIDs, microsOrZero(chat.Time(ts)) - maxClockSkew.Microseconds(), ts}, &decisions},
	); err != nil {
		return nil, nil, fmt.Errorf("read changes and decisions of message %s: %w", ts, err)
	}
	return mapRows(changes, changeRow.recorded), decisions, nil
}

// PartsFor is the parts of all replies in a channel to some messages, ordered by reply and part. A
// message may have several replies: in several threads and for several revisions.
func (s *Store) PartsFor(ctx context.Context, team, channel string, triggers []string) ([]Part, error) {
	if len(triggers) == 0 {
		return nil, nil
	}
	var rows []outboxRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND trigger_ts IN ?", team, channel,
		triggers).
		Order("reply, part").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read replies to %d messages of %s: %w", len(triggers), channel, err)
	}
	return mapRows(rows, outboxRow.part), nil
}

// Orders is people's orders about a channel and its threads since a time, the oldest first, at most
// limit. With channel empty it is the orders about the workspace's memory.
func (s *Store) Orders(ctx context.Context, team, channel string, since time.Time, limit int) ([]Order, error) {
	var rows []orderRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND ordered_us >= ?", team, channel,
		microsOrZero(since)).
		Order("ordered_us, id").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	return mapRows(rows, orderRow.order), nil
}

func (r callRow) call() Call {
	return Call{
		Scope: chat.Scope{Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS}, Purpose: r.Purpose,
		Provider: r.Provider, Model: r.Model,
		TokensIn: r.TokensIn, TokensCached: r.TokensCached, TokensOut: r.TokensOut,
		Latency:  time.Duration(r.LatencyUS) * time.Microsecond,
		Error:    r.Error,
		Decision: r.Decision, Ended: instant(r.CalledUS),
	}
}

// CallsFor is the model calls for some decisions, by their keys, the oldest first.
func (s *Store) CallsFor(ctx context.Context, decisions []string) ([]Call, error) {
	if len(decisions) == 0 {
		return nil, nil
	}
	var rows []callRow
	// The second condition matches the index, which has only calls for a decision.
	if err := s.db.WithContext(ctx).Where("decision IN ? AND decision <> ''", decisions).Order("called_us, id").
		Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read calls of models: %w", err)
	}
	return mapRows(rows, callRow.call), nil
}
