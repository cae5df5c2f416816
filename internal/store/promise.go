package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/telemetry"
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

// ErrTooManyPromises is returned where as many promises are open as may be: a TooManyPromises.
var ErrTooManyPromises = errors.New("too many promises are open")

// PromiseLimits are how many promises may be open in a conversation, in a channel with its threads, and for a person or a
// guest who asked, wherever that was. 0 is no limit.
type PromiseLimits struct{ Conversation, Channel, Person, Guest int }

// TooManyPromises says which limit is reached: that of a Conversation, a Channel, or otherwise of who asks.
type TooManyPromises struct {
	Limit                 int
	Conversation, Channel bool
}

func (e TooManyPromises) Error() string { return fmt.Sprintf("%v: %d", ErrTooManyPromises, e.Limit) }

// Unwrap makes it an ErrTooManyPromises.
func (TooManyPromises) Unwrap() error { return ErrTooManyPromises }

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

// marshalRow is json.Marshal that leaves it to whoever prints the JSON whether < and & are escaped.
func marshalRow(row any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(row)
	return b.Bytes(), err
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
		WorkflowID: p.Conversation().ID(), TS: p.TriggerTS, SentUS: micros(chat.Time(p.TriggerTS)), Kind: string(kind), Revision: revision,
		StoredUS: now, Author: p.Asker,
	}
}

// AddPromise saves a promise whose first time is due at DueUS, unless its step has made it before. It
// returns a TooManyPromises if as many are open as may be. Somebody whom Slack has never described counts as a guest.
func (s *Store) AddPromise(ctx context.Context, p Promise, most PromiseLimits) (Promise, error) {
	p.State, p.Number, p.FirstUS, p.StoredUS = PromiseOpen, 1, p.DueUS, s.nowMicros()
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if err := s.lockChannel(tx, chat.Scope(p.Conversation())); err != nil { // calls of one turn run side by side
			return err
		}
		if made, err := s.onePromise(tx, p.ID); !errors.Is(err, ErrNotFound) {
			p = made
			return err
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
			{open.Where("channel_id = ? AND thread_ts = ?", p.ChannelID, p.ThreadTS), TooManyPromises{Limit: most.Conversation, Conversation: true}},
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

// openPromisesIn is the open promises of a conversation. An index has only those, which a parameter would
// not tell the database.
func openPromisesIn(tx *gorm.DB, c chat.Conversation) *gorm.DB {
	return tx.Model(&Promise{}).Where("team_id = ? AND channel_id = ? AND thread_ts = ? AND state = 'open'", c.Team, c.Channel, c.Thread)
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

// PromisesOf returns the promises that the replies of some decisions confirm, in the order in which they
// were made.
func (s *Store) PromisesOf(ctx context.Context, decisions ...string) ([]Promise, error) {
	if len(decisions) == 0 {
		return nil, nil
	}
	var rows []Promise
	if err := s.db.WithContext(ctx).Where("decision IN ?", decisions).Order("stored_us, id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read promises of decisions: %w", err)
	}
	return rows, nil
}

// PromisesFor returns the promises with some ids.
func (s *Store) PromisesFor(ctx context.Context, ids []string) ([]Promise, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []Promise
	if err := s.db.WithContext(ctx).Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read promises: %w", err)
	}
	return rows, nil
}

// PromiseFilter says which promises Promises returns.
type PromiseFilter struct {
	Team string
	// Channel and Thread narrow it to a place; "" is any. TopLevel narrows it to the top level of Channel.
	Channel, Thread string
	TopLevel        bool
	// Channels narrows it to some channels; nil is any.
	Channels []string
	// Asker narrows it to what somebody asked for; "" is anybody.
	Asker string
	// All includes those that have ended.
	All bool
	// Limit is how many: those that are due first, and with All the newest.
	Limit int
}

// Promises returns promises that were confirmed in Slack: those due first come first or, with All, the
// newest.
func (s *Store) Promises(ctx context.Context, f PromiseFilter) ([]Promise, error) {
	q := s.db.WithContext(ctx).Where("team_id = ? AND shown_ts <> ''", f.Team)
	if f.All {
		q = q.Order("stored_us DESC, id")
	} else {
		q = q.Where("state = 'open'").Order("due_us, id")
	}
	if f.Channel != "" {
		q = q.Where("channel_id = ?", f.Channel)
	}
	if f.Channels != nil {
		q = q.Where("?", s.inList("channel_id", f.Channels))
	}
	if f.Asker != "" {
		q = q.Where("asker = ?", f.Asker)
	}
	if f.Thread != "" || f.TopLevel {
		q = q.Where("thread_ts = ?", f.Thread)
	}
	var rows []Promise
	if err := q.Limit(f.Limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read promises: %w", err)
	}
	return rows, nil
}

// ShowPromises records that the reply of a decision, which confirms its promises, was posted, and returns
// the promises. Somebody may have cancelled one in the meantime.
func (s *Store) ShowPromises(ctx context.Context, decision, ts string) ([]Promise, error) {
	if err := s.db.WithContext(ctx).Model(&Promise{}).Where("decision = ? AND shown_ts = ''", decision).Update("shown_ts", ts).Error; err != nil {
		return nil, fmt.Errorf("show promises of %s: %w", decision, err)
	}
	return s.PromisesOf(ctx, decision)
}

// HoldPromises records until when the promises of a conversation that are due are held up.
func (s *Store) HoldPromises(ctx context.Context, c chat.Conversation, until time.Time) error {
	if err := openPromisesIn(s.db.WithContext(ctx), c).Where("due_us < ?", micros(until)).Update("held_us", micros(until)).Error; err != nil {
		return fmt.Errorf("hold the promises of %s: %w", c.ID(), err)
	}
	return nil
}

// EndPromise records what has become of a promise at its time of some number. With a next time, one that
// was kept, skipped as cancelled, or could not be posted stays open and is due then. If it has ended before, or that time was
// recorded before, it stays as it is. EndPromise returns the promise as it is then, or ErrNotFound.
func (s *Store) EndPromise(ctx context.Context, id string, number int, state PromiseState, by string, next time.Time) (p Promise, err error) {
	changed := false
	err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
		if p, err = s.onePromise(s.locked(tx), id); err != nil {
			return err
		}
		if changed = p.State == PromiseOpen && p.Number == number; !changed {
			return nil
		}
		now := s.nowMicros()
		p.HeldUS = 0
		if !next.IsZero() && state != PromiseReleased {
			p.Number, p.DueUS = number+1, micros(next)
		} else {
			p.State, p.EndedBy, p.EndedUS = state, by, now
		}
		return tx.Model(&Promise{}).Where("id = ?", id).Updates(map[string]any{
			"number": p.Number, "due_us": p.DueUS, "held_us": 0, "state": p.State, "ended_by": p.EndedBy, "ended_us": p.EndedUS,
		}).Error
	})
	if err != nil {
		return Promise{}, fmt.Errorf("end promise %s: %w", id, err)
	}
	if changed {
		s.metrics.endPromise(state, 1)
	}
	return p, nil
}

