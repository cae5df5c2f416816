package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

type messageRow struct {
	TeamID    string `gorm:"primaryKey" json:"team_id"`
	ChannelID string `gorm:"primaryKey" json:"channel_id"`
	TS        string `gorm:"primaryKey" json:"ts"`
	SentUS    int64  `json:"sent_us"`
	ThreadTS  string `json:"thread_ts"`
	UserID    string `json:"user_id"`
	BotID     string `json:"bot_id"`
	Through   string `json:"through"`
	Own       bool   `json:"own"`
	Name      string `json:"name"`
	Text      string `json:"text"`
	Files     string `json:"files"`
	Revision  string `json:"revision"`
	Deleted   bool   `json:"deleted"`
	Handled   bool   `json:"handled"`
	StoredUS  int64  `json:"stored_us"`
}

func (messageRow) TableName() string { return "messages" }

func (r messageRow) key() string { return rowKey(r.TeamID, r.ChannelID, r.TS) }

// rowKey names a message's row. A transaction that writes several rows writes them in the order of
// these names, so that no two transactions wait for each other.
func rowKey(team, channel, ts string) string { return team + "/" + channel + "/" + ts }

func (r messageRow) message() chat.Message {
	m := chat.Message{
		Team: r.TeamID, Channel: r.ChannelID, TS: r.TS, ThreadTS: r.ThreadTS,
		UserID: r.UserID, BotID: r.BotID, Through: r.Through, Own: r.Own, Name: r.Name, Text: r.Text,
		Revision: r.Revision, Deleted: r.Deleted,
	}
	if r.Files != "" {
		// newMessageRow wrote this, so it cannot fail; a message without its files is better than
		// none.
		_ = json.Unmarshal([]byte(r.Files), &m.Files)
	}
	return m
}

// sameContent reports whether both rows of one message say the same, so that a reader of the older
// one need not read the newer one.
func (r messageRow) sameContent(old messageRow) bool {
	r.StoredUS, r.Handled = old.StoredUS, old.Handled
	return r == old
}

func newMessageRow(m chat.Message, handled bool, now int64) (messageRow, error) {
	r := messageRow{
		TeamID: m.Team, ChannelID: m.Channel, TS: m.TS, SentUS: micros(m.Time()), ThreadTS: m.ThreadTS,
		UserID: m.UserID, BotID: m.BotID, Through: m.Through, Own: m.Own, Name: m.Name, Text: m.Text,
		Revision: m.Revision, Deleted: m.Deleted, Handled: handled, StoredUS: now,
	}
	if len(m.Files) > 0 {
		files, err := json.Marshal(m.Files)
		if err != nil {
			return messageRow{}, fmt.Errorf("store files of message %s: %w", m.TS, err)
		}
		r.Files = string(files)
	}
	return r, nil
}

// byTS is the messages with the given ts in a conversation's channel, without deleted ones.
func byTS(db *gorm.DB, c chat.Conversation, ts ...string) (rows []messageRow, err error) {
	err = db.Where("team_id = ? AND channel_id = ? AND ts IN ? AND NOT deleted", c.Team, c.Channel, ts).Find(&rows).
		Error
	return rows, err
}

func messages(rows []messageRow) []chat.Message {
	return mapRows(rows, messageRow.message)
}

