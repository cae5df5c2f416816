package store

import (
	"context"
	"errors"
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
	Choice
	What string `json:"what"`
	// Unless is what makes it superfluous; "" for a reminder, which is kept without a judgment.
	Unless string `json:"unless,omitempty"`
	// Every is how it repeats, as in package when; "" for once.
	Every string `json:"every,omitempty"`
	// Until is the hook whose event the promise waits for, until it is due; "" for none.
	Until string `gorm:"column:until_hook" json:"until,omitempty"`
	// SeenEvent is the id of the newest event that was not what it waits for. WokenUS is when to look at those after
	// it; 0: there are none.
	SeenEvent int64 `json:"-"`
	WokenUS   int64 `gorm:"column:woken_us" json:"-"`
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
	// EndedBy is slack:U…, an operator's name, or that of a rule; "" if it has ended in the ordinary way.
	EndedBy string `json:"ended_by,omitempty"`
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

// Turns is when the conversation turns to it: when it is due, or earlier to look at events.
func (p Promise) Turns() time.Time {
	if p.WokenUS > 0 {
		return instant(min(p.WokenUS, p.DueUS))
	}
	return p.Due()
}

// turnsUS is Turns in SQL.
const turnsUS = "CASE WHEN woken_us > 0 AND woken_us < due_us THEN woken_us ELSE due_us END"

// Begins is when it is due, or when nothing holds it up any more.
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
	return conversation.PromiseRef{ID: p.ID, Number: p.Number, Due: p.Turns()}.String()
}

// change says whose promise it is: the conversation may not know it.
func (p Promise) change(kind conversation.Kind, revision string, now int64) changeRow {
	c := p.Choice.change(kind, revision, now)
	c.Author = p.Asker
	return c
}

// openPromisesIn is the open promises of a conversation. An index has only those, which a parameter would
// not tell the database.
func openPromisesIn(tx *gorm.DB, c chat.Conversation) *gorm.DB {
	return tx.Model(&Promise{}).Where("team_id = ? AND channel_id = ? AND thread_ts = ? AND state = 'open'", c.Team,
		c.Channel, c.Thread)
}

// Promise returns a promise, or ErrNotFound.
func (s *Store) Promise(ctx context.Context, id string) (Promise, error) {
	return choiceNamed[Promise](s.db.WithContext(ctx), "promise", id)
}

// PromisesOf returns the promises that the replies of some decisions confirm, in the order in which they
// were made.
func (s *Store) PromisesOf(ctx context.Context, decisions ...string) ([]Promise, error) {
	rows, err := choicesWith[Promise](s, ctx, "decision", decisions, "stored_us, id")
	if err != nil {
		return nil, fmt.Errorf("read promises of decisions: %w", err)
	}
	return rows, nil
}

// PromisesFor returns the promises with some ids.
func (s *Store) PromisesFor(ctx context.Context, ids []string) ([]Promise, error) {
	rows, err := choicesWith[Promise](s, ctx, "id", ids, "id")
	if err != nil {
		return nil, fmt.Errorf("read promises: %w", err)
	}
	return rows, nil
}

// Promises returns promises that were confirmed in Slack: those due first come first or, with All, the
// newest.
func (s *Store) Promises(ctx context.Context, f ChoiceFilter) ([]Promise, error) {
	rows, err := choices[Promise](s, ctx, f, "state = 'open'", "due_us, id")
	if err != nil {
		return nil, fmt.Errorf("read promises: %w", err)
	}
	return rows, nil
}

// ErrTooManyPromises is returned where as many promises are open as may be: a TooManyPromises.
var ErrTooManyPromises = errors.New("too many promises are open")

// PromiseLimits are how many promises may be open in a conversation, in a channel with its threads, and for a person or
// a guest who asked, wherever that was. 0 is no limit.
type PromiseLimits struct{ Conversation, Channel, Person, Guest int }

// TooManyPromises says which limit is reached: that of a Conversation, a Channel, or otherwise of who asks.
type TooManyPromises struct {
	Limit                 int
	Conversation, Channel bool
}

func (e TooManyPromises) Error() string { return fmt.Sprintf("%v: %d", ErrTooManyPromises, e.Limit) }

// Unwrap makes it an ErrTooManyPromises.
func (TooManyPromises) Unwrap() error { return ErrTooManyPromises }

// AddPromise saves a promise whose first time is due at DueUS, unless its step has made it before. It
// returns a TooManyPromises if as many are open as may be. Somebody whom Slack has never described counts as a guest.
func (s *Store) AddPromise(ctx context.Context, p Promise, most PromiseLimits) (Promise, error) {
	p.State, p.Number, p.FirstUS, p.StoredUS = PromiseOpen, 1, p.DueUS, s.nowMicros()
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if err := s.lockChannel(tx, chat.Scope(p.Conversation())); err != nil { // calls of one turn run side by side
			return err
		}
		if made, err := choiceNamed[Promise](tx, "promise", p.ID); !errors.Is(err, ErrNotFound) {
			p = made
			return err
		}
		if p.Until != "" { // what came before is not what it waits for
			if err := unseenEvents(tx, p).Select("COALESCE(MAX(id), 0)").Scan(&p.SeenEvent).Error; err != nil {
				return err
			}
		}
		var asker []userRow // locked, since the same person may ask in two channels at once
		if err := s.locked(tx).Where("team_id = ? AND user_id = ?", p.TeamID, p.Asker).Find(&asker).Error; err != nil {
			return err
		}
		if u := first(asker); u.UserID == "" || u.GuestUS > 0 || u.Stranger {
			most.Person = most.Guest
		}
		open := tx.Model(&Promise{}).Where("team_id = ? AND state = 'open'", p.TeamID).Session(&gorm.Session{})
		for _, of := range []struct {
			open *gorm.DB
			full TooManyPromises
		}{
			{open.Where("channel_id = ? AND thread_ts = ?", p.ChannelID, p.ThreadTS),
				TooManyPromises{Limit: most.Conversation, Conversation: true}},
			{open.Where("channel_id = ?", p.ChannelID), TooManyPromises{Limit: most.Channel, Channel: true}},
			{open.Where("asker = ?", p.Asker), TooManyPromises{Limit: most.Person}},
		} {
			var count int64
			if err := of.open.Count(&count).Error; err != nil {
				return err
			}
			if of.full.Limit > 0 && count >= int64(of.full.Limit) {
				return of.full
			}
		}
		return tx.Create(&p).Error
	})
	if err != nil {
		return Promise{}, fmt.Errorf("save promise %s: %w", p.ID, err)
	}
	return p, nil
}
