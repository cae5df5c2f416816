package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// Cutoffs are the times before which Prune deletes; a zero time keeps all.
type Cutoffs struct {
	// Ledger is of decisions, changes, replies in the outbox, calls of models and orders.
	Ledger time.Time
	// Messages is of what was said. It must lie further back than anything waits, catch-up
	// reads and memory looks (config.Retention sees to that).
	Messages time.Time
	// MemoryVersions is of versions of memories that are not in force.
	MemoryVersions time.Time
}

// pruneChunk is how many rows are looked at, and deleted at most, in one statement: it
// takes some milliseconds, which whoever wants to write meanwhile may have to wait.
const pruneChunk = 500

// Prune deletes what lies before the horizons and is over. Each statement takes a few rows,
// and stands for itself: after each, step is told of which table how many have gone, and
// may take its time, or end it all with an error. Whoever is stopped begins again, and
// finds what is left.
//
// What stays, however old it is: changes that wait to be relayed, decisions that are
// pending, replies that are not over, memories in force and the newest version of each, and
// all that was forgotten. A thread is as old as its newest reply, and stays whole. What
// memory has yet to take in of a channel stays for as long again.
func (s *Store) Prune(ctx context.Context, h Cutoffs, step func(table string, rows int) error) error {
	p := pruning{db: s.db.WithContext(ctx), now: s.now(), step: step}
	for _, table := range []struct {
		name  string
		prune func() error
	}{
		{"messages", func() error { return p.messages(h.Messages) }},
		{"ledger", func() error { return p.ledger(h) }},
		{"memories", func() error { return p.memories(h.MemoryVersions) }},
		{"conversations", p.conversations},
	} {
		if err := table.prune(); err != nil {
			return fmt.Errorf("prune %s: %w", table.name, err)
		}
	}
	return nil
}

// pruning is one run.
type pruning struct {
	db   *gorm.DB
	now  time.Time
	step func(table string, rows int) error
}

// prunable says which rows of a table have had their time.
type prunable struct {
	table string
	// within restricts the walk to a part of the table; empty: it goes through all of it.
	within condition
	// walkColumn is the column by which the table is walked, from the oldest row on: one with an
	// index that begins with it, or with what within names.
	walkColumn string
	// ageColumn is what is compared with the horizon.
	ageColumn string
	// condition is what has to hold besides.
	condition condition
	// groupColumn is a column: rows that have the same there go together.
	groupColumn string
}

// condition is a part of a WHERE.
type condition struct {
	sql  string
	args []any
}

func where(sql string, args ...any) condition { return condition{sql, args} }

func (c condition) apply(db *gorm.DB) *gorm.DB {
	if c.sql == "" {
		return db
	}
	return db.Where(c.sql, c.args...)
}

// walk deletes along a column of type K, which is never zero.
func walk[K int64 | string](p pruning, rows prunable, before int64) error {
	for after := *new(K); ; {
		var window struct {
			Rows   int
			Last   K
			Oldest int64
		}
		found := rows.within.apply(p.db.Table(rows.table)).Where(rows.walkColumn+" > ?", after).
			Select(rows.walkColumn + " AS at, " + rows.ageColumn + " AS age").Order(rows.walkColumn).Limit(pruneChunk)
		if err := p.db.Table("(?) found", found).Select("COUNT(*) AS rows, MAX(at) AS last, COALESCE(MIN(age), 0) AS oldest").
			Scan(&window).Error; err != nil {
			return err
		}
		if window.Rows == 0 || window.Oldest >= before {
			return nil
		}
		old := rows.condition.apply(rows.within.apply(p.db.Table(rows.table))).
			Where(rows.walkColumn+" > ? AND "+rows.walkColumn+" <= ? AND "+rows.ageColumn+" < ?", after, window.Last, before)
		if rows.groupColumn != "" {
			old = p.db.Table(rows.table).Where(rows.groupColumn+" IN (?)", old.Select(rows.groupColumn))
		}
		deleted := old.Delete(nil)
		if deleted.Error != nil {
			return deleted.Error
		}
		if err := p.step(rows.table, int(deleted.RowsAffected)); err != nil {
			return err
		}
		if window.Rows < pruneChunk {
			return nil
		}
		after = window.Last
	}
}

