package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// Cutoffs are the times before which Prune deletes; a zero time keeps everything.
type Cutoffs struct {
	// Ledger applies to decisions, what was looked up for them, feedback, labels, opinions, promises, changes, replies
	// in the outbox, model calls and orders.
	Ledger time.Time
	// Messages must be older than anything that is pending, read by catch-up or read for memory
	// (config.Retention checks that).
	Messages time.Time
	// MemoryVersions applies to versions of memories that are not current.
	MemoryVersions time.Time
}

// pruneChunk is how many rows one statement looks at, and at most deletes. It takes a few
// milliseconds, and other writers may have to wait for it.
const pruneChunk = 500

// Prune deletes what is older than the cutoffs and finished. Each statement handles a few rows in a
// transaction of its own. After each, step gets the table and the number of deleted rows; it may
// take its time, or stop Prune with an error. A later call continues with what is left.
//
// Some things stay whatever their age: pending changes, pending decisions, unfinished replies, open
// promises, current memories, the newest version of each memory, and marks of what was forgotten. A thread is
// as old as its newest reply and stays whole. Messages that memory has yet to read stay for twice
// as long.
func (s *Store) Prune(ctx context.Context, h Cutoffs, step func(table string, rows int) error) error {
	p := pruning{store: s, db: s.db.WithContext(ctx), now: s.now(), step: step}
	for _, table := range []struct {
		name  string
		prune func() error
	}{
		{"messages", func() error { return p.messages(h.Messages) }},
		{"snapshots", p.snapshots},
		{"step_files", p.files},
		{"ledger", func() error { return p.ledger(h) }},
		{"memories", func() error { return p.memories(h.MemoryVersions) }},
		{"conversations", func() error { return p.conversations(h.Messages) }},
	} {
		if err := table.prune(); err != nil {
			return fmt.Errorf("prune %s: %w", table.name, err)
		}
	}
	return nil
}

// pruning is one run of Prune.
type pruning struct {
	store *Store
	db    *gorm.DB
	now   time.Time
	step  func(table string, rows int) error
}

// prunable selects the rows of a table that may be deleted.
type prunable struct {
	table string
	// within restricts the walk to a part of the table; empty for all of it.
	within condition
	// walkColumn orders the walk, oldest row first. An index must begin with it, or with within's
	// columns followed by it.
	walkColumn string
	// ageColumn is compared with the cutoff.
	ageColumn string
	// condition must hold as well.
	condition condition
	// groupColumn, if set, makes rows with the same value be deleted together.
	groupColumn string
	// first, if set, is called with the rows before they are deleted, in the same transaction. Then along is set, too.
	first func(tx, old *gorm.DB) error
	// along, if set, deletes what must go in the same transaction as the rows with walkColumn after
	// one value and up to another.
	along func(tx *gorm.DB, after, upTo any) error
}

// walk deletes along a column of type K, whose values are never zero.
func walk[K int64 | string](p pruning, rows prunable, before int64) error {
	for after := *new(K); ; {
		var window struct {
			Rows   int
			Last   K
			Oldest int64
		}
		found := rows.within.apply(p.db.Table(rows.table)).Where(rows.walkColumn+" > ?", after).
			Select(rows.walkColumn + " AS at, " + rows.ageColumn + " AS age").Order(rows.walkColumn).Limit(pruneChunk)
		if err := p.db.Table("(?) found", found).
			Select("COUNT(*) AS rows, MAX(at) AS last, COALESCE(MIN(age), 0) AS oldest").
			Scan(&window).Error; err != nil {
			return err
		}
		if window.Rows == 0 || window.Oldest >= before {
			return nil
		}
		deleted := int64(0)
		remove := func(db *gorm.DB) error {
			old := func() *gorm.DB {
				return rows.condition.apply(rows.within.apply(db.Table(rows.table))).
					Where(rows.walkColumn+" > ? AND "+rows.walkColumn+" <= ? AND "+rows.ageColumn+" < ?", after,
						window.Last, before)
			}
			if rows.first != nil {
				if err := rows.first(db, old()); err != nil {
					return err
				}
			}
			going := old()
			if rows.groupColumn != "" {
				going = db.Table(rows.table).Where(rows.groupColumn+" IN (?)", old().Select(rows.groupColumn))
			}
			gone := going.Delete(nil)
			deleted = gone.RowsAffected
			return gone.Error
		}
		var err error
		if rows.along == nil {
			err = remove(p.db)
		} else {
			err = p.db.Transaction(func(tx *gorm.DB) error {
				if err := remove(tx); err != nil || deleted == 0 {
					return err
				}
				return rows.along(tx, after, window.Last)
			})
		}
		if err != nil {
			return err
		}
		if err := p.step(rows.table, int(deleted)); err != nil {
			return err
		}
		if window.Rows < pruneChunk {
			return nil
		}
		after = window.Last
	}
}