// SaveHistory saves messages of one channel as read from Slack's history. They are seen but not
// handled, so their own events still count when they arrive. The same holds for an edit, although
// its text may be saved already. What an event has brought stays as it is; only files are added, which
// the event of a mention lacks. What a forgotten person had said, and what was in a channel when it was purged, is not
// saved again.
func (s *Store) SaveHistory(ctx context.Context, read []chat.Message) error {
	if len(read) == 0 {
		return nil
	}
	read, err := s.attribute(ctx, read)
	if err != nil {
		return err
	}
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		ts := make([]string, len(read))
		for i, m := range read {
			ts[i] = m.TS
		}
		var rows []messageRow
		if err := s.locked(tx).Where("team_id = ? AND channel_id = ? AND ts IN ?", read[0].Team, read[0].Channel, ts).
			Order("ts").Find(&rows).Error; err != nil {
			return err
		}
		known := make(map[string]messageRow, len(rows))
		for _, r := range rows {
			known[r.TS] = r
		}
		erased, err := erasuresOf(tx, read)
		if err != nil {
			return err
		}
		var newest messageRow
		for _, m := range slices.SortedFunc(slices.Values(read),
			func(a, b chat.Message) int { return strings.Compare(a.TS, b.TS) }) { // as rowKey demands
			old, ok := known[m.TS]
			told := ok && (old.Handled || old.Revision != "") // by an event
			if ok && old.Deleted || told && (old.Files != "" || len(m.Files) == 0 || m.Revision != old.Revision) {
				continue
			}
			m, storable := erased.storable(m)
			if !storable {
				continue
			}
			m.Revision = "" // the edit's own event has not arrived
			m.Files = chat.WithTranscripts(m.Files, old.message().Files)
			row, err := newMessageRow(m, false, s.nowMicros())
			if err != nil {
				return err
			}
			if told {
				files, now := row.Files, row.StoredUS
				row = old
				row.Files, row.StoredUS = files, now
			}
			var written *gorm.DB
			switch {
			case ok && row.sameContent(old):
				continue
			case ok:
				if err := unindex(tx, row.TeamID, row.ChannelID, row.TS); err != nil {
					return err
				}
				written = tx.Save(&row)
			default:
				// An event of the message may have arrived since the query above.
				written = tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
			}
			if written.Error != nil {
				return written.Error
			}
			if written.RowsAffected > 0 && row.SentUS > newest.SentUS {
				newest = row
			}
		}
		if newest.TS == "" {
			return nil
		}
		return saveActivity(tx, newest)
	})
	if err != nil {
		return fmt.Errorf("save %d messages of %s: %w", len(read), read[0].Channel, err)
	}
	return nil
}

// attribute tells which of some messages of one channel people wrote through apps, as far as is known who is a person.
func (s *Store) attribute(ctx context.Context, read []chat.Message) ([]chat.Message, error) {
	var ids []string
	for _, m := range read {
		if m.NamesUserAndApp() {
			ids = append(ids, m.UserID)
		}
	}
	if len(ids) == 0 {
		return read, nil
	}
	known, err := s.Users(ctx, read[0].Team, ids)
	if err != nil {
		return nil, err
	}
	read = slices.Clone(read)
	for i, m := range read {
		if m.NamesUserAndApp() && known[m.UserID].Person() {
			read[i] = m.ByPerson()
		}
	}
	return read, nil
}

// Message is a message's current state, or ErrNotFound.
func (s *Store) Message(ctx context.Context, team, channel, ts string) (chat.Message, error) {
	var rows []messageRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND ts = ?", team, channel, ts).
		Find(&rows).Error; err != nil {
		return chat.Message{}, fmt.Errorf("read message %s in %s: %w", ts, channel, err)
	}
	if len(rows) == 0 {
		return chat.Message{}, fmt.Errorf("message %s in %s: %w", ts, channel, ErrNotFound)
	}
	return rows[0].message(), nil
}

// countAtMost counts the messages that a query finds, newest first, up to limit.
func countAtMost(db, query *gorm.DB, limit int) (n int, err error) {
	newest := query.Select("sent_us").Order("sent_us DESC").Limit(limit)
	err = db.Raw("SELECT COUNT(*) FROM (?) newest", newest).Scan(&n).Error
	return n, err
}

// absentParents is the parents' ts of threads that have replies in rows while the parent is
// missing.
func absentParents(rows []messageRow) []string {
	there := map[string]bool{"": true}
	for _, r := range rows {
		there[r.TS] = true
	}
	var absent []string
	for _, r := range rows {
		if !there[r.ThreadTS] {
			there[r.ThreadTS] = true
			absent = append(absent, r.ThreadTS)
		}
	}
	return absent
}

// Tail is the newest messages of a conversation, at most limit, in order of time and without
// deleted ones. A thread's parent is included if the limit leaves room.
func (s *Store) Tail(ctx context.Context, c chat.Conversation, limit int) ([]chat.Message, error) {
	db := s.db.WithContext(ctx)
	var rows []messageRow
	err := db.Where("team_id = ? AND channel_id = ? AND thread_ts = ? AND NOT deleted", c.Team, c.Channel, c.Thread).
		Order("sent_us DESC").Limit(limit).Find(&rows).Error
	if err == nil && !c.TopLevel() && len(rows) < limit {
		var parent []messageRow
		parent, err = byTS(db, c, c.Thread)
		rows = append(rows, parent...)
	}
	if err != nil {
		return nil, fmt.Errorf("read newest messages of %s: %w", c.ID(), err)
	}
	slices.Reverse(rows)
	return messages(rows), nil
}