// ledger deletes what tells how decisions came about. Nothing is left of it that would be
// done again: that a message was handled stands in its own row, and what is older than
// the ledger is composed no reply to (activities.Compose).
func (p pruning) ledger(h Cutoffs) error {
	if h.Ledger.IsZero() {
		return nil
	}
	before := micros(h.Ledger)
	// That a message addressed the bot is known by its change alone, and a later edit of it
	// must not look like the first mention: so those stay as long as messages do.
	if err := walk[int64](p, prunable{
		table: "changes", walkColumn: "id", ageColumn: "stored_us",
		condition: where("relayed_us < ? AND (kind <> 'addressed' OR sent_us < ?)", before, microsOrZero(h.Messages)),
	}, before); err != nil {
		return err
	}
	if err := walk[int64](p, prunable{
		table: "decisions", walkColumn: "decided_us", ageColumn: "decided_us", condition: where("outcome <> 'pending'"),
		within: where("key <> ''"), // said since the index has only those
	}, before); err != nil {
		return err
	}
	// A reply is over when all of its parts are sent, or one has failed for good: the others
	// are not tried then; and when its decision is, which was given up. A part that was left
	// alone would look like the whole of it.
	if err := walk[int64](p, prunable{
		table: "outbox", walkColumn: "stored_us", ageColumn: "stored_us", groupColumn: "reply",
		condition: where("(SELECT MAX(CASE part.state WHEN ? THEN 0 WHEN ? THEN 2 ELSE 1 END) FROM outbox part WHERE part.reply = outbox.reply) <> 1 "+
			"OR NOT EXISTS (SELECT 1 FROM decisions d WHERE d.key = outbox.decision AND d.outcome = 'pending')", Sent, Failed),
	}, before); err != nil {
		return err
	}
	if err := walk[int64](p, prunable{table: "model_calls", walkColumn: "called_us", ageColumn: "called_us"}, before); err != nil {
		return err
	}
	// Of orders to be silent it has to be known that they were carried out (ApplyOrder): a workflow
	// that is reset gives them again.
	return walk[int64](p, prunable{
		table: "orders", walkColumn: "ordered_us", ageColumn: "ordered_us", condition: where("kind NOT IN ('mute', 'snooze', 'unmute')"),
	}, before)
}

// memories deletes versions that are not in force. The newest of a scope's term stays, so
// that no number is given twice.
func (p pruning) memories(horizon time.Time) error {
	if horizon.IsZero() {
		return nil
	}
	const scope = "s.team_id = memories.team_id AND s.channel_id = memories.channel_id AND s.thread_ts = memories.thread_ts"
	return walk[int64](p, prunable{
		table: "memories", walkColumn: "id", ageColumn: "made_us",
		condition: where("version > 0 AND version < (SELECT MAX(s.version) FROM memories s WHERE " + scope + " AND s.term = memories.term) " +
			"AND NOT COALESCE((SELECT memories.id IN (s.long_id, s.short_id) FROM memory_scopes s WHERE " + scope + "), FALSE)"),
	}, micros(horizon))
}

// leaseGrace is for how long after its end a lease is not touched: clocks differ.
const leaseGrace = time.Hour

// conversations deletes what nobody holds and nobody has silenced: whoever wants the row
// makes it again.
func (p pruning) conversations() error {
	return walk[string](p, prunable{
		table: "conversations", walkColumn: "workflow_id", ageColumn: "claimed_us",
		condition: where("silenced_us < ? AND NOT EXISTS (SELECT 1 FROM changes c WHERE c.workflow_id = conversations.workflow_id AND c.relayed_us IS NULL)",
			micros(p.now)),
	}, micros(p.now.Add(-leaseGrace)))
}

