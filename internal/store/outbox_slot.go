package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// ErrDeleted is returned for a reply whose trigger was deleted before the first attempt, and for a note whose message
// was.
var ErrDeleted = errors.New("what it answers was deleted")

// OutdatedError is returned for a reply that was composed before a message of its conversation was
// deleted, so that it may repeat that message.
type OutdatedError struct {
	Deleted string // ts of the newest deleted message
}

func (e OutdatedError) Error() string {
	return "message " + e.Deleted + " was deleted after it was composed"
}

// ErrSilenced is returned for a part of a reply in a muted or snoozed conversation.
var ErrSilenced = errors.New("the conversation is muted or snoozed")

// BeginSend begins one attempt to post a part. The part must still be as the caller saw it (state,
// attempts and text), and its slot in the channel must have come. Otherwise it returns how long the
// slot is away, and the caller tries again then. Of two workers that race, one begins and the other
// gets ErrUnderWay. The attempt holds the part until the lease ends, and uses up the slot.
//
// Some parts are never begun. The first part of a reply is refused with ErrDeleted if the trigger
// was deleted. It is refused with OutdatedError if it may repeat a message that was deleted since;
// then Compose may replace it. Every part is refused with ErrSilenced while the conversation, or
// the top level of its channel, is muted or snoozed, or the bot is muted everywhere.
//
// Slots in a channel lie one pace apart, whoever posts there. A part keeps its slot until it is
// attempted. More than one pace late, or impossibly far ahead, it goes to the back. The following
// parts of its reply get the slots after it, so that a long reply stays together.
func (s *Store) BeginSend(ctx context.Context, p Part, pace, lease time.Duration) (wait time.Duration, err error) {
	begun, err := s.beginNow(ctx, unchanged(p), pace, lease)
	if err == nil && len(begun) == 0 {
		wait, err = s.beginInSlot(ctx, p, pace, lease)
	}
	if err != nil {
		return 0, fmt.Errorf("begin to send %s: %w", p.Key, err)
	}
	return wait, nil
}

// BeginReply is BeginSend for a reply of one part that was never attempted and need not wait,
// whatever its text. It returns the part as it was before. It returns nil if nothing was begun;
// then the part has at most been given a slot.
func (s *Store) BeginReply(ctx context.Context, reply string, pace, lease time.Duration) (*Part, error) {
	if s.sqlite != "" {
		return s.beginUntried(ctx, reply, pace, lease)
	}
	begun, err := s.beginNow(ctx, untried(reply), pace, lease)
	if err != nil {
		return nil, fmt.Errorf("begin to send reply %s: %w", reply, err)
	}
	if len(begun) == 0 {
		return nil, nil
	}
	p := begun[0].part()
	p.State, p.Attempts, p.LeasedUntil, p.Tried = Composed, 0, instant(0), time.Time{}
	return &p, nil
}

// beginUntried is BeginReply for SQLite, where a transaction costs no network round trip.
func (s *Store) beginUntried(ctx context.Context, reply string, pace, lease time.Duration) (*Part, error) {
	parts, err := s.Parts(ctx, reply)
	if err != nil || len(parts) != 1 || parts[0].State != Composed || parts[0].Attempts > 0 {
		return nil, err
	}
	wait, err := s.BeginSend(ctx, parts[0], pace, lease)
	var outdated OutdatedError
	switch {
	case errors.Is(err, ErrUnderWay), errors.Is(err, ErrDeleted), errors.Is(err, ErrSilenced),
		errors.As(err, &outdated):
		return nil, nil
	case err != nil || wait > 0:
		return nil, err
	}
	return &parts[0], nil
}

// unchanged is the condition that a part is still as a caller saw it.
func unchanged(p Part) clause.Expr {
	return gorm.Expr("key = ? AND state = ? AND attempts = ? AND text = ?", p.Key, p.State, p.Attempts, p.Text)
}

// untried is the condition for the first part of a reply that was never attempted.
func untried(reply string) clause.Expr {
	return gorm.Expr("reply = ? AND part = 0 AND state = ? AND attempts = 0", reply, Composed)
}

