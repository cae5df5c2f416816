package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// StoredMessage is a message as it stands, and how it came to be known.
type StoredMessage struct {
	chat.Message
	// Handled is set once an event of the message itself has been recorded; else it was
	// read from Slack's history, and nobody has heard of it.
	Handled bool
	// Stored is when the newest news of it was stored.
	Stored time.Time
}

func (r messageRow) stored() StoredMessage {
	return StoredMessage{Message: r.message(), Handled: r.Handled, Stored: instant(r.StoredUS)}
}

// MessagesByTS is those of a channel's messages that are known, by ts, deleted ones among them,
// in order of time.
func (s *Store) MessagesByTS(ctx context.Context, team, channel string, ts []string) ([]StoredMessage, error) {
	if len(ts) == 0 {
		return nil, nil
	}
	var rows []messageRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND ts IN ?", team, channel, ts).Order("sent_us, ts").
		Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read %d messages of %s: %w", len(ts), channel, err)
	}
	return mapRows(rows, messageRow.stored), nil
}

// MessagesSince is the messages of a conversation itself that were sent since a time, the
// newest limit of them, in order of time; deleted ones are left out.
func (s *Store) MessagesSince(ctx context.Context, c chat.Conversation, since time.Time, limit int) ([]StoredMessage, error) {
	return s.newestMessages(ctx, c, limit, "team_id = ? AND channel_id = ? AND thread_ts = ? AND sent_us >= ? AND NOT deleted",
		c.Team, c.Channel, c.Thread, microsOrZero(since))
}

// ChannelMessagesSince is MessagesSince of a channel with its threads.
func (s *Store) ChannelMessagesSince(ctx context.Context, c chat.Conversation, since time.Time, limit int) ([]StoredMessage, error) {
	return s.newestMessages(ctx, c, limit, "team_id = ? AND channel_id = ? AND sent_us >= ? AND NOT deleted", c.Team, c.Channel, microsOrZero(since))
}

func (s *Store) newestMessages(ctx context.Context, c chat.Conversation, limit int, where string, args ...any) ([]StoredMessage, error) {
	var rows []messageRow
	if err := s.db.WithContext(ctx).Where(where, args...).Order("sent_us DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read messages of %s: %w", c.ID(), err)
	}
	slices.Reverse(rows)
	return mapRows(rows, messageRow.stored), nil
}

// RecordedChange is a change of a message, and how far it has come on its way to a workflow.
type RecordedChange struct {
	conversation.Change
	WorkflowID string
	// Stored is when it was recorded; Relayed when a signal had taken it, or zero.
	Stored, Relayed time.Time
}

// ChangesSince is the changes of some conversations, of messages sent since a time, in order of
// those and of their coming, at most limit.
func (s *Store) ChangesSince(ctx context.Context, workflowIDs []string, since time.Time, limit int) ([]RecordedChange, error) {
	var rows []changeRow
	// By ts, which sorts as what it names: there is no index of sent_us but of what waits.
	if err := s.db.WithContext(ctx).Where("workflow_id IN ? AND ts >= ?", workflowIDs, chat.TS(instant(microsOrZero(since)))).
		Order("sent_us, id").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read what was passed on to %d conversations: %w", len(workflowIDs), err)
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

// DecisionsSince is the decisions of some conversations that were taken since a time, or are
// about a message sent since then, oldest first, at most limit.
func (s *Store) DecisionsSince(ctx context.Context, workflowIDs []string, since time.Time, limit int) ([]Decision, error) {
	var rows []Decision
	if err := s.db.WithContext(ctx).Where("workflow_id IN ? AND decided_us >= ? AND (decided_us >= ? OR trigger_ts >= ?)",
		workflowIDs, microsOrZero(since)-maxClockSkew.Microseconds(), microsOrZero(since), chat.TS(instant(microsOrZero(since)))).
		Order("decided_us, key").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read decisions of %d conversations: %w", len(workflowIDs), err)
	}
	return rows, nil
}

// ChangesAndDecisions is the changes of one message and the decisions about it, in some conversations,
// in the order of Passed and DecisionsSince.
func (s *Store) ChangesAndDecisions(ctx context.Context, workflowIDs []string, ts string) ([]RecordedChange, []Decision, error) {
	var changes []changeRow
	var decisions []Decision
	if err := runBatch(s.db.WithContext(ctx),
		query{"SELECT * FROM changes WHERE workflow_id IN ? AND ts = ? ORDER BY id", []any{workflowIDs, ts}, &changes},
		// None is older than its message, as far as clocks agree: without a time, all of the conversations would be looked through.
		query{"SELECT * FROM decisions WHERE workflow_id IN ? AND decided_us >= ? AND trigger_ts = ? ORDER BY decided_us, key",
			[]any{workflowIDs, microsOrZero(chat.Time(ts)) - maxClockSkew.Microseconds(), ts}, &decisions},
	); err != nil {
		return nil, nil, fmt.Errorf("read what became of message %s: %w", ts, err)
	}
	return mapRows(changes, changeRow.recorded), decisions, nil
}

// PartsFor is the parts of all replies in a channel to messages, in order of the replies
// and of their own; the same message may be answered in several threads and revisions.
func (s *Store) PartsFor(ctx context.Context, team, channel string, triggers []string) ([]Part, error) {
	if len(triggers) == 0 {
		return nil, nil
	}
	var rows []outboxRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND trigger_ts IN ?", team, channel, triggers).
		Order("reply, part").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read replies to %d messages of %s: %w", len(triggers), channel, err)
	}
	return mapRows(rows, outboxRow.part), nil
}

// Orders is what people have ordered about a channel and its threads, or with channel
// empty about the memory of the workspace, since a time, oldest first, at most limit.
func (s *Store) Orders(ctx context.Context, team, channel string, since time.Time, limit int) ([]Order, error) {
	var rows []orderRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND ordered_us >= ?", team, channel, microsOrZero(since)).
		Order("ordered_us, id").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	return mapRows(rows, orderRow.order), nil
}

func (r callRow) call() Call {
	return Call{
		Scope: chat.Scope{Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS}, Purpose: r.Purpose, Provider: r.Provider, Model: r.Model,
		TokensIn: r.TokensIn, TokensOut: r.TokensOut, Latency: time.Duration(r.LatencyUS) * time.Microsecond, Error: r.Error,
		Decision: r.Decision, Ended: instant(r.CalledUS),
	}
}

// CallsFor is the calls of models that were made for decisions, by their keys, oldest first.
func (s *Store) CallsFor(ctx context.Context, decisions []string) ([]Call, error) {
	if len(decisions) == 0 {
		return nil, nil
	}
	var rows []callRow
	// Said twice, since the index has only what was made for a decision.
	if err := s.db.WithContext(ctx).Where("decision IN ? AND decision <> ''", decisions).Order("called_us, id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read calls of models: %w", err)
	}
	return mapRows(rows, callRow.call), nil
}
