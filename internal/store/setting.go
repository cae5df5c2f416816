package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// settingRow is a setting of a channel that somebody has set in Slack.
type settingRow struct {
	ID        string `gorm:"primaryKey" json:"id"`
	TeamID    string `json:"team_id"`
	ChannelID string `json:"channel_id"`
	Setting   string `json:"setting"`
	Value     string `json:"value"`
	IsSet     bool   `json:"is_set"`
	Was       string `json:"was"`
	WasSet    bool   `json:"was_set"`
	SetBy     string `json:"set_by"`
	SetUS     int64  `json:"set_us"`
}

func (settingRow) TableName() string { return "channel_settings" }

func (r settingRow) inSlack() chat.InSlack {
	in := chat.InSlack{Value: r.Value, By: r.SetBy, At: instant(r.SetUS)}
	if r.WasSet {
		in.Before = &r.Was
	}
	return in
}

// setQuery asks for what is set of a channel.
func setQuery(team, channel string, into *[]settingRow) query {
	return query{"SELECT * FROM channel_settings WHERE team_id = ? AND channel_id = ? AND is_set", []any{team, channel},
		into}
}

// setOf is the chat.Set in rows of one channel, and never nil.
func setOf(rows []settingRow) chat.Set {
	set := chat.Set{}
	for _, r := range rows {
		set[r.Setting] = r.inSlack()
	}
	return set
}

// SetIn returns what people have set in Slack of some channels, by their ids. Each has an entry.
func (s *Store) SetIn(ctx context.Context, team string, channels ...string) (map[string]chat.Set, error) {
	sets := make(map[string]chat.Set, len(channels))
	for _, id := range channels {
		sets[id] = chat.Set{}
	}
	var rows []settingRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND ? AND is_set", team, s.inList("channel_id", channels)).
		Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read what is set in Slack of channels: %w", err)
	}
	for _, r := range rows {
		sets[r.ChannelID][r.Setting] = r.inSlack()
	}
	return sets, nil
}

// KindSet is the kind of the orders that set something of a channel. Their subjects are the keys.
const KindSet = "set"

// undoOf is the id of the order that undoes what another one has set.
func undoOf(id string) string { return "undo/" + id }

// SetInChannel sets something of a channel by its keys; nil has the file's value hold again. It does so once for an id.
func (s *Store) SetInChannel(ctx context.Context, c chat.Conversation, id, by string, values map[string]*string) error {
	keys := slices.Sorted(maps.Keys(values))
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		fresh, err := s.insertOrder(tx, Order{ID: id, Scope: chat.Scope(c.Top()), Kind: KindSet, By: by,
			Subject: strings.Join(keys, ", ")})
		if err != nil || !fresh {
			return err
		}
		for _, key := range keys {
			value := ""
			if values[key] != nil {
				value = *values[key]
			}
			if err := tx.Exec(`
				INSERT INTO channel_settings (id, team_id, channel_id, setting, value, is_set, was, was_set, set_by, set_us)
				VALUES (?, ?, ?, ?, ?, ?, '', FALSE, ?, ?)
				ON CONFLICT (team_id, channel_id, setting) DO UPDATE SET id = excluded.id, value = excluded.value,
					is_set = excluded.is_set, was = channel_settings.value, was_set = channel_settings.is_set,
					set_by = excluded.set_by, set_us = excluded.set_us`,
				id+"/"+key, c.Team, c.Channel, key, Clean(value), values[key] != nil, by, s.nowMicros()).
				Error; err != nil {
				return err
			}
		}
		return saveRemember(tx, c.Team, c.Channel)
	})
	if err != nil {
		return fmt.Errorf("set %s of channel %s: %w", strings.Join(keys, ", "), c.Channel, err)
	}
	return nil
}

// ErrUndone is returned where something was undone already, ErrChanged where it was set again since.
var (
	ErrUndone  = errors.New("it is undone already")
	ErrChanged = errors.New("it was set again since")
)

// SetBy returns the order that set something of a channel in Slack, by its id; ErrNotFound without one.
func (s *Store) SetBy(ctx context.Context, team, id string) (Order, error) {
	var rows []orderRow
	if err := s.db.WithContext(ctx).Where("id = ? AND team_id = ? AND kind = ?", id, team, KindSet).Find(&rows).
		Error; err != nil {
		return Order{}, fmt.Errorf("read what order %s has set: %w", id, err)
	}
	if len(rows) == 0 {
		return Order{}, ErrNotFound
	}
	return rows[0].order(), nil
}

// UndoSet has what held before an order of SetInChannel hold again, and returns the keys. What was set again since
// stays. It returns ErrUndone or ErrChanged where nothing is left to undo.
func (s *Store) UndoSet(ctx context.Context, o Order, by string) (undone []string, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		undone = nil
		for _, key := range strings.Split(o.Subject, ", ") {
			back := tx.Exec(`
				UPDATE channel_settings SET id = ?, value = was, is_set = was_set, was = value, was_set = is_set, set_by = ?,
					set_us = ? WHERE team_id = ? AND channel_id = ? AND id = ?`,
				undoOf(o.ID)+"/"+key, by, s.nowMicros(), o.Scope.Team, o.Scope.Channel, o.ID+"/"+key)
			if back.Error != nil {
				return back.Error
			}
			if back.RowsAffected > 0 {
				undone = append(undone, key)
			}
		}
		if len(undone) > 0 {
			_, err := s.insertOrder(tx, Order{ID: undoOf(o.ID), Scope: o.Scope, Kind: KindSet, By: by,
				Subject: strings.Join(undone, ", ")})
			return errors.Join(err, saveRemember(tx, o.Scope.Team, o.Scope.Channel))
		}
		var before int64
		if err := tx.Model(&orderRow{}).Where("id = ?", undoOf(o.ID)).Count(&before).Error; err != nil {
			return err
		}
		if before > 0 {
			return ErrUndone
		}
		return ErrChanged
	})
	if err != nil {
		return nil, fmt.Errorf("undo order %s: %w", o.ID, err)
	}
	return undone, nil
}

// moveSet carries what is set of a channel over to its new id, where nothing is set yet.
func moveSet(tx *gorm.DB, m Move) error {
	if err := tx.Exec(`
		INSERT INTO channel_settings (id, team_id, channel_id, setting, value, is_set, was, was_set, set_by, set_us)
		SELECT 'moved/' || id, team_id, ?, setting, value, is_set, was, was_set, set_by, set_us FROM channel_settings
		WHERE team_id = ? AND channel_id = ? ON CONFLICT DO NOTHING`, m.To, m.Team, m.From).Error; err != nil {
		return err
	}
	return saveRemember(tx, m.Team, m.To)
}

// saveRemember has the channel's own row say where it is remembered, as is set in Slack.
func saveRemember(tx *gorm.DB, team, channel string) error {
	return tx.Exec(`
		INSERT INTO channels (team_id, channel_id, remember) VALUES (?, ?, COALESCE((
			SELECT value FROM channel_settings WHERE team_id = ? AND channel_id = ? AND setting = 'remember' AND is_set), ''))
		ON CONFLICT (team_id, channel_id) DO UPDATE SET remember = excluded.remember`, team, channel, team, channel).Error
}
