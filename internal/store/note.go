package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// MaxNotes is how many notes a channel can have. All of them are in each of its prompts.
const MaxNotes = 100

// ErrTooManyNotes is returned for a note in a channel that has MaxNotes already.
var ErrTooManyNotes = errors.New("the channel has as many notes as it can have")

type noteRow struct {
	ID        int64 `gorm:"primaryKey" json:"id"`
	Step      string
	TeamID    string
	ChannelID string
	TS        string `json:"ts"`
	Author    string `json:"author"`
	Text      string `json:"text"`
	Permalink string `json:"permalink"`
	NotedUS   int64  `json:"noted_us"`
}

func (noteRow) TableName() string { return "notes" }

func (r noteRow) note() chat.Note {
	return chat.Note{ID: r.ID, TS: r.TS, Author: r.Author, Text: r.Text, Permalink: r.Permalink,
		Noted: instant(r.NotedUS)}
}

// AddNote saves a note of a channel and returns it with its id. step identifies the call that makes
// it: repeated, it returns the same note. It returns ErrTooManyNotes if there is no room, and ErrDeleted if
// the message that asks is gone.
func (s *Store) AddNote(ctx context.Context, team, channel, step string, n chat.Note) (chat.Note, error) {
	row := noteRow{
		Step: step, TeamID: team, ChannelID: channel, TS: n.TS, Author: n.Author, Text: n.Text, Permalink: n.Permalink,
		NotedUS: s.nowMicros(),
	}
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var made noteRow
		if err := tx.Where("step = ?", step).Limit(1).Find(&made).Error; err != nil {
			return err
		}
		if made.ID != 0 {
			row = made
			return nil
		}
		// The lock has a deletion wait, which then takes the note with it.
		var asks []messageRow
		if err := s.locked(tx).Where("team_id = ? AND channel_id = ? AND ts = ?", team, channel, n.TS).Find(&asks).
			Error; err != nil {
			return err
		}
		if first(asks).Deleted {
			return ErrDeleted
		}
		var count int64
		if err := tx.Model(&noteRow{}).Where("team_id = ? AND channel_id = ?", team, channel).Count(&count).
			Error; err != nil {
			return err
		}
		if count >= MaxNotes {
			return ErrTooManyNotes
		}
		return tx.Create(&row).Error
	})
	if err != nil {
		return chat.Note{}, fmt.Errorf("save a note of channel %s: %w", channel, err)
	}
	return row.note(), nil
}

// Notes is a channel's notes, the oldest first.
func (s *Store) Notes(ctx context.Context, team, channel string) ([]chat.Note, error) {
	var rows []noteRow
	if err := runBatch(s.db.WithContext(ctx), notesQuery(team, channel, anyOf(nil), &rows)); err != nil {
		return nil, fmt.Errorf("read the notes of channel %s: %w", channel, err)
	}
	return mapRows(rows, noteRow.note), nil
}

// notesQuery asks for the notes of a channel c, none if it is withheld.
func notesQuery(team, channel string, withheld clause.Expr, into *[]noteRow) query {
	return query{fmt.Sprintf(`
		SELECT n.id, n.ts, n.author, n.text, n.permalink, n.noted_us FROM notes n WHERE n.team_id = ? AND n.channel_id = ?
		AND NOT EXISTS (SELECT 1 FROM channels c WHERE c.team_id = n.team_id AND c.channel_id = n.channel_id AND ?)
		ORDER BY n.id LIMIT %d`, MaxNotes), []any{team, channel, withheld}, into}
}

// orderForgetNote is the kind of an order to take back a note.
const orderForgetNote = "forget-note"

// ForgetNote deletes a note of a channel and records who wanted that. It reports whether there was
// such a note. step identifies the call: repeated, it reports the same.
func (s *Store) ForgetNote(ctx context.Context, scope chat.Scope, id int64, step, by string) (found bool, err error) {
	number := strconv.FormatInt(id, 10)
	order := Order{ID: "note/" + step, Scope: scope, Kind: orderForgetNote, By: by, Subject: number}
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		deleted := tx.Where("team_id = ? AND channel_id = ? AND id = ?", scope.Team, scope.Channel, id).
			Delete(&noteRow{})
		if found = deleted.RowsAffected > 0; deleted.Error != nil {
			return deleted.Error
		}
		if found {
			if err := dropSnapshots(tx, scope.Team); err != nil {
				return err
			}
			_, err := s.insertOrder(tx, order)
			return err
		}
		var done int64
		err := tx.Model(&orderRow{}).Where("id = ? AND subject = ?", order.ID, number).Count(&done).Error
		found = done > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("forget note %d: %w", id, err)
	}
	return found, nil
}
