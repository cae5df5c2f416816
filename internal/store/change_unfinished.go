package store

import (
	"context"
	"fmt"
	"time"
)

// unfinishedSince is how far back Unfinished looks. What is older has no answer any more, unless an operator
// has it heard again.
const unfinishedSince = 24 * time.Hour

// Unfinished is since when the oldest work of its kind could have been finished; zero if there is none.
type Unfinished struct {
	// Decision is of a message that addressed the bot, which its conversation was told and nothing has come
	// of, or of a yes after the delay that it asked for, which has no outcome.
	Decision time.Time
	// Conversation is the workflow id of the conversation that Decision is of.
	Conversation string
	// Post is of a part of a reply that is written, and not in Slack.
	Post time.Time
	// Step is of a call of a tool that was asked for, and has no result.
	Step time.Time
	// From is from when on the next call has to look at messages: what was stored before has ended.
	From time.Time
}

// Unfinished finds the oldest unfinished work of the last day. What nobody waits for any more does not
// count: an outcome of the decision ends its posts and steps, and a message that was deleted or
// hushed needs no decision. Neither do open proposals and promises, whose reply is posted. from is From
// of the call before, or zero.
//
// A message at a channel's top level that is answered in its thread is that conversation's. A later
// outcome in a conversation is taken for its messages' before, too: it has got on.
func (s *Store) Unfinished(ctx context.Context, from time.Time) (Unfinished, error) {
	since := s.nowMicros() - unfinishedSince.Microseconds()
	var mention struct {
		First, Relayed int64
		WorkflowID     string
	}
	var yes struct {
		Due        int64
		WorkflowID string
	}
	var row struct{ Post, Step int64 }
	db := s.db.WithContext(ctx)
	// With a limit Postgres goes along the index, instead of hashing all messages.
	err := db.Raw(`SELECT c.stored_us AS first, COALESCE(c.relayed_us, 0) AS relayed, c.workflow_id FROM changes c WHERE c.kind = 'addressed' AND c.stored_us >= ?
		AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.workflow_id = c.workflow_id AND d.decided_us >= c.stored_us - ? AND d.outcome <> 'pending'
			AND (d.trigger_ts >= c.ts OR d.decided_us >= c.stored_us))
		AND NOT EXISTS (SELECT 1 FROM changes e WHERE e.workflow_id = c.workflow_id AND e.ts = c.ts AND e.kind IN ('deleted', 'hushed'))
		AND NOT EXISTS (SELECT 1 FROM changes t WHERE t.workflow_id = 'thread/' || SUBSTR(c.workflow_id, 9) || '/' || c.ts AND t.ts = c.ts AND t.kind = 'addressed')
		ORDER BY c.stored_us LIMIT 1`,
		max(since, microsOrZero(from)), maxClockSkew.Microseconds()).Scan(&mention).Error
	if err == nil {
		err = db.Raw(`SELECT d.decided_us + COALESCE(d.delay_seconds, 0) * 1000000 AS due, d.workflow_id
			FROM decisions d WHERE d.outcome = 'pending' AND d.decided_us >= ? ORDER BY due LIMIT 1`, since).Scan(&yes).Error
	}
	if err == nil {
		err = db.Raw(`SELECT
			COALESCE((SELECT MIN(o.read_us) FROM decisions d JOIN outbox o ON o.decision = d.key
				WHERE d.outcome = 'pending' AND d.decided_us >= ? AND o.state IN ('composed', 'sending')), 0) AS post,
			COALESCE((SELECT MIN(p.stored_us) FROM steps p WHERE p.state IN ('waiting', 'running') AND p.stored_us >= ?
				AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.key = p.decision AND d.outcome <> 'pending')), 0) AS step`,
			since, since).Scan(&row).Error
	}
	if err != nil {
		return Unfinished{}, fmt.Errorf("look for unfinished work: %w", err)
	}
	decision, of := mention.Relayed, mention.WorkflowID
	if decision == 0 || yes.Due > 0 && yes.Due < decision {
		decision, of = yes.Due, yes.WorkflowID
	}
	next := s.nowMicros() - Settled.Microseconds() // other clocks may be late, and so may transactions
	if mention.First > 0 {
		next = min(next, mention.First)
	}
	return Unfinished{Decision: instantOrZero(decision), Conversation: of, Post: instantOrZero(row.Post),
		Step: instantOrZero(row.Step), From: instant(next)}, nil
}

// CountJoined is how many channels the bot is in, of all workspaces.
func (s *Store) CountJoined(ctx context.Context) (n int64, err error) {
	if err := s.db.WithContext(ctx).Table("channels c").Where(joined).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count channels: %w", err)
	}
	return n, nil
}
