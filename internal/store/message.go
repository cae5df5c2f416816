package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

type messageRow struct {
	TeamID    string `gorm:"primaryKey"`
	ChannelID string `gorm:"primaryKey"`
	TS        string `gorm:"primaryKey;column:ts"`
	SentUS    int64  `gorm:"column:sent_us"`
	ThreadTS  string `gorm:"column:thread_ts"`
	UserID    string
	BotID     string
	Own       bool
	Name      string
	Text      string
	Files     string
	Revision  string
	Deleted   bool
	Handled   bool
	StoredUS  int64 `gorm:"column:stored_us"`
}

func (messageRow) TableName() string { return "messages" }

func (r messageRow) message() chat.Message {
	m := chat.Message{
		Team: r.TeamID, Channel: r.ChannelID, TS: r.TS, ThreadTS: r.ThreadTS,
		UserID: r.UserID, BotID: r.BotID, Own: r.Own, Name: r.Name, Text: r.Text,
		Revision: r.Revision, Deleted: r.Deleted,
	}
	if r.Files != "" {
		// Written by newMessageRow: it cannot fail, and a message without its files is better than none.
		_ = json.Unmarshal([]byte(r.Files), &m.Files)
	}
	return m
}

// says reports whether both rows of one message say the same, so that the newer
// one is no news to who has read the older.
func (r messageRow) says(old messageRow) bool {
	r.StoredUS, r.Handled = old.StoredUS, old.Handled
	return r == old
}

func newMessageRow(m chat.Message, handled bool, now int64) (messageRow, error) {
	r := messageRow{
		TeamID: m.Team, ChannelID: m.Channel, TS: m.TS, SentUS: micros(m.Time()), ThreadTS: m.ThreadTS,
		UserID: m.UserID, BotID: m.BotID, Own: m.Own, Name: m.Name, Text: m.Text,
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

// latest is the newest messages of a conversation itself before an instant, the
// newest first: in a thread, its parent included where the limit leaves room.
func latest(db *gorm.DB, c chat.Conversation, before int64, limit int) ([]messageRow, error) {
	var rows []messageRow
	if err := db.Where("team_id = ? AND channel_id = ? AND thread_ts = ? AND sent_us < ? AND NOT deleted",
		c.Team, c.Channel, c.Thread, before).Order("sent_us DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, err
	}
	if c.TopLevel() || len(rows) >= limit {
		return rows, nil
	}
	parent, err := byTS(db, c, c.Thread)
	return append(rows, parent...), err
}

// byTS is those messages of a conversation's channel that have one of the ts and are not deleted.
func byTS(db *gorm.DB, c chat.Conversation, ts ...string) (rows []messageRow, err error) {
	err = db.Where("team_id = ? AND channel_id = ? AND ts IN ? AND NOT deleted", c.Team, c.Channel, ts).Find(&rows).Error
	return rows, err
}

func messages(rows []messageRow) []chat.Message {
	out := make([]chat.Message, len(rows))
	for i, r := range rows {
		out[i] = r.message()
	}
	return out
}

// Remember keeps messages of one channel as they were read from Slack's history:
// they are seen and not handled, so that their own events, when they come, are still
// news: so is an edit, whose text may be there already. What an event has brought
// stays as it is.
func (s *Store) Remember(ctx context.Context, read []chat.Message) error {
	if len(read) == 0 {
		return nil
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
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
		var newest messageRow
		for _, m := range read {
			old, ok := known[m.TS]
			if ok && (old.Deleted || old.Handled || old.Revision != "") {
				continue
			}
			m.Revision = "" // the edit itself has not been heard of
			row, err := newMessageRow(m, false, s.nowMicros())
			if err != nil {
				return err
			}
			var written *gorm.DB
			switch {
			case ok && row.says(old):
				continue
			case ok:
				written = tx.Save(&row)
			default:
				// An event of the message may have come since the look above.
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
		return active(tx, newest)
	})
	if err != nil {
		return fmt.Errorf("keep %d messages of %s: %w", len(read), read[0].Channel, err)
	}
	return nil
}

// Message is one message as it stands, or ErrNotFound.
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

// Recent is the newest messages of a conversation, at most limit, the newest of
// its channel, threads included, at most around, and the parents of their
// threads, in no order and some of them twice; deleted ones are left out. omitted
// is how many earlier ones of the conversation there are, up to chat.CountAtMost.
func (s *Store) Recent(ctx context.Context, c chat.Conversation, limit, around int) (recent []chat.Message, omitted int, err error) {
	db := s.db.WithContext(ctx)
	var rows []messageRow
	if err := db.Raw(`
		SELECT * FROM (SELECT * FROM messages WHERE team_id = ? AND channel_id = ? AND thread_ts = ? AND NOT deleted
			ORDER BY sent_us DESC LIMIT ?) own
		UNION ALL
		SELECT * FROM (SELECT * FROM messages WHERE team_id = ? AND channel_id = ? AND NOT deleted
			ORDER BY sent_us DESC LIMIT ?) around`,
		c.Team, c.Channel, c.Thread, limit, c.Team, c.Channel, around).Scan(&rows).Error; err != nil {
		return nil, 0, fmt.Errorf("read messages of %s: %w", c.ID(), err)
	}
	if absent := absentParents(rows, c.Thread); len(absent) > 0 {
		parents, err := byTS(db, c, absent...)
		if err != nil {
			return nil, 0, fmt.Errorf("read parents of threads in %s: %w", c.ID(), err)
		}
		rows = append(rows, parents...)
	}
	shown := map[string]bool{}
	for _, r := range rows {
		if r.ThreadTS == c.Thread {
			shown[r.TS] = true
		}
	}
	if len(shown) >= limit {
		all, err := countAtMost(db, db.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND thread_ts = ? AND NOT deleted",
			c.Team, c.Channel, c.Thread), chat.CountAtMost+len(shown))
		if err != nil {
			return nil, 0, fmt.Errorf("count messages of %s: %w", c.ID(), err)
		}
		omitted = max(0, all-len(shown)) // what is said meanwhile is counted and not read
	}
	return messages(rows), omitted, nil
}

// countAtMost is how many messages a query finds, counted from the newest and no
// further than limit.
func countAtMost(db, query *gorm.DB, limit int) (n int, err error) {
	newest := query.Select("sent_us").Order("sent_us DESC").Limit(limit)
	err = db.Raw("SELECT COUNT(*) FROM (?) newest", newest).Scan(&n).Error
	return n, err
}

// absentParents is the ts of threads whose replies are among the rows, and of one
// more unless it is "", as far as the parents are not among them.
func absentParents(rows []messageRow, thread string) []string {
	there := map[string]bool{"": true}
	for _, r := range rows {
		there[r.TS] = true
	}
	var absent []string
	add := func(ts string) {
		if !there[ts] {
			there[ts] = true
			absent = append(absent, ts)
		}
	}
	add(thread)
	for _, r := range rows {
		add(r.ThreadTS)
	}
	return absent
}

// Tail is the newest messages of a conversation that are not deleted, at most
// limit, in order of time.
func (s *Store) Tail(ctx context.Context, c chat.Conversation, limit int) ([]chat.Message, error) {
	rows, err := latest(s.db.WithContext(ctx), c, math.MaxInt64, limit)
	if err != nil {
		return nil, fmt.Errorf("read newest messages of %s: %w", c.ID(), err)
	}
	slices.Reverse(rows)
	return messages(rows), nil
}
