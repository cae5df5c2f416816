package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Delivery is how far a part of a reply has come on its way to Slack:
//
//	composed → sending → sent
//	              ↓ ↑      a definite error: back to composed, or failed
//	            failed   which an excuse makes composed again, of another text
//
// A row found in sending is ambiguous: an attempt began and nobody wrote down
// its end. Slack is asked before anything is tried again.
type Delivery string

const (
	Composed Delivery = "composed"
	Sending  Delivery = "sending"
	Sent     Delivery = "sent"
	Failed   Delivery = "failed"
)

// Part is one message of a reply; a reply that is too long for one has several.
type Part struct {
	Key string // travels as metadata on the message
	// Reply is what the parts of one reply share.
	Reply   string
	Number  int
	Team    string
	Channel string
	// Thread is where it is posted; empty: at the top level.
	Thread string
	// Trigger is the ts of the message that it answers.
	Trigger  string
	Text     string
	State    Delivery
	Attempts int
	// LeasedUntil is until when an attempt may still be under way, here or at Slack's.
	LeasedUntil time.Time
	SentTS      string
	Error       string
	// Saw is the newest message that the author had read.
	Saw time.Time
	// Read is when the author read it; zero: when Compose is told. What is deleted later
	// may be said in the text.
	Read time.Time
	// Decision is the key of the decision that it carries out, Epoch its number:
	// what an older decision composed does not replace what a newer one has.
	Decision string
	Epoch    int
}

// newer reports whether a decision after another's of the same conversation's run composed p.
func (p Part) newer(other Part) bool {
	run, _, _ := strings.Cut(p.Decision, "/")
	others, _, _ := strings.Cut(other.Decision, "/")
	return p.Epoch > other.Epoch && run == others
}

type outboxRow struct {
	Key       string `gorm:"primaryKey"`
	Reply     string
	Part      int
	TeamID    string
	ChannelID string
	ThreadTS  string `gorm:"column:thread_ts"`
	TriggerTS string `gorm:"column:trigger_ts"`
	Text      string
	State     Delivery
	Attempts  int
	LeasedUS  int64  `gorm:"column:leased_us"`
	SlotUS    int64  `gorm:"column:turn_us"`
	SentTS    string `gorm:"column:sent_ts"`
	Error     string
	SawUS     int64 `gorm:"column:saw_us"`
	Decision  string
	Epoch     int
	StoredUS  int64 `gorm:"column:stored_us"` // Part.Read
}

func (outboxRow) TableName() string { return "outbox" }

func (r outboxRow) part() Part {
	return Part{
		Key: r.Key, Reply: r.Reply, Number: r.Part, Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS,
		Trigger: r.TriggerTS, Text: r.Text, State: r.State, Attempts: r.Attempts, LeasedUntil: instant(r.LeasedUS),
		SentTS: r.SentTS, Error: r.Error, Saw: instant(r.SawUS), Read: instant(r.StoredUS), Decision: r.Decision, Epoch: r.Epoch,
	}
}

// ErrUnderWay says that a reply can no longer be changed, or its part not be posted, by
// who means to.
var ErrUnderWay = errors.New("the reply is being posted, or was composed anew")

// Compose writes the parts of one reply, in place of what may have been composed
// for it before, together with the decision that they carry out (Decide). Once an
// attempt to post one of them has begun, or a newer decision has composed it,
// nothing is written and the error is ErrUnderWay; but for one that BeginSend calls
// outdated, and of which nothing is in Slack, nor may be.
func (s *Store) Compose(ctx context.Context, parts []Part, d Decision) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var rows []outboxRow
		if err := s.locked(tx).Where("reply = ?", parts[0].Reply).Order("part").Find(&rows).Error; err != nil {
			return err
		}
		attempts := make(map[string]int, len(rows))
		var tried, away bool
		for _, r := range rows {
			if r.part().newer(parts[0]) {
				return ErrUnderWay
			}
			attempts[r.Key] = r.Attempts
			tried, away = tried || r.Attempts > 0, away || r.State != Composed
		}
		if tried {
			var old bool
			if err := tx.Raw("SELECT "+outdated+" FROM outbox WHERE key = ?", rows[0].Key).Scan(&old).Error; err != nil {
				return err
			}
			if away || !old {
				return ErrUnderWay
			}
		}
		// A row that another worker has written since the look above stays, and the new row
		// of the same key meets it.
		if len(rows) > 0 {
			if err := tx.Where("reply = ? AND state = ?", parts[0].Reply, Composed).Delete(&outboxRow{}).Error; err != nil {
				return err
			}
		}
		composed := make([]outboxRow, len(parts))
		for i, p := range parts {
			composed[i] = outboxRow{
				Key: p.Key, Reply: p.Reply, Part: p.Number, TeamID: p.Team, ChannelID: p.Channel, ThreadTS: p.Thread,
				TriggerTS: p.Trigger, Text: p.Text, State: Composed, SawUS: micros(p.Saw), Decision: p.Decision, Epoch: p.Epoch,
				Attempts: attempts[p.Key], // counted on: an attempt at the old text has no say in the new one's
				StoredUS: microsOrZero(p.Read),
			}
			if p.Read.IsZero() {
				composed[i].StoredUS = s.nowMicros()
			}
		}
		if err := tx.Create(&composed).Error; err != nil {
			return err
		}
		return s.decide(tx, d)
	})
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return ErrUnderWay // another worker composed the same reply at the same time
	}
	if err != nil && !errors.Is(err, ErrUnderWay) {
		return fmt.Errorf("write reply %s to outbox: %w", parts[0].Reply, err)
	}
	return err
}

