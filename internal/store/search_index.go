package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/language/terms"
)

// searchRow is a message in the search index.
type searchRow struct {
	ID        int64  `gorm:"primaryKey;autoIncrement:false" json:"id"`
	TeamID    string `json:"team_id"`
	ChannelID string `json:"channel_id"`
	TS        string `json:"ts"`
	StoredUS  int64  `json:"stored_us"`
	Own       bool   `json:"own"`
	Length    int    `json:"length"`
	Terms     string `json:"terms"` // separated by spaces
}

func (searchRow) TableName() string { return "search" }

// searchState is the only row of its table; the migration makes it.
type searchState struct {
	ID         int `gorm:"primaryKey;autoIncrement:false"`
	CursorUS   int64
	Messages   int64
	Counted    int64
	MeanLength float64
}

func (searchState) TableName() string { return "search_state" }

// commonRow is a term that stands in many messages.
type commonRow struct {
	Term     string `gorm:"primaryKey"`
	Messages int64
}

func (commonRow) TableName() string { return "search_common" }

const (
	// Settled is how old a message's stored_us may be when it becomes visible: transactions take
	// their time, and the clocks of the programs that store messages differ.
	Settled = 2 * maxClockSkew
	// commonFrom is in how many messages a common term stands at least.
	commonFrom = 500
)

// channelTerm and authorTerm are the terms that stand for a message's channel and author. No word
// begins with these characters.
func channelTerm(id string) string { return "#" + id }
func authorTerm(id string) string  { return "@" + id }

func newSearchRow(m messageRow) searchRow {
	texts := []string{m.Text}
	for _, f := range m.message().Files {
		texts = append(texts, f.Name, f.Transcript.Text)
	}
	found, length := terms.Index(texts...)
	found = append(found, channelTerm(m.ChannelID))
	if author := cmp.Or(m.UserID, m.BotID); author != "" {
		found = append(found, authorTerm(author))
	}
	return searchRow{
		ID: m.SentUS, TeamID: m.TeamID, ChannelID: m.ChannelID, TS: m.TS, StoredUS: m.StoredUS, Own: m.Own,
		Length: length, Terms: strings.Join(found, " "),
	}
}

// unindexed ends a query of the messages m that were stored at a time (">= ?", say) and that the search index lacks in
// their present version. Deleted messages and forgotten ones do not belong there. Subselects make
// Postgres look up each message; it would join them with the whole index.
func unindexed(stored string) string {
	return ` FROM messages m WHERE m.stored_us ` + stored + ` AND NOT m.deleted
	AND COALESCE((SELECT x.stored_us FROM search x WHERE x.team_id = m.team_id AND x.channel_id = m.channel_id AND x.ts = m.ts), -1) <> m.stored_us
	AND ` + unforgotten + ` ORDER BY m.stored_us`
}

// IndexProgress is what a step of Index has done.
type IndexProgress struct {
	// Indexed is how many messages it has indexed.
	Indexed int
	// CaughtUp is set if nothing is left, or if another program is at work on it.
	CaughtUp bool
	// UpTo is when the last one of them was stored; zero if there was none.
	UpTo time.Time
}

// Index adds up to limit messages to the search index, those stored first first. It looks at what
// was stored since a time; with the zero time it continues where the steps before have ended, and
// saves how far it came. Call it until it has caught up, and then again every few seconds.
//
// Several programs may call it at once: one works, the others return. An edited message is indexed
// again.
func (s *Store) Index(ctx context.Context, since time.Time, limit int) (p IndexProgress, err error) {
	from := microsOrZero(since)
	if since.IsZero() {
		if err := s.db.WithContext(ctx).Model(&searchState{}).Select("cursor_us").Scan(&from).Error; err != nil {
			return p, fmt.Errorf("read how far messages are indexed: %w", err)
		}
	} else if first, err := firstUnindexed(s.db.WithContext(ctx), from, math.MaxInt64); err != nil {
		return p, fmt.Errorf("look for messages to index: %w", err)
	} else if first == math.MaxInt64 {
		return IndexProgress{CaughtUp: true}, nil
	}
	now := s.nowMicros()
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		p = IndexProgress{CaughtUp: true}
		state, err := s.searchTurn(tx)
		if err != nil || state == nil {
			return err
		}
		var rows []messageRow
		if err := tx.Raw("SELECT m.team_id, m.channel_id, m.ts, m.sent_us, m.user_id, m.bot_id, m.own, m.text, "+
			"m.files, m.stored_us"+unindexed(">= ?")+fmt.Sprintf(" LIMIT %d", limit)+s.sharedLock(), from).Scan(&rows).
			Error; err != nil {
			return err
		}
		p.Indexed, p.CaughtUp = len(rows), len(rows) < limit
		added, err := s.index(tx, rows)
		if err != nil {
			return err
		}
		state.Messages += added
		if len(rows) > 0 {
			p.UpTo = instant(rows[len(rows)-1].StoredUS)
		}
		if since.IsZero() {
			// What is left includes what others held just now.
			if state.CursorUS, err = firstUnindexed(tx, from, now-Settled.Microseconds()); err != nil {
				return err
			}
		}
		if state.Messages-state.Counted > state.Counted/20 {
			if err := s.countTerms(tx, state); err != nil {
				return err
			}
		}
		return tx.Save(state).Error
	})
	if err != nil {
		return IndexProgress{}, fmt.Errorf("index messages: %w", err)
	}
	return p, nil
}