// messages goes from channel to channel, and stays where there is a message from before the
// horizon. ts sorts as what it names.
func (p pruning) messages(horizon time.Time) error {
	if horizon.IsZero() {
		return nil
	}
	var waiting *int64
	if err := p.db.Model(&changeRow{}).Where("relayed_us IS NULL").Select("MIN(sent_us)").Scan(&waiting).Error; err != nil {
		return err
	}
	for after := (chat.Scope{}); ; {
		var channels []struct {
			Team, Channel string
			Aged          bool
		}
		if err := p.db.Model(&channelRow{}).Where("(team_id, channel_id) > (?, ?)", after.Team, after.Channel).
			Select(`team_id AS team, channel_id AS channel, COALESCE((
				SELECT MIN(m.ts) FROM messages m WHERE m.team_id = channels.team_id AND m.channel_id = channels.channel_id
			) < ?, FALSE) AS aged`, chat.TS(horizon)).
			Order("team_id, channel_id").Limit(pruneChunk).Scan(&channels).Error; err != nil {
			return err
		}
		for _, c := range channels {
			after = chat.Scope{Team: c.Team, Channel: c.Channel}
			if !c.Aged {
				continue
			}
			before, err := p.memoryCutoff(after, horizon)
			if err != nil {
				return err
			}
			if waiting != nil {
				before = min(before, *waiting)
			}
			if err := p.channel(after, before, horizon); err != nil {
				return err
			}
		}
		if len(channels) < pruneChunk {
			return nil
		}
	}
}

// memoryCutoff is the horizon of a channel's messages, or when the first of those was sent that
// memory has yet to take in: what was sent since its cursor begins, and has been stored
// since it read last. It waits for memory no longer than for as long again, since the bot may
// be switched off there.
func (p pruning) memoryCutoff(channel chat.Scope, horizon time.Time) (before int64, err error) {
	before = micros(horizon)
	var scopes []scopeRow
	if err := ofScope(p.db, channel).Find(&scopes).Error; err != nil || len(scopes) == 0 || scopes[0].SinceUS >= before {
		return before, err
	}
	again := 2*before - micros(p.now)
	var first *int64
	err = p.db.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND sent_us >= ? AND sent_us < ? AND NOT deleted AND stored_us >= ?",
		channel.Team, channel.Channel, max(scopes[0].SinceUS, again), before, scopes[0].ReadUS).Select("MIN(sent_us)").Scan(&first).Error
	if first != nil {
		before = *first
	}
	return before, err
}

// sameThread is what rows {r} of a message's thread have in common with it.
const sameThread = "{r}.team_id = messages.team_id AND {r}.channel_id = messages.channel_id " +
	"AND {r}.thread_ts = CASE WHEN messages.thread_ts = '' THEN messages.ts ELSE messages.thread_ts END"

// channel deletes a channel's messages that were sent before a time: a thread, its parent
// included, when all of it was, and its memory was not made since the horizon, which
// would take notice as if people had deleted it.
func (p pruning) channel(c chat.Scope, before int64, horizon time.Time) error {
	of := func(rows string) string { return strings.ReplaceAll(sameThread, "{r}", rows) }
	return walk[string](p, prunable{
		table: "messages", walkColumn: "ts", ageColumn: "sent_us", within: where("team_id = ? AND channel_id = ?", c.Team, c.Channel),
		condition: where("COALESCE((SELECT MAX(reply.sent_us) FROM messages reply WHERE "+of("reply")+" AND NOT reply.deleted), 0) < ? "+
			"AND COALESCE((SELECT scope.updated_us FROM memory_scopes scope WHERE "+of("scope")+"), 0) < ?", before, micros(horizon)),
	}, before)
}

// ChangeRecordedSince reports whether a conversation was told of a message, or of one of its edits
// (its revision), since a time, as far as that is known.
func (s *Store) ChangeRecordedSince(ctx context.Context, c chat.Conversation, ts, revision string, since time.Time) (bool, error) {
	var n int64
	if err := s.db.WithContext(ctx).Model(&changeRow{}).
		Where("workflow_id = ? AND ts = ? AND revision = ? AND stored_us >= ?", c.ID(), ts, revision, micros(since)).Count(&n).Error; err != nil {
		return false, fmt.Errorf("read changes of message %s: %w", ts, err)
	}
	return n > 0, nil
}