// CancelPromise cancels an open promise for somebody, and records the change that tells its conversation.
// It returns the promise as it is then, and first says whether this has ended it. ErrNotFound: there is no
// such promise.
func (s *Store) CancelPromise(ctx context.Context, id, by string) (p Promise, first bool, targets []Target, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
		if p, err = s.onePromise(s.locked(tx), id); err != nil {
			return err
		}
		if first = p.State == PromiseOpen; !first {
			return nil
		}
		now := s.nowMicros()
		p.State, p.EndedBy, p.EndedUS = PromiseCancelled, by, now
		if err := tx.Model(&Promise{}).Where("id = ?", id).Updates(map[string]any{"state": p.State, "ended_by": by, "ended_us": now}).Error; err != nil {
			return err
		}
		c := p.change(conversation.Cancelled, p.ID, now)
		c.OrderedBy, c.Trace = by, telemetry.Traceparent(ctx)
		targets = []Target{{Conversation: p.Conversation(), Awaited: true}}
		return tx.Create(&c).Error
	})
	if err != nil {
		return Promise{}, false, nil, fmt.Errorf("cancel promise %s: %w", id, err)
	}
	if first {
		s.metrics.endPromise(PromiseCancelled, 1)
	}
	return p, first, targets, nil
}

// MovePromise makes an open promise due at another time for somebody, and records the change that tells
// its conversation. Of one that repeats, only the next time moves. It returns the promise as it is then,
// and moved says whether it was open. ErrNotFound: there is no such promise.
func (s *Store) MovePromise(ctx context.Context, id string, due time.Time, by string) (p Promise, moved bool, targets []Target, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
		if p, err = s.onePromise(s.locked(tx), id); err != nil {
			return err
		}
		if moved = p.State == PromiseOpen; !moved {
			return nil
		}
		if p.HeldUS = 0; p.DueUS != micros(due) {
			targets = []Target{{Conversation: p.Conversation(), Awaited: true}}
		}
		// A conversation hears of each time once. One to which the promise was moved before gets a microsecond more.
		for p.DueUS = micros(due); len(targets) > 0; p.DueUS++ {
			c := p.change(conversation.Moved, p.reference(), s.nowMicros())
			c.OrderedBy, c.Trace = by, telemetry.Traceparent(ctx)
			added := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&c)
			if added.Error != nil {
				return added.Error
			}
			if added.RowsAffected > 0 {
				break
			}
		}
		return tx.Model(&Promise{}).Where("id = ?", id).Updates(map[string]any{"due_us": p.DueUS, "held_us": 0}).Error
	})
	if err != nil {
		return Promise{}, false, nil, fmt.Errorf("move promise %s: %w", id, err)
	}
	return p, moved, targets, nil
}

