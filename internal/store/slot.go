package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// ErrDeleted says that a reply is not begun, since what it answers was deleted.
var ErrDeleted = errors.New("what it answers was deleted")

// OutdatedError says that a reply is not begun, since a message of its conversation was
// deleted after what the reply was composed of had been read.
type OutdatedError struct {
	Deleted string // ts of the newest of them
}

func (e OutdatedError) Error() string {
	return "message " + e.Deleted + " was deleted after it was composed"
}

// ErrSilenced says that a part of a reply is not begun, since its conversation is muted or snoozed.
var ErrSilenced = errors.New("the conversation is muted or snoozed")

// BeginSend takes a part in hand for one attempt, as the caller saw it (its state, the
// number of attempts, its text), if it is the part's turn in its channel. Else it returns
// how long that is away, and whoever comes back then begins. Of two workers that race one
// begins, the other gets ErrUnderWay. The first part of a reply to a message that is
// deleted is not begun: ErrDeleted; nor is that of one which may say what was deleted
// elsewhere in the conversation: OutdatedError, and then Compose may replace it. No part is
// begun where the conversation, or its channel's top level, is silent: ErrSilenced. The
// attempt holds the part until the lease ends, and has used its turn.
//
// The turns in a channel lie a pace apart, whoever posts there. A part keeps its turn
// until an attempt begins with it, so that who comes too early may go away and come back;
// one that comes a whole pace too late has missed it, and gets a new one behind all
// others; so does one whose turn is farther ahead than any can be. With a part, the parts of its reply that follow it get the turns after its own,
// so that a long reply is not torn apart.
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

// BeginReply is BeginSend, of whatever it says, of a reply of one part that nobody has tried
// to send and that has to wait for nothing. The part comes back as it was before; nil if it
// is not begun, and then nothing has happened but that it may have a turn.
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
	p.State, p.Attempts, p.LeasedUntil = Composed, 0, instant(0)
	return &p, nil
}

// beginUntried is BeginReply of SQLite, where a transaction goes no further than this process.
func (s *Store) beginUntried(ctx context.Context, reply string, pace, lease time.Duration) (*Part, error) {
	parts, err := s.Parts(ctx, reply)
	if err != nil || len(parts) != 1 || parts[0].State != Composed || parts[0].Attempts > 0 {
		return nil, err
	}
	wait, err := s.BeginSend(ctx, parts[0], pace, lease)
	var outdated OutdatedError
	switch {
	case errors.Is(err, ErrUnderWay), errors.Is(err, ErrDeleted), errors.Is(err, ErrSilenced), errors.As(err, &outdated):
		return nil, nil
	case err != nil || wait > 0:
		return nil, err
	}
	return &parts[0], nil
}

// unchanged is the condition that a part is as a caller saw it.
func unchanged(p Part) clause.Expr {
	return gorm.Expr("key = ? AND state = ? AND attempts = ? AND text = ?", p.Key, p.State, p.Attempts, p.Text)
}

// untried is the condition on the first part of a reply that nobody has tried to send it.
func untried(reply string) clause.Expr {
	return gorm.Expr("reply = ? AND part = 0 AND state = ? AND attempts = 0", reply, Composed)
}

const (
	// sendable is the condition that a part may be posted @now.
	sendable = triggerExists + " AND NOT " + outdated + " AND " + notSilenced

	// triggerExists is the condition that the first part of a reply answers something that is still there.
	triggerExists = `(outbox.part > 0 OR NOT EXISTS (SELECT 1 FROM messages m
		WHERE m.team_id = outbox.team_id AND m.channel_id = outbox.channel_id AND m.ts = outbox.trigger_ts AND m.deleted))`

	// outdated is the condition that the first part of a reply may say what was deleted since.
	outdated = "(outbox.part = 0 AND EXISTS (SELECT 1 " + deletedSince + "))"

	// deletedSince is the end of a query of the deletions d in a reply's conversation since it was composed:
	// in a thread that of its parent, too, which is a change of the top level.
	deletedSince = `FROM changes d WHERE d.kind = 'deleted' AND d.stored_us > outbox.stored_us AND (d.workflow_id = CASE outbox.thread_ts
		WHEN '' THEN 'channel/' || outbox.team_id || '/' || outbox.channel_id
		ELSE 'thread/' || outbox.team_id || '/' || outbox.channel_id || '/' || outbox.thread_ts END
		OR d.workflow_id = 'channel/' || outbox.team_id || '/' || outbox.channel_id AND d.ts = outbox.thread_ts)`

	// notSilenced is the condition that a part's conversation is not silent, by itself or with the
	// top level of its channel (Silences.Until).
	notSilenced = `NOT EXISTS (SELECT 1 FROM conversations c WHERE c.silenced_us > @now AND c.workflow_id IN (
		'thread/' || outbox.team_id || '/' || outbox.channel_id || '/' || outbox.thread_ts, 'channel/' || outbox.team_id || '/' || outbox.channel_id))`
)