const (
	// sendable is the condition that a part may be posted @now.
	sendable = triggerExists + " AND NOT " + outdated + " AND " + notSilenced

	// triggerExists is the condition that the trigger was not deleted, for the first part of a
	// reply.
	triggerExists = `(outbox.part > 0 OR NOT EXISTS (SELECT 1 FROM messages m
		WHERE m.team_id = outbox.team_id AND m.channel_id = outbox.channel_id AND m.ts = outbox.trigger_ts AND m.deleted))`

	// outdated is the condition that the first part of a reply may repeat a message deleted since. A
	// reaction repeats nothing.
	outdated = "(outbox.part = 0 AND outbox.reaction = '' AND EXISTS (SELECT 1 " + deletedSince + "))"

	// deletedSince ends a query of the deletions d in a reply's conversation since it was composed.
	// In a thread this includes the deletion of the parent, which is a change of the top level.
	deletedSince = `FROM changes d WHERE d.kind = 'deleted' AND d.stored_us > outbox.read_us AND (d.workflow_id = CASE outbox.thread_ts
		WHEN '' THEN 'channel/' || outbox.team_id || '/' || outbox.channel_id
		ELSE 'thread/' || outbox.team_id || '/' || outbox.channel_id || '/' || outbox.thread_ts END
		OR d.workflow_id = 'channel/' || outbox.team_id || '/' || outbox.channel_id AND d.ts = outbox.thread_ts)`

	// notSilenced is the condition that neither a part's conversation nor the top level of its
	// channel is muted or snoozed, nor the bot muted everywhere (Silences.Until).
	notSilenced = `NOT EXISTS (SELECT 1 FROM conversations c WHERE c.silenced_until_us > @now AND c.workflow_id IN (
		'thread/' || outbox.team_id || '/' || outbox.channel_id || '/' || outbox.thread_ts, 'channel/' || outbox.team_id || '/' || outbox.channel_id,
		'team/' || outbox.team_id))`
)

// beginNow is BeginSend in one statement, for the part that a condition selects, if nothing has to
// be waited for. So the part must be the last of its reply, every slot in its channel must be over,
// and nobody may hold either row. One statement sees deletions and mutes as of this moment. It
// returns the part if it was begun; otherwise nothing has happened.
func (s *Store) beginNow(
	ctx context.Context, part clause.Expr, pace, lease time.Duration,
) (begun []outboxRow, err error) {
	if s.sqlite != "" {
		return nil, nil // in SQLite a transaction costs no network round trip
	}
	whole, err := returningAll[outboxRow](s.db)
	if err != nil {
		return nil, err
	}
	now := s.now()
	err = s.db.WithContext(ctx).Raw(`
		WITH ours AS (
			SELECT key, team_id, channel_id FROM outbox
			WHERE @part AND leased_until_us <= @now
				AND NOT EXISTS (SELECT 1 FROM outbox later WHERE later.reply = outbox.reply AND later.part > outbox.part) AND `+sendable+`
			FOR UPDATE OF outbox SKIP LOCKED
		), free AS (
			SELECT c.team_id, c.channel_id FROM ours JOIN channels c ON c.team_id = ours.team_id AND c.channel_id = ours.channel_id
			WHERE c.next_post_us <= @now
			FOR UPDATE OF c SKIP LOCKED
		), slot AS (
			UPDATE channels c SET next_post_us = @next FROM free
			WHERE c.team_id = free.team_id AND c.channel_id = free.channel_id
			RETURNING 1
		)
		UPDATE outbox SET state = @sending, attempts = attempts + 1, leased_until_us = @leased, slot_us = 0,
			tried_us = CASE WHEN outbox.attempts = 0 THEN @now ELSE outbox.tried_us END
		FROM ours, slot WHERE outbox.key = ours.key @returning`,
		map[string]any{
			"part": part, "now": micros(now), "next": micros(now.Add(pace)), "sending": Sending,
			"leased":    micros(now.Add(lease)),
			"returning": whole, // the keyword, too
		}).Scan(&begun).Error
	return begun, err
}

