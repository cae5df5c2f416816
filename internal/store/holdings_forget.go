package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// ForgetPerson takes a person out of the database: the texts of all messages of theirs; whatever was
// remembered or looked up in their channels since they first wrote there, and in the workspace from that; the
// replies to them and those that name them; what the ledger says of them; what they asked for; reactions, and the id
// wherever it stands. What others asked for and decided stays. The display name goes from what models wrote. The rows
// of messages stay without text and author, as those of deleted messages, so that Slack's history brings nothing back.
// What the person writes later is stored as ever.
//
// It works in small transactions and tells step after each; a zero step is not allowed. It may be
// killed at any time, and ends the same when it is repeated. Its order is recorded at the end, without
// the id. by is who ordered it; a repeated id records nothing more.
func (s *Store) ForgetPerson(ctx context.Context, p chat.Person, by, id string, step SweepStep) error {
	e := eraser{sweeper: s.sweeper(ctx, step), Person: p, by: by}
	if by == e.orderedBy() {
		e.by = orderedByNobody
	}
	err := e.begin()
	for _, h := range holdings {
		if err == nil && h.forget != nil {
			err = h.forget(&e, h)
		}
	}
	if err == nil {
		_, err = e.insertOrder(e.db, Order{ID: id, Scope: chat.Scope{Team: e.Team}, Kind: "forget-person", By: e.by})
	}
	if err != nil {
		return fmt.Errorf("forget a person: %w", err)
	}
	return nil
}

// eraser is one run of ForgetPerson.
type eraser struct {
	sweeper
	chat.Person
	name string // display name, or empty
	by   string
	// until is when the run began: what came later stays.
	until int64
}

// orderedBy is the person as orders name them.
func (e *eraser) orderedBy() string { return orderedByUser(e.User) }

func orderedByUser(user string) string { return "slack:" + user }

// begin marks the person, so that Slack's history brings nothing back from here on.
func (e *eraser) begin() error {
	var rows []userRow
	if err := e.db.Where("team_id = ? AND user_id = ?", e.Team, e.User).Find(&rows).Error; err != nil {
		return err
	}
	e.name, e.until = first(rows).Name, e.nowMicros()
	return markErased(e.db, erasedRow{TeamID: e.Team, Person: PersonKey(e.Person), UntilUS: e.until})
}

// names reports whether a text names the person, by id or display name.
func (e *eraser) names(text string) bool { return e.anonymous(text) != text }

// anonymous is a text without the person's id and display name. It is for what models wrote: in
// what people wrote, a name may be any word.
func (e *eraser) anonymous(text string) string {
	text = withoutUser(text, e.User)
	if len([]rune(e.name)) > 1 {
		text = replaceWord(text, e.name, nobody)
	}
	return text
}

// mentioned is the condition that one of some columns may name the person.
func (e *eraser) mentioned(columns ...string) condition {
	var parts []string
	var args []any
	for _, c := range columns {
		parts, args = append(parts, e.contains(c), "? <> '' AND "+e.contains(c)), append(args, e.User, e.name, e.name)
	}
	return where(strings.Join(parts, " OR "), args...)
}

// rows deletes the person's own rows, and takes the person out of the others.
func (e *eraser) rows(h holding) error {
	match := h.ofPerson(e.User)
	if len(h.texts) > 0 {
		match = match.or(e.mentioned(h.texts...))
	}
	match = match.and(whereNamed(h.reach, map[string]any{"team": e.Team, "until": e.until}))
	return sweep(e.sweeper, h.whole(), match, func(tx *gorm.DB, rows []map[string]any) (int, error) {
		for _, r := range rows {
			row := tx.Table(h.table).Where(h.key.column+" = ?", r[h.key.column])
			if r[h.author] == e.User {
				row = row.Delete(nil)
			} else {
				row = row.Updates(e.without(h, r))
			}
			if row.Error != nil {
				return 0, row.Error
			}
		}
		return len(rows), nil
	})
}

// hookEvents deletes the events that name the person.
func (e *eraser) hookEvents(h holding) error {
	match := e.mentioned("text").and(ofTeam(e.Team))
	return sweep(e.sweeper, h.whole(), match, func(tx *gorm.DB, rows []HookEvent) (gone int, err error) {
		for _, r := range rows {
			if err == nil && e.names(r.Text) {
				gone, err = gone+1, tx.Delete(&r).Error
			}
		}
		return gone, err
	})
}

// without is the columns of a row without the person.
func (e *eraser) without(h holding, row map[string]any) map[string]any {
	update := map[string]any{}
	if row[h.person] == e.User {
		update[h.person] = ""
	}
	for _, by := range h.orderedBy {
		if row[by] == e.orderedBy() {
			update[by] = orderedByNobody
		}
	}
	for _, text := range h.texts {
		update[text] = e.anonymous(row[text].(string))
	}
	return update
}

func (e *eraser) users(h holding) error {
	gone := e.db.Where("team_id = ? AND user_id = ?", e.Team, e.User).Delete(&userRow{})
	if gone.Error != nil {
		return gone.Error
	}
	return e.step(h.table, int(gone.RowsAffected), int(gone.RowsAffected))
}

// outsiders is unnameOutsider in a transaction.
func (e *eraser) outsiders(holding) error { return e.transaction(e.ctx, e.unnameOutsider) }

// unnameOutsider takes the person's id out of the channels in which they count as an outsider. They may
// still read those, so somebody stays there until Slack next lists the members. Users are listed before
// that, to learn again that the person is a guest. In a direct message the next message tells.
func (e *eraser) unnameOutsider(tx *gorm.DB) error {
	of := func() *gorm.DB { return tx.Where("team_id = ? AND user_id = ?", e.Team, e.User) }
	if err := of().Where("channel_id LIKE 'D%'").Delete(&outsiderRow{}).Error; err != nil {
		return err
	}
	key := PersonKey(e.Person)
	// One may be left from when the person was forgotten before.
	if err := tx.Exec(`DELETE FROM outsiders WHERE team_id = ? AND user_id = ? AND channel_id IN (
		SELECT o.channel_id FROM outsiders o WHERE o.team_id = ? AND o.user_id = ?)`, e.Team, key, e.Team, e.User).
		Error; err != nil {
		return err
	}
	unnamed := of().Model(&outsiderRow{}).Update("user_id", key)
	if unnamed.Error != nil || unnamed.RowsAffected == 0 {
		return unnamed.Error
	}
	return tx.Model(&userRow{}).Where("team_id = ? AND is_bot", e.Team).Update("refreshed_us", 0).Error
}

// Forgotten is when a person was last forgotten; zero for never.
func (s *Store) Forgotten(ctx context.Context, p chat.Person) (time.Time, error) {
	var marks []erasedRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = '' AND person = ?", p.Team, PersonKey(p)).
		Find(&marks).Error; err != nil {
		return time.Time{}, fmt.Errorf("read when a person was forgotten: %w", err)
	}
	return instantOrZero(first(marks).UntilUS), nil
}