// beginNow is BeginSend, in one statement, of the part of which a condition holds, if
// nothing has to be waited for: it is the last of its reply, all turns in its channel are
// over, and nobody else has a hand on either. So it sees what is deleted, and silent, at this
// moment. It returns the part if it is begun; where it is not, nothing has happened.
func (s *Store) beginNow(ctx context.Context, part clause.Expr, pace, lease time.Duration) (begun []outboxRow, err error) {
	if s.sqlite != "" {
		return nil, nil // a transaction goes no further than this process there
	}
	whole, err := returningAll[outboxRow](s.db)
	if err != nil {
		return nil, err
	}
	now := s.now()
	err = s.db.WithContext(ctx).Raw(`
		WITH ours AS (
			SELECT key, team_id, channel_id FROM outbox
			WHERE @part AND leased_us <= @now
				AND NOT EXISTS (SELECT 1 FROM outbox later WHERE later.reply = outbox.reply AND later.part > outbox.part) AND `+sendable+`
			FOR UPDATE OF outbox SKIP LOCKED
		), free AS (
			SELECT c.team_id, c.channel_id FROM ours JOIN channels c ON c.team_id = ours.team_id AND c.channel_id = ours.channel_id
			WHERE c.next_post_us <= @now
			FOR UPDATE OF c SKIP LOCKED
		), turn AS (
			UPDATE channels c SET next_post_us = @next FROM free
			WHERE c.team_id = free.team_id AND c.channel_id = free.channel_id
			RETURNING 1
		)
		UPDATE outbox SET state = @sending, attempts = attempts + 1, leased_us = @leased, turn_us = 0
		FROM ours, turn WHERE outbox.key = ours.key @returning`,
		map[string]any{
			"part": part, "now": micros(now), "next": micros(now.Add(pace)), "sending": Sending, "leased": micros(now.Add(lease)),
			"returning": whole, // the word, too
		}).Scan(&begun).Error
	return begun, err
}

// beginInSlot is BeginSend of any part.
func (s *Store) beginInSlot(ctx context.Context, p Part, pace, lease time.Duration) (wait time.Duration, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		// The reply is locked before its channel, as in Posted.
		var rows []outboxRow
		if err := s.locked(tx).Where("reply = ? AND part >= ?", p.Reply, p.Number).Order("part").Find(&rows).Error; err != nil {
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
		// Last, when there is nothing more to wait for: it sees what is deleted, and silent, at this moment.
		begun := tx.Model(&outboxRow{}).Where("key = @key AND "+sendable, map[string]any{"key": p.Key, "now": micros(now)}).Updates(map[string]any{
			"state": Sending, "attempts": p.Attempts + 1, "leased_us": micros(now.Add(lease)), "turn_us": 0,
		})
		if begun.Error == nil && begun.RowsAffected == 0 {
			return whyNotSendable(tx, p) // nor is a turn used
		}
		return begun.Error
	})
	return wait, err
}

// whyNotSendable says why a part is not wanted. Deletions are asked for, since they last: what
// was silent a moment ago may have been told to speak.
func whyNotSendable(tx *gorm.DB, p Part) error {
	var why struct {
		Standing, Outdated bool
		Deleted            string
	}
	if err := tx.Raw("SELECT "+triggerExists+" AS standing, "+outdated+" AS outdated, COALESCE((SELECT d.ts "+deletedSince+
		" ORDER BY d.stored_us DESC LIMIT 1), '') AS deleted FROM outbox WHERE key = ?", p.Key).Scan(&why).Error; err != nil {
		return err
	}
	switch {
	case !why.Standing:
		return ErrDeleted
	case why.Outdated:
		return OutdatedError{why.Deleted}
	}
	return ErrSilenced
}

// free reports whether a part is as p has it, and nobody may be sending it.
func (r outboxRow) free(p Part, now time.Time) bool {
	return r.Key == p.Key && r.State == p.State && r.Attempts == p.Attempts && r.Text == p.Text && r.LeasedUS <= micros(now)
}

// maxSlotAhead is how far ahead a turn may lie. One that lies farther, behind 1,800 messages in one
// channel, was given by a clock that was ahead, and put back since: nobody waits for that.
const maxSlotAhead = 30 * time.Minute

// reserveSlots gives parts of one reply, in their order, the turns behind the last one of
// their channel, and returns the first of these.
func reserveSlots(tx *gorm.DB, parts []outboxRow, pace time.Duration, now time.Time) (at int64, err error) {
	first, taken := parts[0], int64(len(parts))*pace.Microseconds()
	var next int64
	if err := tx.Raw(`
		INSERT INTO channels (team_id, channel_id, next_post_us) VALUES (?, ?, ?)
		ON CONFLICT (team_id, channel_id) DO UPDATE SET next_post_us =
			CASE WHEN channels.next_post_us > ? AND channels.next_post_us <= ? THEN channels.next_post_us + ? ELSE excluded.next_post_us END
		RETURNING next_post_us`,
		first.TeamID, first.ChannelID, micros(now)+taken, micros(now), micros(now.Add(maxSlotAhead)), taken).Scan(&next).Error; err != nil {
		return 0, err
	}
	at = next - taken
	if len(parts) == 1 && at <= micros(now) {
		return at, nil // it is used at once
	}
	return at, tx.Model(&outboxRow{}).Where("reply = ? AND part >= ?", first.Reply, first.Part).
		Update("turn_us", gorm.Expr("CAST(? AS BIGINT) + (part - ?) * CAST(? AS BIGINT)", at, first.Part, pace.Microseconds())).Error
}