// firstUnindexed is when the first message was stored since a time that the search index lacks, and
// at most a limit.
func firstUnindexed(db *gorm.DB, from, limit int64) (int64, error) {
	var first []int64
	err := db.Raw("SELECT m.stored_us"+unindexed("BETWEEN ? AND ?")+" LIMIT 1", from, limit).Scan(&first).Error
	return slices.Min(append(first, limit)), err
}

// searchTurn locks the index's state, so that one transaction at a time adds to the index; nil if
// another one does.
func (s *Store) searchTurn(tx *gorm.DB) (*searchState, error) {
	if s.sqlite == "" {
		tx = tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"})
	}
	var states []searchState
	if err := tx.Find(&states).Error; err != nil || len(states) == 0 {
		return nil, err
	}
	return &states[0], nil
}

// sharedLock makes a message stay as it is until it is in the index: whoever deletes it then sees
// its row there. It waits for nobody; what is being changed comes next time.
func (s *Store) sharedLock() string {
	if s.sqlite != "" {
		return ""
	}
	return " FOR SHARE OF m SKIP LOCKED"
}

// index writes rows for messages, and returns how many more the index has.
func (s *Store) index(tx *gorm.DB, messages []messageRow) (added int64, err error) {
	rows := mapRows(messages, newSearchRow)
	slices.SortFunc(rows, func(a, b searchRow) int { return cmp.Compare(a.ID, b.ID) })
	added = int64(len(rows))
	for first := true; len(rows) > 0; first = false {
		for i := range rows[1:] {
			rows[i+1].ID = max(rows[i+1].ID, rows[i].ID+1)
		}
		set, err := newRowset(tx, rows)
		if err != nil {
			return 0, err
		}
		if first { // what was indexed before an edit
			stale := tx.Exec(`DELETE FROM search WHERE id IN (SELECT x.id FROM `+set.sql+
				` JOIN search x ON x.team_id = q.team_id AND x.channel_id = q.channel_id AND x.ts = q.ts)`, set.arg)
			if stale.Error != nil {
				return 0, stale.Error
			}
			added -= stale.RowsAffected
		}
		columns := strings.Join(set.columns, ", ")
		values := strings.Replace(columns, "terms", s.termsValue("terms"), 1)
		var made []int64
		if err := tx.Raw(fmt.Sprintf("INSERT INTO search (%s) SELECT %s FROM %s WHERE TRUE ON CONFLICT (id) DO "+
			"NOTHING RETURNING id", columns, values, set.sql), set.arg).
			Scan(&made).Error; err != nil {
			return 0, err
		}
		isNew := make(map[int64]bool, len(made))
		for _, id := range made {
			isNew[id] = true
		}
		// Another message was sent in the same microsecond.
		rows = slices.DeleteFunc(rows, func(r searchRow) bool { return isNew[r.ID] })
		for i := range rows {
			rows[i].ID++
		}
	}
	return added, nil
}

// termsValue is the value of a row's terms in SQL, made of terms between spaces.
func (s *Store) termsValue(terms string) string {
	if s.sqlite != "" {
		return "' ' || " + terms + " || ' '"
	}
	return "array_to_tsvector(string_to_array(" + terms + ", ' '))"
}

