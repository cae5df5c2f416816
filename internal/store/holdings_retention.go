package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
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

// Prune deletes what is older than the cutoffs and finished. Each statement handles a few rows in a
// transaction of its own. After each, step gets the table and the number of deleted rows; it may
// take its time, or stop Prune with an error. A later call continues with what is left.
//
// Some things stay whatever their age: pending changes, pending decisions, unfinished replies, open
// promises, current memories, the newest version of each memory, and marks of what was forgotten. A thread is
// as old as its newest reply and stays whole. Messages that memory has yet to read stay for twice
// as long.
func (s *Store) Prune(ctx context.Context, h Cutoffs, step func(table string, rows int) error) error {
	at := func(age time.Duration) int64 { return micros(s.now().Add(-age)) }
	p := pruning{
		sweeper: s.sweeper(ctx, func(table string, _, deleted int) error { return step(table, deleted) }), Cutoffs: h,
		times: map[string]any{
			"now": at(0), "ledger": microsOrZero(h.Ledger), "messages": microsOrZero(h.Messages),
			"version": microsOrZero(h.MemoryVersions), "snapshot": at(maxSnapshotAge), "lease": at(leaseGrace),
			"lost": at(lostKept),
		},
	}
	for _, h := range holdings {
		var err error
		if h.prune != nil {
			err = h.prune(p, h)
		} else if h.age.column != "" {
			err = p.aged(h)
		}
		if err != nil {
			return fmt.Errorf("prune %s: %w", h.table, err)
		}
	}
	return nil
}

// leaseGrace is how long an expired lease is kept, because clocks differ.
const leaseGrace = time.Hour

// pruning is one run of Prune.
type pruning struct {
	sweeper
	Cutoffs
	times map[string]any // microseconds, by the names that aging has for them
}

// aging is which rows of a table are deleted for their age.
type aging struct {
	column string // is compared with the cutoff
	// cutoff is a name of pruning.times, which are the parameters of where, too. A cutoff of 0 keeps everything.
	cutoff, where string
	// by is what is walked along, oldest row first; column if it is empty. Of a part of the table, if within is set.
	by     along
	within string
	// group, if set, makes rows with the same value be deleted together.
	group string
}

// withDecision is the age of what goes with the decision that it was made for. Deleting the records of decisions
// repeats no work: a message's own row says that it was handled, and activities.Compose refuses to reply to anything
// older than the ledger.
func withDecision(column string) aging {
	return aging{column: column, cutoff: "ledger",
		where: "NOT EXISTS (SELECT 1 FROM decisions d WHERE d.key = decision)"}
}

const (
	// Only the change records that a message addressed the bot, and a later edit must not look like the first mention.
	// So these changes stay as long as messages do.
	relayedChange = "relayed_us < @ledger AND (kind <> 'addressed' OR sent_us < @messages)"

	// A reply is finished when all its parts are sent, or when one has failed or was retracted: then the others are
	// not tried. It is also finished when its decision was given up. Its parts go together, because a remaining part
	// would look like the whole reply.
	finishedReply = `(SELECT MAX(CASE part.state WHEN 'sent' THEN 0 WHEN 'failed' THEN 2 WHEN 'retracted' THEN 2 ELSE 1 END)
		FROM outbox part WHERE part.reply = outbox.reply) <> 1
		OR NOT EXISTS (SELECT 1 FROM decisions d WHERE d.key = outbox.decision AND d.outcome = 'pending')`

	// The newest version of each term stays, so that no number is used twice.
	supersededVersion = "version > 0 AND version < (SELECT MAX(s.version) FROM memories s WHERE " + sameScope +
		" AND s.term = memories.term) AND NOT COALESCE((SELECT memories.id IN (s.long_id, s.short_id) FROM " +
		"memory_scopes s WHERE " + sameScope + "), FALSE)"
	sameScope = "s.team_id = memories.team_id AND s.channel_id = memories.channel_id AND s.thread_ts = " +
		"memories.thread_ts"

	// Conversations are created again when needed. A stop stays as long as messages do, and what SaveLost saved for a
	// day.
	idleConversation = `silenced_until_us < @now AND stopped_us <= @messages AND lost_us < @lost AND NOT EXISTS (
		SELECT 1 FROM changes c WHERE c.workflow_id = conversations.workflow_id AND c.relayed_us IS NULL)`
)

func (p pruning) aged(h holding) error {
	rows := part{table: h.table, by: cmp.Or(h.age.by, along{h.age.column, 0}), within: where(h.age.within),
		age: h.age.column, before: p.times[h.age.cutoff].(int64)}
	if rows.before == 0 {
		return nil
	}
	return p.walk(rows, func(chunk part) (int, error) {
		old := chunk.of(p.db, whereNamed(h.age.where, p.times))
		if h.age.group != "" {
			old = p.db.Table(h.table).Where(h.age.group+" IN (?)", old.Select(h.age.group))
		}
		gone := old.Delete(nil)
		return int(gone.RowsAffected), gone.Error
	})
}

// files deletes those that no reply needs any more, although its decision has no outcome: its run was lost.
func (p pruning) files(h holding) error {
	for {
		lost := p.db.Exec(`DELETE FROM step_files WHERE step_id IN (
			SELECT f.step_id FROM step_files f JOIN steps s ON s.id = f.step_id WHERE s.stored_us < ? LIMIT 20)`,
			p.nowMicros()-maxReplyAge.Microseconds())
		if lost.Error != nil || lost.RowsAffected == 0 {
			return lost.Error
		}
		if err := p.step(h.table, 0, int(lost.RowsAffected)); err != nil {
			return err
		}
	}
}

