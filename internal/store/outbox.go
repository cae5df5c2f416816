package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// Delivery is how far a part of a reply has come on its way to Slack:
//
//	composed → sending → sent
//	              ↓ ↑      a definite error: back to composed, or failed
//	            failed   ReplaceWithNotice makes it composed again, with another text,
//	                     and RelocateReply in another place
//
// Any of them becomes retracted when an operator takes the reply back: the part is no longer in
// Slack, and is not posted any more. An attempt that had begun before makes it sent once more, until
// that message is deleted, too.
//
// A row in sending is ambiguous: an attempt began and nobody recorded its end. Ask Slack before
// trying again.
type Delivery string

const (
	Composed  Delivery = "composed"
	Sending   Delivery = "sending"
	Sent      Delivery = "sent"
	Failed    Delivery = "failed"
	Retracted Delivery = "retracted"
)

// Part is one message of a reply. A reply that is too long for one message has several.
type Part struct {
	Key string // travels as metadata on the Slack message
	// Reply is the same for all parts of one reply.
	Reply   string
	Number  int
	Team    string
	Channel string
	// Thread is where the part is posted; empty at the top level.
	Thread string
	// Trigger is the ts of the message that it answers.
	Trigger  string
	Text     string
	State    Delivery
	Attempts int
	// FormErrors counts Slack's answers that a plainer form of the message may not get.
	FormErrors int
	// LeasedUntil is how long an attempt may still be under way, here or at Slack.
	LeasedUntil time.Time
	// Tried is when the first attempt began; zero if none has.
	Tried  time.Time
	SentTS string
	Error  string
	// Saw is when the newest message that the author had read was sent.
	Saw time.Time
	// Read is when the author read the conversation; zero means when Compose is called. The text
	// may repeat messages that are deleted later.
	Read time.Time
	// Decision is the key of the decision that it carries out, Epoch that decision's number. A
	// reply composed for an older decision never replaces one for a newer decision.
	Decision string
	Epoch    int
	// Proposes is set if the decision's proposals stand under the part.
	Proposes bool
	// Feedback is set if buttons to rate the reply stand under the part.
	Feedback bool
	// Reaction is set for a reply that is an emoji under the trigger, by its name without colons. Then
	// Text is its character, SentTS stays empty, and putting it there twice does no harm.
	Reaction string
}

// clockMargin is how far the clocks of this machine and of Slack may be apart: with more, the door
// accepts no request.
const clockMargin = 5 * time.Minute

// SearchFrom is the ts from which on Slack may have the part's message: that of the trigger, or of the
// first attempt if that was much later.
func (p Part) SearchFrom() string {
	if tried := chat.TS(p.Tried.Add(-clockMargin)); !p.Tried.IsZero() && chat.CompareTS(tried, p.Trigger) > 0 {
		return tried
	}
	return p.Trigger
}

// newer reports whether p was composed for a later decision of the same run than other was.
func (p Part) newer(other Part) bool {
	run, _, _ := strings.Cut(p.Decision, "/")
	others, _, _ := strings.Cut(other.Decision, "/")
	return p.Epoch > other.Epoch && run == others
}

type outboxRow struct {
	Key           string `gorm:"primaryKey"`
	Reply         string
	Part          int
	TeamID        string
	ChannelID     string
	ThreadTS      string
	TriggerTS     string
	Text          string
	State         Delivery
	Attempts      int
	FormErrors    int
	LeasedUntilUS int64
	TriedUS       int64
	SlotUS        int64
	SentTS        string
	Error         string
	SawUS         int64
	Decision      string
	Epoch         int
	ReadUS        int64
	Proposes      bool
	Feedback      bool
	Reaction      string
}

func (outboxRow) TableName() string { return "outbox" }

// asked is the channel and ts of the trigger. A reply that was posted elsewhere has its channel in its key alone.
func (r outboxRow) asked() [2]string {
	if key := strings.Split(r.Reply, "/"); len(key) > 3 && key[0] == r.TeamID {
		return [2]string{key[1], r.TriggerTS}
	}
	return [2]string{r.ChannelID, r.TriggerTS}
}

func (r outboxRow) part() Part {
	return Part{
		Key: r.Key, Reply: r.Reply, Number: r.Part, Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS,
		Trigger: r.TriggerTS, Text: r.Text, State: r.State, Attempts: r.Attempts, FormErrors: r.FormErrors,
		LeasedUntil: instant(r.LeasedUntilUS),
		Tried:       instantOrZero(r.TriedUS), SentTS: r.SentTS, Error: r.Error, Saw: instant(r.SawUS),
		Read: instant(r.ReadUS), Decision: r.Decision, Epoch: r.Epoch, Proposes: r.Proposes, Feedback: r.Feedback,
		Reaction: r.Reaction,
	}
}

// ErrUnderWay is returned when the caller may no longer change a reply or post its part.
var ErrUnderWay = errors.New("the reply is being posted, or was composed anew")

