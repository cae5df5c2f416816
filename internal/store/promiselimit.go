package store

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"myao/internal/chat"
)

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
