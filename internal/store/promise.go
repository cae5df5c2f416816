package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// PromiseState is what has become of a promise. All but PromiseOpen are ends.
type PromiseState string

const (
	PromiseOpen PromiseState = "open"
	PromiseKept PromiseState = "kept" // posted; one that repeats goes on being open
	// PromiseReleased: the matter was settled when it was due, so nothing was said.
	PromiseReleased PromiseState = "released"
	// PromiseWithdrawn: the message that asked was deleted, or the reply that confirms it never posted.
	PromiseWithdrawn PromiseState = "withdrawn"
	PromiseCancelled PromiseState = "cancelled" // by a person, or by the rule that Promise.EndedBy names
	PromiseFailed    PromiseState = "failed"    // it could not be posted
)

// promiseEnds are the states in which nothing more comes of a promise.
var promiseEnds = []PromiseState{PromiseKept, PromiseReleased, PromiseWithdrawn, PromiseCancelled, PromiseFailed}

// Promise is something that the bot has said it will do at a time.
type Promise struct {
	ID        string `gorm:"primaryKey" json:"id"` // that of its step
	TeamID    string `json:"-"`
	ChannelID string `json:"channel"`
	// ChannelName is only set where it is shown.
	ChannelName string `gorm:"-" json:"channel_name,omitempty"`
	ThreadTS    string `gorm:"column:thread_ts" json:"thread"` // "" at the top level
	// TriggerTS is the ts of the message that asked, Asker the user id of its author.
	TriggerTS string `gorm:"column:trigger_ts" json:"trigger_ts"`
	// Decision is the key of the decision whose reply confirms it.
	Decision string `json:"-"`
	Asker    string `json:"asked_by"`
	What     string `json:"what"`
	// Unless is what makes it superfluous; "" for a reminder, which is kept without a judgment.
	Unless string `json:"unless,omitempty"`
	// Every is how it repeats, as in package when; "" for once.
	Every string `json:"every,omitempty"`
	// Zone is the name of the time zone in which it was made.
	Zone string `json:"time_zone"`
	// FirstUS is when it is due for the first time, DueUS when it is due next or was in the end.
	FirstUS int64 `gorm:"column:first_us" json:"-"`
	DueUS   int64 `gorm:"column:due_us" json:"-"`
	// HeldUS is until when a mute or quiet hours hold it up; 0 if they do not.
	HeldUS int64 `gorm:"column:held_us" json:"-"`
	// Number counts the times that it is due, from 1.
	Number int          `json:"number"`
	State  PromiseState `json:"state"`
	// ShownTS is the ts of the message that confirms it; "" before that is posted.
	ShownTS string `gorm:"column:shown_ts" json:"shown_ts,omitempty"`
	// EndedBy is slack:U…, an operator's name, or that of a rule; "" if it has ended in the ordinary way.
	EndedBy  string `json:"ended_by,omitempty"`
	StoredUS int64  `gorm:"column:stored_us" json:"-"`
	EndedUS  int64  `gorm:"column:ended_us" json:"-"`
}

// MarshalJSON implements json.Marshaler: times take the place of the microseconds.
func (p Promise) MarshalJSON() ([]byte, error) {
	type columns Promise // without this method
	return marshalRow(struct {
		columns
		Made  time.Time `json:"made_at"`
		Due   time.Time `json:"due"`
		Held  time.Time `json:"held_until,omitzero"`
		Ended time.Time `json:"ended_at,omitzero"`
	}{columns(p), p.Stored(), p.Due(), p.Held(), p.Ended()})
}

// TableName implements gorm's schema.Tabler.
func (Promise) TableName() string { return "promises" }

// Conversation is where it was made, and is kept.
func (p Promise) Conversation() chat.Conversation {
	return chat.Conversation{Team: p.TeamID, Channel: p.ChannelID, Thread: p.ThreadTS}
}

// First is when it is due for the first time, Due when it is due next, or was in the end.
func (p Promise) First() time.Time { return instant(p.FirstUS) }
func (p Promise) Due() time.Time   { return instant(p.DueUS) }

// Held is until when a mute or quiet hours hold it up; zero if they do not.
func (p Promise) Held() time.Time {
	if p.State != PromiseOpen {
		return time.Time{}
	}
	return instantOrZero(p.HeldUS)
}

// Stored is when it was made, Ended when it ended; zero while it is open.
func (p Promise) Stored() time.Time { return instant(p.StoredUS) }
func (p Promise) Ended() time.Time  { return instantOrZero(p.EndedUS) }

// Begins is when the conversation turns to it: when it is due, or when nothing holds it up any more.
func (p Promise) Begins() time.Time { return instant(max(p.DueUS, p.HeldUS)) }

// Location is its time zone; UTC if that is unknown here.
func (p Promise) Location() *time.Location {
	zone, err := time.LoadLocation(p.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// reference is what the changes about the promise carry: see conversation.PromiseRef.
func (p Promise) reference() string {
	return conversation.PromiseRef{ID: p.ID, Number: p.Number, Due: p.Due()}.String()
}

func (p Promise) change(kind conversation.Kind, revision string, now int64) changeRow {
	return changeRow{
		WorkflowID: p.Conversation().ID(), TS: p.TriggerTS, SentUS: micros(chat.Time(p.TriggerTS)), Kind: string(kind),
		Revision: revision,
		StoredUS: now, Author: p.Asker,
	}
}

// openPromisesIn is the open promises of a conversation. An index has only those, which a parameter would
// not tell the database.
func openPromisesIn(tx *gorm.DB, c chat.Conversation) *gorm.DB {
	return tx.Model(&Promise{}).Where("team_id = ? AND channel_id = ? AND thread_ts = ? AND state = 'open'", c.Team,
		c.Channel, c.Thread)
}

// Promise returns a promise, or ErrNotFound.
func (s *Store) Promise(ctx context.Context, id string) (Promise, error) {
	return s.onePromise(s.db.WithContext(ctx), id)
}

func (s *Store) onePromise(tx *gorm.DB, id string) (Promise, error) {
	var rows []Promise
	if err := tx.Where("id = ?", id).Find(&rows).Error; err != nil {
		return Promise{}, fmt.Errorf("read promise %s: %w", id, err)
	}
	if len(rows) == 0 {
		return Promise{}, fmt.Errorf("promise %s: %w", id, ErrNotFound)
	}
	return rows[0], nil
}