// Compose writes the parts of one reply and the decision that they carry out (see Decide). It
// replaces what was composed for the reply before. It returns ErrUnderWay and writes nothing if an
// attempt to post has begun, or if a newer decision has composed the reply. Exception: an outdated
// reply (OutdatedError) may be replaced if none of it is, or may be, in Slack.
func (s *Store) Compose(ctx context.Context, parts []Part, d Decision) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var rows []outboxRow
		if err := s.locked(tx).Where("reply = ?", parts[0].Reply).Order("part").Find(&rows).Error; err != nil {
			return err
		}
		attempts := make(map[string]int, len(rows))
		var tried, posting bool
		for _, r := range rows {
			if r.part().newer(parts[0]) {
				return ErrUnderWay
			}
			attempts[r.Key] = r.Attempts
			tried, posting = tried || r.Attempts > 0, posting || r.State != Composed
		}
		if tried {
			var old bool
			if err := tx.Raw("SELECT "+outdated+" FROM outbox WHERE key = ?", rows[0].Key).Scan(&old).
				Error; err != nil {
				return err
			}
			if posting || !old {
				return ErrUnderWay
			}
		}
		// If another worker has added a row since the query above, it stays, and inserting the same
		// key below fails.
		if len(rows) > 0 {
			if err := tx.Where("reply = ? AND state = ?", parts[0].Reply, Composed).Delete(&outboxRow{}).
				Error; err != nil {
				return err
			}
		}
		composed := make([]outboxRow, len(parts))
		for i, p := range parts {
			composed[i] = outboxRow{
				Key: p.Key, Reply: p.Reply, Part: p.Number, TeamID: p.Team, ChannelID: p.Channel, ThreadTS: p.Thread,
				TriggerTS: p.Trigger, Text: p.Text, State: Composed, SawUS: micros(p.Saw), Decision: p.Decision,
				Epoch: p.Epoch, Proposes: p.Proposes, Feedback: p.Feedback, Reaction: p.Reaction,
				// counted on, so that EndSend of an attempt at the old text does not match the new one
				Attempts: attempts[p.Key],
				ReadUS:   microsOrZero(p.Read),
			}
			if p.Read.IsZero() {
				composed[i].ReadUS = s.nowMicros()
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

// Parts is the parts of a reply, in order; none for an unknown reply.
func (s *Store) Parts(ctx context.Context, reply string) ([]Part, error) {
	var rows []outboxRow
	if err := s.db.WithContext(ctx).Where("reply = ?", reply).Order("part").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read reply %s from outbox: %w", reply, err)
	}
	return mapRows(rows, outboxRow.part), nil
}

// PartsOf is the parts of the replies that some decisions have composed, ordered by reply and part.
func (s *Store) PartsOf(ctx context.Context, decisions []string) ([]Part, error) {
	if len(decisions) == 0 {
		return nil, nil
	}
	var rows []outboxRow
	if err := s.db.WithContext(ctx).Where("decision IN ?", decisions).Order("reply, part").Find(&rows).
		Error; err != nil {
		return nil, fmt.Errorf("read replies of decisions: %w", err)
	}
	return mapRows(rows, outboxRow.part), nil
}

// ShownAt is the part of a decision's reply that was sent as a message, or ErrNotFound.
func (s *Store) ShownAt(ctx context.Context, decision, ts string) (Part, error) {
	var rows []outboxRow
	if err := s.db.WithContext(ctx).Where("decision = ? AND sent_ts = ?", decision, ts).Find(&rows).Error; err != nil {
		return Part{}, fmt.Errorf("read what was sent as %s: %w", ts, err)
	}
	if ts == "" || len(rows) == 0 {
		return Part{}, fmt.Errorf("what was sent as %s: %w", ts, ErrNotFound)
	}
	return rows[0].part(), nil
}

// StandsIn reports whether a decision's reply is, or is to be, in a channel.
func (s *Store) StandsIn(ctx context.Context, decision, channel string) (bool, error) {
	var rows []outboxRow
	if err := s.db.WithContext(ctx).Select("key").Where("decision = ? AND channel_id = ?", decision, channel).Limit(1).
		Find(&rows).Error; err != nil {
		return false, fmt.Errorf("read where the reply of %s is: %w", decision, err)
	}
	return len(rows) > 0, nil
}

// EndSend records how the attempt begun by BeginSend(p) ended, if no message is known to exist. The
// state is Composed after an error without effect, Sending after one that may have had an effect,
// and Failed after a permanent one. p.FormErrors is saved, too.
// A request that may still reach Slack holds the part until the
// given time; the zero time means that none can. A part that was retracted meanwhile stays so.
// EndSend does nothing if another attempt has begun since.
func (s *Store) EndSend(ctx context.Context, p Part, state Delivery, until time.Time, reason string) error {
	leased := int64(0)
	if !until.IsZero() {
		leased = micros(until)
	}
	if err := s.db.WithContext(ctx).Model(&outboxRow{}).
		Where("key = ? AND state IN ? AND attempts = ?", p.Key, []Delivery{Sending, Retracted}, p.Attempts+1).
		Updates(map[string]any{
			"state":           gorm.Expr("CASE WHEN state = ? THEN state ELSE ? END", Retracted, state),
			"leased_until_us": leased, "error": reason, "form_errors": p.FormErrors,
		}).Error; err != nil {
		return fmt.Errorf("end attempt to send %s: %w", p.Key, err)
	}
	return nil
}

// ReplyProgress reports how far replies to a message have come: begun after the first attempt to
// post one, posted once one is in Slack.
func (s *Store) ReplyProgress(ctx context.Context, team, channel, ts string) (begun, posted bool, err error) {
	var row struct{ Begun, Posted int }
	if err := s.db.WithContext(ctx).Model(&outboxRow{}).
		Where("team_id = ? AND channel_id = ? AND trigger_ts = ? AND state <> ?", team, channel, ts, Failed).
		Select("COALESCE(MAX(attempts), 0) AS begun, COUNT(CASE WHEN state = ? THEN 1 END) AS posted", Sent).Scan(&row).
		Error; err != nil {
		return false, false, fmt.Errorf("read replies to message %s in %s: %w", ts, channel, err)
	}
	return row.Begun > 0, row.Posted > 0, nil
}