// Parts is the parts of a reply in their order; none for an unknown reply.
func (s *Store) Parts(ctx context.Context, reply string) ([]Part, error) {
	var rows []outboxRow
	if err := s.db.WithContext(ctx).Where("reply = ?", reply).Order("part").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read reply %s from outbox: %w", reply, err)
	}
	return mapRows(rows, outboxRow.part), nil
}

// EndSend writes down how the attempt that BeginSend(p) began has ended without a
// message that is known to exist: Composed for an error that left no effect,
// Sending for one that may have, Failed for one that cannot pass. What may have an
// effect yet, at Slack's, holds the part until then; the zero time: not any more.
// An attempt that another one has followed has no say any more.
func (s *Store) EndSend(ctx context.Context, p Part, state Delivery, until time.Time, reason string) error {
	leased := int64(0)
	if !until.IsZero() {
		leased = micros(until)
	}
	if err := s.db.WithContext(ctx).Model(&outboxRow{}).
		Where("key = ? AND state = ? AND attempts = ?", p.Key, Sending, p.Attempts+1).
		Updates(map[string]any{"state": state, "leased_us": leased, "error": reason}).Error; err != nil {
		return fmt.Errorf("end attempt to send %s: %w", p.Key, err)
	}
	return nil
}

// ReplaceWithNotice puts a note in the place of a reply whose first part was refused: that part is
// composed again, as the note, and the others go. The decision's reason becomes reason, with
// why the reply was refused. It reports whether it did: not where nothing was refused, or
// the note was.
func (s *Store) ReplaceWithNotice(ctx context.Context, reply, note, reason string) (excused bool, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var refused []outboxRow
		if err := s.locked(tx).Where("reply = ? AND part = 0 AND state = ? AND text <> ?", reply, Failed, note).Find(&refused).Error; err != nil || len(refused) == 0 {
			return err
		}
		first := refused[0]
		if err := tx.Model(&outboxRow{}).Where("key = ?", first.Key).Updates(map[string]any{"state": Composed, "text": note}).Error; err != nil {
			return err
		}
		if err := tx.Where("reply = ? AND part > 0", reply).Delete(&outboxRow{}).Error; err != nil {
			return err
		}
		excused = true
		return tx.Model(&Decision{}).Where("key = ?", first.Decision).Update("reason", reason+": "+first.Error).Error
	})
	if err != nil {
		return false, fmt.Errorf("excuse reply %s: %w", reply, err)
	}
	return excused, nil
}

// MarkPosted writes down, in one transaction, that a part is in Slack: the outbox
// row and the message itself, so that the bot remembers at once what it said.
func (s *Store) MarkPosted(ctx context.Context, p Part, m chat.Message) error {
	return s.posted(ctx, p, m, func(*gorm.DB) error { return nil })
}

// clearDeletedReply takes the text of the bot's own message out of the outbox once it is deleted in Slack:
// somebody may have wanted that nobody reads it any more.
func clearDeletedReply(tx *gorm.DB, r messageRow) error {
	if !r.Own || !r.Deleted {
		return nil
	}
	return tx.Model(&outboxRow{}).Where("team_id = ? AND channel_id = ? AND sent_ts <> '' AND sent_ts = ?", r.TeamID, r.ChannelID, r.TS).Update("text", "").Error
}

// MarkReplied is Posted of the last part of a reply: in the same transaction the decision that
// it carries out is settled as posted. That comes back, and nil if it was so before.
func (s *Store) MarkReplied(ctx context.Context, p Part, m chat.Message) (settled *Decision, err error) {
	err = s.posted(ctx, p, m, func(tx *gorm.DB) (err error) {
		settled, err = s.settle(tx, p.Decision, conversation.Sent, p.Reply)
		return err
	})
	if err != nil {
		return nil, err
	}
	return settled, nil
}

func (s *Store) posted(ctx context.Context, p Part, m chat.Message, settle func(tx *gorm.DB) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Model(&outboxRow{}).Where("key = ?", p.Key).
			Updates(map[string]any{"state": Sent, "leased_us": 0, "sent_ts": m.TS, "error": ""}).Error; err != nil {
			return err
		}
		row, err := newMessageRow(m, true, s.nowMicros())
		if err != nil {
			return err
		}
		// Slack's own event of the message may have come first.
		created := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if created.Error != nil {
			return created.Error
		}
		if created.RowsAffected > 0 {
			if err := saveActivity(tx, row); err != nil {
				return err
			}
		}
		return settle(tx)
	})
	if err != nil {
		return fmt.Errorf("write down that %s was posted as %s: %w", p.Key, m.TS, err)
	}
	return nil
}