// ledger deletes the records of decisions. Deleting them repeats no work: a message's own row says
// that it was handled, and activities.Compose refuses to reply to anything older than the ledger.
func (p pruning) ledger(h Cutoffs) error {
	if h.Ledger.IsZero() {
		return nil
	}
	before := micros(h.Ledger)
	// Only the change records that a message addressed the bot, and a later edit must not look like
	// the first mention. So these changes stay as long as messages do.
	if err := walk[int64](p, prunable{
		table: "changes", walkColumn: "id", ageColumn: "stored_us",
		condition: where("relayed_us < ? AND (kind <> 'addressed' OR sent_us < ?)", before, microsOrZero(h.Messages)),
	}, before); err != nil {
		return err
	}
	if err := walk[int64](p, prunable{
		table: "decisions", walkColumn: "decided_us", ageColumn: "decided_us", condition: where("outcome <> 'pending'"),
		within: where("key <> ''"), // matches the index, which has only those
	}, before); err != nil {
		return err
	}
	// What was looked up for a reply, and what people think of it, goes with the decision that the reply carried out.
	for _, rows := range []prunable{
		{table: "steps", walkColumn: "stored_us", ageColumn: "stored_us"},
		{table: "turns", walkColumn: "made_us", ageColumn: "made_us"}, {table: "proposals", walkColumn: "stored_us",
			ageColumn: "stored_us"},
		{table: "feedback", walkColumn: "voted_us", ageColumn: "voted_us"}, {table: "labels", walkColumn: "labelled_us",
			ageColumn: "labelled_us"},
		{table: "opinions", walkColumn: "given_us", ageColumn: "given_us"},
	} {
		rows.condition = where("NOT EXISTS (SELECT 1 FROM decisions d WHERE d.key = " + rows.table + ".decision)")
		if err := walk[int64](p, rows, before); err != nil {
			return err
		}
	}
	if err := walk[int64](p, prunable{
		table: "promises", walkColumn: "stored_us", ageColumn: "stored_us",
		condition: where("state <> 'open' AND ended_us < ?", before),
	}, before); err != nil {
		return err
	}
	// A reply is finished when all its parts are sent, or when one has failed or was retracted: then the others are
	// not tried. It is also finished when its decision was given up. Its parts go together, because
	// a remaining part would look like the whole reply.
	if err := walk[int64](p, prunable{
		table: "outbox", walkColumn: "read_us", ageColumn: "read_us", groupColumn: "reply",
		condition: where("(SELECT MAX(CASE part.state WHEN ? THEN 0 WHEN ? THEN 2 WHEN ? THEN 2 ELSE 1 END) FROM "+
			"outbox part WHERE part.reply = outbox.reply) <> 1 "+
			"OR NOT EXISTS (SELECT 1 FROM decisions d WHERE d.key = outbox.decision AND d.outcome = 'pending')", Sent,
			Failed, Retracted),
	}, before); err != nil {
		return err
	}
	if err := walk[int64](p, prunable{table: "model_calls", walkColumn: "called_us", ageColumn: "called_us"},
		before); err != nil {
		return err
	}
	// Mutes and snoozes stay: a workflow that is reset gives them again, and ApplyOrder must know
	// that they were carried out. Moves stay: a button may be clicked in the channel's new id (Became).
	return walk[int64](p, prunable{
		table: "orders", walkColumn: "ordered_us", ageColumn: "ordered_us",
		condition: where("kind NOT IN ('mute', 'snooze', 'unmute', 'move')"),
	}, before)
}

// snapshots deletes those that no judge will be asked about any more.
func (p pruning) snapshots() error {
	return walk[int64](p, prunable{table: "snapshots", walkColumn: "stored_us", ageColumn: "stored_us"},
		micros(p.now.Add(-maxSnapshotAge)))
}

// memories deletes versions that are not current. The newest version of each term stays, so that no
// number is used twice.
func (p pruning) memories(horizon time.Time) error {
	if horizon.IsZero() {
		return nil
	}
	const scope = "s.team_id = memories.team_id AND s.channel_id = memories.channel_id AND s.thread_ts = " +
		"memories.thread_ts"
	return walk[int64](p, prunable{
		table: "memories", walkColumn: "id", ageColumn: "made_us",
		condition: where("version > 0 AND version < (SELECT MAX(s.version) FROM memories s WHERE " + scope +
			" AND s.term = memories.term) " +
			"AND NOT COALESCE((SELECT memories.id IN (s.long_id, s.short_id) FROM memory_scopes s WHERE " + scope +
			"), FALSE)"),
	}, micros(horizon))
}

// files deletes those that no reply needs any more, although its decision has no outcome: its run was lost.
func (p pruning) files() error {
	for {
		lost := p.db.Exec(`DELETE FROM step_files WHERE step_id IN (
			SELECT f.step_id FROM step_files f JOIN steps s ON s.id = f.step_id WHERE s.stored_us < ? LIMIT 20)`, micros(p.now.Add(-maxReplyAge)))
		if lost.Error != nil || lost.RowsAffected == 0 {
			return lost.Error
		}
		if err := p.step("step_files", int(lost.RowsAffected)); err != nil {
			return err
		}
	}
}