// countTerms finds out which terms are common, by the newest messages.
func (s *Store) countTerms(tx *gorm.DB, state *searchState) error {
	if err := tx.Model(&searchRow{}).Count(&state.Messages).Error; err != nil {
		return err
	}
	text := "terms"
	if s.sqlite == "" {
		text = "array_to_string(tsvector_to_array(terms), ' ')"
	}
	var newest []searchRow
	if err := tx.Raw(fmt.Sprintf("SELECT id, length, %s AS terms FROM search ORDER BY id DESC LIMIT %d", text,
		newestMessages)).Scan(&newest).Error; err != nil {
		return err
	}
	length, counts := 0, map[string]int64{}
	for _, r := range newest {
		length += r.Length
		for _, term := range strings.Fields(r.Terms) {
			counts[term]++
		}
	}
	seen := max(1, int64(len(newest)))
	state.Counted, state.MeanLength = state.Messages, max(1, float64(length)/float64(seen))
	var common []commonRow
	for term, n := range counts {
		if all := n * state.Messages / seen; all >= commonFrom && !strings.ContainsRune("#@", rune(term[0])) {
			common = append(common, commonRow{Term: term, Messages: all})
		}
	}
	if err := tx.Where("TRUE").Delete(&commonRow{}).Error; err != nil || len(common) == 0 {
		return err
	}
	s.common.Store(nil)
	return tx.CreateInBatches(common, 500).Error
}

// unindex removes messages of a channel from the search index. Every transaction that changes or
// deletes a message calls it after the message's row is locked.
func unindex(tx *gorm.DB, team, channel string, ts ...string) error {
	return tx.Where("team_id = ? AND channel_id = ? AND ts IN ?", team, channel, ts).Delete(&searchRow{}).Error
}

// reindex indexes a message again whose text was changed by us, if it is in the search index.
func (s *Store) reindex(tx *gorm.DB, m messageRow) error {
	var there int64
	if err := tx.Model(&searchRow{}).Where("team_id = ? AND channel_id = ? AND ts = ?", m.TeamID, m.ChannelID, m.TS).
		Count(&there).Error; err != nil || there == 0 {
		return err
	}
	_, err := s.index(tx, []messageRow{m})
	return err
}

// unindexAbsent removes rows whose messages are gone from the search index, in the transaction that
// deleted these.
func unindexAbsent(tx *gorm.DB, some condition) error {
	return some.apply(tx).Where(`NOT EXISTS (
		SELECT 1 FROM messages m WHERE m.team_id = search.team_id AND m.channel_id = search.channel_id AND m.ts = search.ts
	)`).Delete(&searchRow{}).Error
}

// IndexState is how far the search index follows the messages.
type IndexState struct {
	// Messages is about how many messages it has.
	Messages int64
	// Oldest is when the first message was stored that it has yet to get; zero if it has all.
	Oldest time.Time
}

// IndexState reads how far the search index is.
func (s *Store) IndexState(ctx context.Context) (IndexState, error) {
	var row struct {
		Messages int64
		Oldest   *int64
	}
	if err := s.db.WithContext(ctx).Raw("SELECT t.messages, (SELECT m.stored_us" + unindexed(">= t.cursor_us") +
		" LIMIT 1) AS oldest FROM search_state t").
		Scan(&row).Error; err != nil {
		return IndexState{}, fmt.Errorf("read how far messages are indexed: %w", err)
	}
	state := IndexState{Messages: row.Messages}
	if row.Oldest != nil {
		state.Oldest = instant(*row.Oldest)
	}
	return state, nil
}

// forgetIndexed removes what is being forgotten from the search index, before anything else is
// locked. Nobody adds to the index until the transaction ends; whoever does then sees its marks.
func (s *Store) forgetIndexed(tx *gorm.DB, f forgetting) error {
	if f.scope.Workspace() {
		return nil // messages stay
	}
	var state searchState
	if err := s.locked(tx).Take(&state).Error; err != nil {
		return err
	}
	gone := tx.Model(&searchRow{}).Where("team_id = ? AND channel_id = ?", f.scope.Team, f.scope.Channel)
	switch {
	case len(f.ts) > 0:
		gone = gone.Where("ts IN ?", f.ts)
	case f.scope.Thread == "": // they are found and read without an index
		if err := tx.Where("team_id = ? AND channel_id = ?", f.scope.Team, f.scope.Channel).Delete(&HookEvent{}).
			Error; err != nil {
			return err
		}
	default:
		gone = gone.Where("ts = ? OR ts IN (?)", f.scope.Thread, tx.Model(&messageRow{}).Select("ts").
			Where("team_id = ? AND channel_id = ? AND thread_ts = ?", f.scope.Team, f.scope.Channel, f.scope.Thread))
	}
	gone = gone.Session(&gorm.Session{})
	var ids []int64
	if err := s.locked(gone).Order("ts").Pluck("id", &ids).Error; err != nil { // as rowKey demands
		return err
	}
	return gone.Delete(&searchRow{}).Error
}
