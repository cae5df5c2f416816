package store

import (
	"errors"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

const (
	// readTogether is how long after a message a judgment of its conversation is taken to be about
	// it, and a judged reply to answer it: a trigger is only the newest of the messages that are
	// judged together.
	readTogether = time.Hour
	// maxHeld is the age up to which something may still be done about a message. Conversations are
	// told that such messages are gone, as if the person had deleted them in Slack.
	maxHeld = 24 * time.Hour
	// noMessage is the ts of no message. Marked as forgotten, it excludes nothing from memories, but
	// a run that began before begins again (ErrOverruled).
	noMessage = "0"
)

func (e *eraser) messages(h holding) error {
	wrote, err := wroteSince(e.db, e.Person)
	if err != nil {
		return err
	}
	stored, err := e.channelsIn(h.table, e.Team)
	if err != nil {
		return err
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(stored, maps.Keys(wrote))))) {
		if err := e.channel(chat.Conversation{Team: e.Team, Channel: id}, wrote[id]); err != nil {
			return err
		}
	}
	return nil
}

// channel erases a person from a channel's messages and memories. since is when they wrote the first message that was
// deleted for its age; zero if none was. The id goes last: until then another run finds what is left to do by it.
func (e *eraser) channel(c chat.Conversation, since time.Time) error {
	said := part{table: "messages", by: along{"ts", ""},
		within: where("team_id = ? AND channel_id = ? AND sent_us <= ?", c.Team, c.Channel, e.until)}
	match := where("user_id = ? OR "+e.contains("text")+" OR own AND text <> '' AND ? <> '' AND "+e.contains("text"),
		e.User, e.User, e.name, e.name)
	if c.Direct() {
		var theirs int64
		if err := said.of(e.db, where("user_id = ?", e.User)).Count(&theirs).Error; err != nil {
			return err
		}
		if theirs > 0 { // all of it is between the bot and them
			match = where("text <> '' OR user_id = ?", e.User)
		}
	}
	if err := sweep(e.sweeper, said, match, func(tx *gorm.DB, rows []messageRow) (int, error) {
		var theirs, gone []messageRow
		for _, r := range rows {
			switch {
			case r.UserID == e.User:
				theirs, gone = append(theirs, r), append(gone, r)
			case c.Direct() || r.Own && e.names(r.Text):
				gone = append(gone, r)
			case !r.Own:
				r.Text = withoutUser(r.Text, e.User)
				if err := ofMessage(tx, r).Update("text", r.Text).Error; err != nil {
					return 0, err
				}
				if err := e.reindex(tx, r); err != nil {
					return 0, err
				}
			}
		}
		if len(theirs) > 0 && (since.IsZero() || instant(theirs[0].SentUS).Before(since)) {
			since = instant(theirs[0].SentUS)
		}
		if err := e.blank(tx, c, timestamps(gone)); err != nil {
			return 0, err
		}
		return len(rows), e.withdraw(tx, c, theirs)
	}); err != nil || since.IsZero() {
		return err
	}
	if err := e.transaction(e.ctx, func(tx *gorm.DB) error {
		return e.forgetIn(tx, forgetting{
			scope: chat.Scope{Team: c.Team, Channel: c.Channel}, ts: []string{noMessage}, from: since, by: e.by,
		}, &ForgetResult{})
	}); err != nil {
		return err
	}
	if err := e.lookups(c, since); err != nil {
		return err
	}
	if err := e.db.Delete(&writerRow{TeamID: c.Team, UserID: e.User, ChannelID: c.Channel}).Error; err != nil {
		return err
	}
	return sweep(e.sweeper, said, where("user_id = ?", e.User), func(tx *gorm.DB, rows []messageRow) (int, error) {
		return len(rows), e.blank(tx, c, timestamps(rows), "user_id")
	})
}

func timestamps(rows []messageRow) []string {
	return mapRows(rows, func(r messageRow) string { return r.TS })
}

func ofMessage(tx *gorm.DB, r messageRow) *gorm.DB {
	return tx.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts = ?", r.TeamID, r.ChannelID, r.TS)
}

// blank takes away what messages said, as if they had been deleted, and empties the columns also.
// The rows stay, so that nothing brings the texts back.
func (s *Store) blank(tx *gorm.DB, c chat.Conversation, ts []string, also ...string) error {
	if len(ts) == 0 {
		return nil
	}
	update := map[string]any{"text": "", "files": "", "name": "", "revision": "", "deleted": true, "handled": true}
	for _, column := range also {
		update[column] = ""
	}
	if err := tx.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts IN ?", c.Team, c.Channel, ts).
		Updates(update).Error; err != nil {
		return err
	}
	return errors.Join(unindex(tx, c.Team, c.Channel, ts...), s.dropWith(tx, c.Team, c.Channel, ts...))
}

// isForgotten is the condition that a message was a forgotten person's.
const isForgotten = "deleted AND user_id = '' AND bot_id = '' AND NOT own"

// withdraw takes back what was judged together with some of their messages, and tells the
// conversations that recent ones are gone.
func (e *eraser) withdraw(tx *gorm.DB, c chat.Conversation, theirs []messageRow) error {
	spans := map[string][][2]int64{} // from and to, by workflow id
	for _, r := range theirs {       // in order of time
		id := chat.Conversation{Team: c.Team, Channel: c.Channel, Thread: r.ThreadTS}.ID()
		span := [2]int64{r.SentUS, r.SentUS + readTogether.Microseconds()}
		if of := spans[id]; len(of) > 0 && of[len(of)-1][1] >= span[0] {
			of[len(of)-1][1] = span[1]
		} else {
			spans[id] = append(of, span)
		}
		if r.SentUS < e.nowMicros()-maxHeld.Microseconds() {
			continue
		}
		told := []string{id, chat.Conversation{Team: c.Team, Channel: c.Channel, Thread: r.TS}.ID()}
		if err := tx.Exec(`
			INSERT INTO changes (workflow_id, team_id, ts, sent_us, kind, stored_us)
			SELECT DISTINCT workflow_id, CAST(? AS TEXT), ts, sent_us, 'deleted', CAST(? AS BIGINT) FROM changes
			WHERE workflow_id IN ? AND ts = ? AND kind <> 'deleted' ON CONFLICT DO NOTHING`, c.Team, e.nowMicros(), told,
			r.TS).Error; err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(spans)) {
		for _, span := range spans[id] {
			var judged []Decision
			if err := tx.Where("workflow_id = ? AND decided_us >= ? AND decided_us <= ? AND source = 'judgment' AND "+
				"reason <> ?",
				id, span[0], span[1], aboutForgotten).Find(&judged).Error; err != nil {
				return err
			}
			for _, d := range judged {
				var replies []outboxRow
				if err := tx.Where("team_id = ? AND channel_id = ? AND trigger_ts = ? AND decision = ?", c.Team,
					c.Channel, d.TriggerTS, d.Key).Find(&replies).Error; err != nil {
					return err
				}
				if err := e.blankReplies(tx, replies); err != nil {
					return err
				}
				if err := blankDecisions(tx, d.Key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (e *eraser) reactions(h holding) error {
	return e.inChannels(h, e.Team, func(p part) error {
		return e.remove(p, where("user_id = ? AND added_us <= ? AND removed_us <= ?", e.User, e.until, e.until))
	})
}
