package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// seenFrom is the one condition on the channels c that lets a reader in a channel, or
// with here empty the workspace itself, know what they hold and what they are called:
// a channel is seen from inside, and from everywhere if Slack has said that it is
// public. What Slack was never asked about may be private.
//
// Whatever reads of one channel for another goes through here.
func seenFrom(here string) clause.Expr {
	return clause.Expr{SQL: "(c.channel_id = ? OR c.refreshed_us > 0 AND NOT c.private)", Vars: []any{here}}
}

// present is the condition on the channels c that the bot takes part in them.
const present = "(c.member AND NOT c.archived)"

// ChannelKnowledge is a channel with the memories in force; the ids are 0 where there is none.
type ChannelKnowledge struct {
	chat.ChannelMemory
	LongID, ShortID int64
	// Active is about when the newest message in it was sent: up to a minute earlier,
	// and though it may have been deleted since. The zero time for never.
	Active time.Time
}

// Knowledge is what memory holds for a reader.
type Knowledge struct {
	// Channels are those Active since a time that the reader may know of, and the
	// reader's own, the most recently active first; those that the bot has left and
	// archived ones are not among them, but for the reader's own. Beside the reader's own
	// there are the first so many, and the memories of fewer.
	Channels []ChannelKnowledge
	// Unlisted is how many more channels there are, Untold how many have a memory that was left out.
	Unlisted, Untold int
}

// Knowledge is what a reader in a channel may know, or with here empty the workspace
// itself: a private channel is known only inside it. active is compared with Active. The
// workspace does not know what was remembered before its own memory was forgotten. There
// are that many channels at most, and the memories of the first most of them.
func (s *Store) Knowledge(ctx context.Context, team, here string, active time.Time, channels, most int) (Knowledge, error) {
	var rows []knownRow
	if err := together(s.db.WithContext(ctx), known(team, here, active, channels, most, &rows)); err != nil {
		return Knowledge{}, fmt.Errorf("read what is known of channels: %w", err)
	}
	return knowledge(rows), nil
}

// knownRow is a channel of Knowledge; of memories that are not told there is the id alone.
// Total is of how many it is one, and Untold how many of them have memories that are not told.
type knownRow struct {
	ChannelID string `json:"channel_id"`
	Name      string `json:"name"`
	ActiveUS  int64  `gorm:"column:active_us" json:"active_us"`
	LongID    int64  `json:"long_id"`
	ShortID   int64  `json:"short_id"`
	LongTerm  string `json:"long_term"`
	ShortTerm string `json:"short_term"`
	Total     int    `json:"total"`
	Untold    int    `json:"untold"`
}

// known asks for Knowledge: for that many channels, and the memories of the first most.
// What is remembered of a channel is not told without its name.
func known(team, here string, active time.Time, channels, most int, into *[]knownRow) query {
	remembered, lost := "", []any(nil)
	if here == "" {
		remembered = " AND m.made_us > (SELECT COALESCE(MAX(f.until_us), 0) FROM forgotten f WHERE f.team_id = ? AND f.channel_id = '')"
		lost = []any{team}
	}
	return query{fmt.Sprintf(`
		WITH k AS MATERIALIZED (
			SELECT c.channel_id, c.name, c.active_us, s.long_id, s.short_id FROM channels c
			LEFT JOIN memory_scopes s ON s.team_id = c.team_id AND s.channel_id = c.channel_id AND s.thread_ts = ''
			WHERE c.team_id = ? AND (`+present+` AND c.active_us >= ? OR c.channel_id = ?) AND ?
		), told AS (
			SELECT * FROM (SELECT channel_id, long_id, short_id FROM k ORDER BY active_us DESC, channel_id LIMIT %[1]d) n
			UNION SELECT channel_id, long_id, short_id FROM k WHERE channel_id = ?
		)
		SELECT n.channel_id, n.name, n.active_us, n.long_id, n.short_id, t.long_term, t.short_term, (SELECT COUNT(*) FROM k) AS total,
			(SELECT COUNT(*) FROM k WHERE COALESCE(long_id, short_id) IS NOT NULL AND channel_id NOT IN (SELECT channel_id FROM told)) AS untold
		FROM (
			SELECT * FROM (SELECT * FROM k ORDER BY active_us DESC, channel_id LIMIT %[3]d) n
			UNION SELECT * FROM k WHERE channel_id = ?
		) n LEFT JOIN (
			SELECT t.channel_id, (SELECT m.text FROM memories m WHERE m.id = t.long_id%[2]s) AS long_term,
				(SELECT m.text FROM memories m WHERE m.id = t.short_id%[2]s) AS short_term
			FROM told t
		) t ON t.channel_id = n.channel_id
		ORDER BY n.active_us DESC, n.channel_id`, most, remembered, max(channels, most)),
		slices.Concat([]any{team, max(1, stamp(active)), here, seenFrom(here), here, here}, lost, lost), into}
}

// knowledge is what rows of known tell a reader.
func knowledge(rows []knownRow) (k Knowledge) {
	k.Channels = make([]ChannelKnowledge, len(rows))
	for i, r := range rows {
		c := &k.Channels[i]
		c.ChannelMemory = chat.ChannelMemory{ChannelID: r.ChannelID, ChannelName: r.Name, LongTerm: r.LongTerm, ShortTerm: r.ShortTerm}
		c.Active = moment(r.ActiveUS)
		if r.LongTerm != "" {
			c.LongID = r.LongID
		}
		if r.ShortTerm != "" {
			c.ShortID = r.ShortID
		}
	}
	k.Unlisted, k.Untold = first(rows).Total-len(rows), first(rows).Untold
	return k
}