// beginInSlot is BeginSend for any part.
func (s *Store) beginInSlot(ctx context.Context, p Part, pace, lease time.Duration) (wait time.Duration, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		// Lock the reply before its channel, as MarkPosted does.
		var rows []outboxRow
		if err := s.locked(tx).Where("reply = ? AND part >= ?", p.Reply, p.Number).Order("part").Find(&rows).
			Error; err != nil {
			return err
		}
		now := s.now()
		if len(rows) == 0 || !rows[0].free(p, now) {
			return ErrUnderWay
		}
		at := rows[0].SlotUS
		if at+pace.Microseconds() <= micros(now) || at > micros(now.Add(maxSlotAhead)) {
			if at, err = reserveSlots(tx, rows, pace, now); err != nil {
				return err
			}
		}
		if at > micros(now) {
			wait = instant(at).Sub(now)
			return nil
		}
		// This comes last, when nothing has to be waited for any more, so that it sees deletions
		// and mutes as of this moment.
		begun := tx.Model(&outboxRow{}).
			Where("key = @key AND "+sendable, map[string]any{"key": p.Key, "now": micros(now)}).Updates(map[string]any{
			"state": Sending, "attempts": p.Attempts + 1, "leased_until_us": micros(now.Add(lease)), "slot_us": 0,
			"tried_us": gorm.Expr("CASE WHEN attempts = 0 THEN CAST(? AS BIGINT) ELSE tried_us END", micros(now)),
		})
		if begun.Error == nil && begun.RowsAffected == 0 {
			return whyNotSendable(tx, p) // nor is a slot used
		}
		return begun.Error
	})
	return wait, err
}

// whyNotSendable is the reason why a part may not be posted. It looks for deletions, because they
// last; a mute may have ended a moment ago.
func whyNotSendable(tx *gorm.DB, p Part) error {
	var why struct {
		TriggerExists, Outdated bool
		Deleted                 string
	}
	if err := tx.Raw("SELECT "+triggerExists+" AS trigger_exists, "+outdated+" AS outdated, COALESCE((SELECT d.ts "+
		deletedSince+
		" ORDER BY d.stored_us DESC LIMIT 1), '') AS deleted FROM outbox WHERE key = ?", p.Key).Scan(&why).
		Error; err != nil {
		return err
	}
	switch {
	case !why.TriggerExists:
		return ErrDeleted
	case why.Outdated:
		return OutdatedError{why.Deleted}
	}
	return ErrSilenced
}

// free reports whether a part is still as p has it, and nobody may be posting it.
func (r outboxRow) free(p Part, now time.Time) bool {
	return r.Key == p.Key && r.State == p.State && r.Attempts == p.Attempts && r.Text == p.Text &&
		r.LeasedUntilUS <= micros(now)
}

// maxSlotAhead is how far ahead a slot may lie: behind 1,800 messages in one channel. A slot
// farther ahead was given by a clock that was wrong and has been set back since, so it is ignored.
const maxSlotAhead = 30 * time.Minute

// reserveSlots gives the parts of one reply, in order, the slots after the last one of their
// channel, and returns the first of them.
func reserveSlots(tx *gorm.DB, parts []outboxRow, pace time.Duration, now time.Time) (at int64, err error) {
	first, taken := parts[0], int64(len(parts))*pace.Microseconds()
	var next int64
	if err := tx.Raw(`
		INSERT INTO channels (team_id, channel_id, next_post_us) VALUES (?, ?, ?)
		ON CONFLICT (team_id, channel_id) DO UPDATE SET next_post_us =
			CASE WHEN channels.next_post_us > ? AND channels.next_post_us <= ? THEN channels.next_post_us + ? ELSE excluded.next_post_us END
		RETURNING next_post_us`,
		first.TeamID, first.ChannelID, micros(now)+taken, micros(now), micros(now.Add(maxSlotAhead)), taken).
		Scan(&next).Error; err != nil {
		return 0, err
	}
	at = next - taken
	if len(parts) == 1 && at <= micros(now) {
		return at, nil // it is used at once
	}
	return at, tx.Model(&outboxRow{}).Where("reply = ? AND part >= ?", first.Reply, first.Part).
		Update("slot_us", gorm.Expr("CAST(? AS BIGINT) + (part - ?) * CAST(? AS BIGINT)", at, first.Part,
			pace.Microseconds())).Error
}