// messages goes through the channels and prunes those that have a message older than the cutoff. ts
// sorts by time.
func (p pruning) messages(holding) error {
	if p.Messages.IsZero() {
		return nil
	}
	var waiting *int64
	if err := p.db.Model(&changeRow{}).Where("relayed_us IS NULL").Select("MIN(sent_us)").Scan(&waiting).
		Error; err != nil {
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
			) < ?, FALSE) AS aged`, chat.TS(p.Messages)).
			Order("team_id, channel_id").Limit(sweepChunk).Scan(&channels).Error; err != nil {
			return err
		}
		for _, c := range channels {
			after = chat.Scope{Team: c.Team, Channel: c.Channel}
			if !c.Aged {
				continue
			}
			before, err := p.memoryCutoff(after)
			if err != nil {
				return err
			}
			if waiting != nil {
				before = min(before, *waiting)
			}
			if err := p.channel(after, before); err != nil {
				return err
			}
		}
		if len(channels) < sweepChunk {
			return nil
		}
	}
}

// memoryCutoff is the cutoff for a channel's messages. It is earlier if memory has yet to read
// older messages: those sent since its cursor begins and stored since it last read. It waits for
// memory at most as long again, because memory may be switched off for the channel.
func (p pruning) memoryCutoff(channel chat.Scope) (before int64, err error) {
	before = micros(p.Messages)
	var scopes []scopeRow
	if err := ofScope(p.db, channel).Find(&scopes).Error; err != nil || len(scopes) == 0 ||
		scopes[0].SinceUS >= before {
		return before, err
	}
	again := 2*before - p.nowMicros()
	var first *int64
	err = p.db.Model(&messageRow{}).
		Where("team_id = ? AND channel_id = ? AND sent_us >= ? AND sent_us < ? AND NOT deleted AND stored_us >= ?",
			channel.Team, channel.Channel, max(scopes[0].SinceUS, again), before, scopes[0].ReadUS).
		Select("MIN(sent_us)").Scan(&first).Error
	if first != nil {
		before = *first
	}
	return before, err
}

// sameThread is the condition that rows {r} belong to a message's thread.
const sameThread = "{r}.team_id = messages.team_id AND {r}.channel_id = messages.channel_id " +
	"AND {r}.thread_ts = CASE WHEN messages.thread_ts = '' THEN messages.ts ELSE messages.thread_ts END"

// channel deletes a channel's messages that were sent before a time, what the search index has of
// them, and the reactions to them. A thread, its parent included, is deleted when all of it is older, and when its
// memory was not updated since the cutoff; otherwise the next run would treat its messages as deleted by people.
func (p pruning) channel(c chat.Scope, before int64) error {
	of := func(rows string) string { return strings.ReplaceAll(sameThread, "{r}", rows) }
	old := where("COALESCE((SELECT MAX(reply.sent_us) FROM messages reply WHERE "+of("reply")+
		" AND NOT reply.deleted), 0) < ? "+
		"AND COALESCE((SELECT scope.updated_us FROM memory_scopes scope WHERE "+of("scope")+"), 0) < ?", before,
		micros(p.Messages))
	rows := part{table: "messages", within: where("team_id = ? AND channel_id = ?", c.Team, c.Channel),
		by: along{"ts", ""}, age: "sent_us", before: before}
	if err := p.walk(rows, func(chunk part) (deleted int, err error) {
		err = p.transaction(p.ctx, func(tx *gorm.DB) error {
			if err := keepWriters(tx, chunk.of(tx, old)); err != nil {
				return err
			}
			gone := chunk.of(tx, old).Delete(nil)
			if deleted = int(gone.RowsAffected); gone.Error != nil || deleted == 0 {
				return gone.Error
			}
			span := chunk.within.and(where("ts > ? AND ts <= ?", chunk.after, chunk.upTo))
			if err := unindexAbsent(tx, span); err != nil {
				return err
			}
			return p.blankPruned(tx, c, chunk.after, chunk.upTo)
		})
		return deleted, err
	}); err != nil {
		return err
	}
	rows.table, rows.age = "reactions", "added_us"
	return p.remove(rows, where("NOT EXISTS (SELECT 1 FROM messages m WHERE m.team_id = reactions.team_id AND "+
		"m.channel_id = reactions.channel_id AND m.ts = reactions.ts)"))
}

// blankPruned empties what quotes messages of a channel, from after one ts and up to another, that are not there any
// more.
func (p pruning) blankPruned(tx *gorm.DB, c chat.Scope, after, upTo any) error {
	const span = " WHERE team_id = ? AND channel_id = ? AND {ts} > ? AND {ts} <= ? AND NOT EXISTS (SELECT 1 FROM " +
		"messages m WHERE m.team_id = {from}.team_id AND m.channel_id = {from}.channel_id AND m.ts = {from}.{ts})"
	var parts []string
	var args []any
	for _, from := range [][2]string{{"quotes", "ts"}, {"steps", "trigger_ts"}, {"proposals", "trigger_ts"},
		{"promises", "trigger_ts"}} {
		parts = append(parts, strings.NewReplacer("{from}", from[0], "{ts}", from[1]).
			Replace("SELECT {ts} AS ts FROM {from}"+span))
		args = append(args, c.Team, c.Channel, after, upTo)
	}
	var gone []string
	if err := tx.Raw(strings.Join(parts, " UNION "), args...).Scan(&gone).Error; err != nil || len(gone) == 0 {
		return err
	}
	return p.blankWith(tx, true, c.Team, c.Channel, gone...)
}