// PromiseCounts says how many promises are open, and how many of these are late: their conversation should
// have turned to them five minutes ago.
type PromiseCounts struct {
	Open, Late int
	// Oldest is when the conversation should have turned to the one that is late for longest; zero if
	// none is.
	Oldest time.Time
}

// CountPromises counts the open promises of all workspaces.
func (s *Store) CountPromises(ctx context.Context) (PromiseCounts, error) {
	before := s.nowMicros() - overdueAfter.Microseconds()
	var row struct {
		Open, Late int
		OldestUS   int64 `gorm:"column:oldest_us"`
	}
	if err := s.db.WithContext(ctx).Raw(`
		SELECT COUNT(*) AS open, COALESCE(SUM(CASE WHEN due_us < ? AND held_us < ? THEN 1 ELSE 0 END), 0) AS late,
			COALESCE(MIN(CASE WHEN due_us < ? AND held_us < ? THEN CASE WHEN held_us > due_us THEN held_us ELSE due_us END END), 0) AS oldest_us
		FROM promises WHERE state = 'open' AND shown_ts <> ''`, before, before, before, before).Scan(&row).Error; err != nil {
		return PromiseCounts{}, fmt.Errorf("count promises: %w", err)
	}
	return PromiseCounts{Open: row.Open, Late: row.Late, Oldest: instantOrZero(row.OldestUS)}, nil
}

// unshownPromises is how long after its time a promise waits for the reply that confirms it.
const unshownPromises = 24 * time.Hour

// HandOverPromises tells conversations of their promises that are late: their runs may have been terminated, or lost
// with their namespace. It tells them again an hour after the last time. It returns the conversations that have a new change.
// Promises whose reply was never posted are withdrawn.
func (s *Store) HandOverPromises(ctx context.Context) (targets []Target, err error) {
	now := s.nowMicros()
	lost := s.db.WithContext(ctx).Model(&Promise{}).Where("state = 'open' AND shown_ts = '' AND due_us < ?", now-unshownPromises.Microseconds()).
		Updates(map[string]any{"state": PromiseWithdrawn, "ended_us": now})
	if lost.Error != nil {
		return nil, fmt.Errorf("withdraw promises that were not confirmed: %w", lost.Error)
	}
	s.metrics.endPromise(PromiseWithdrawn, lost.RowsAffected)
	before := now - overdueAfter.Microseconds()
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var late []Promise
		if err := tx.Where("state = 'open' AND shown_ts <> '' AND due_us < ? AND held_us < ?", before, before).
			Where("NOT EXISTS (SELECT 1 FROM changes c WHERE c.workflow_id = "+workflowOf+" AND c.ts = trigger_ts AND c.kind = ? AND c.revision = promises.id || '/' || number || '/' || due_us AND "+toldLately+")", conversation.Due, now-handOverAgain.Microseconds()).
			Order("due_us").Limit(overdueLimit).Find(&late).Error; err != nil {
			return err
		}
		targets = nil
		for _, p := range late {
			c := p.change(conversation.Due, p.reference(), s.nowMicros())
			added := s.tellAgain(tx, &c)
			if added.Error != nil {
				return added.Error
			}
			if added.RowsAffected > 0 { // no other starter was faster
				targets = append(targets, Target{Conversation: p.Conversation()})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("hand over promises: %w", err)
	}
	return targets, nil
}
