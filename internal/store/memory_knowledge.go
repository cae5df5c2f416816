package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// public is the condition that anybody may know a channel c and what is in it: Slack has said that
// it is public. A channel that Slack was never asked about may be private.
const public = "(c.refreshed_us > 0 AND NOT c.private)"

// notShared is the condition that only the workspace's own people read a team's channel; with the
// channel empty it holds for the workspace. Outsiders cannot join public channels: people of other
// companies or workspaces, and guests.
func notShared(team, channel string) clause.Expr {
	return clause.Expr{SQL: `(
		NOT EXISTS (SELECT 1 FROM channels h WHERE h.team_id = ? AND h.channel_id = ? AND (h.external OR h.org_shared))
		AND NOT EXISTS (SELECT 1 FROM outsiders o WHERE o.team_id = ? AND o.channel_id = ? AND ` + present + `))`,
		Vars: []any{team, channel, team, channel}}
}

// seenFrom is the condition that a reader in the channel here may know a channel c. With here
// empty the reader is the workspace itself. A channel is visible inside itself. A public channel is
// also visible everywhere except in channels that outsiders read.
//
// Every query that reads one channel for another uses this condition, or reads public channels
// only.
func seenFrom(team, here string) clause.Expr {
	return clause.Expr{SQL: "(c.channel_id = ? OR " + public + " AND ?)", Vars: []any{here, notShared(team, here)}}
}

// joined is the condition that the bot is in a channel c that is not archived.
const joined = "(c.member AND NOT c.archived)"

// ChannelKnowledge is a channel with its current memories; an id is 0 if there is no memory.
type ChannelKnowledge struct {
	chat.ChannelMemory
	LongID, ShortID int64
	// Active is about when the newest message was sent: at most a minute earlier, and even if that
	// message was deleted since. It is zero if there never was one.
	Active time.Time
}

// Knowledge is the memories of channels that a reader may know.
type Knowledge struct {
	// Channels are the reader's own channel and the first of the others that the reader may know
	// and that were active since a time, the most recently active first. The bot's former channels
	// and archived ones are left out, except the reader's own. Not all of them come with their
	// memories.
	Channels []ChannelKnowledge
	// Unlisted is how many more channels there are, up to chat.CountAtMost. Untold is how many of
	// Channels have a memory that was left out.
	Unlisted, Untold int
}

// Knowledge is what a reader in the channel here may know about channels (seenFrom). With here
// empty the reader is the workspace's own memory, which must not contain anything remembered before
// it was last forgotten. active limits the channels by Active. At most channels are returned, and
// the memories of the first most of them.
func (s *Store) Knowledge(
	ctx context.Context, team, here string, active time.Time, channels, most int,
) (Knowledge, error) {
	var rows []knowledgeRow
	if err := runBatch(s.db.WithContext(ctx), s.knowledgeQuery(team, here, active, channels, most, &rows)); err != nil {
		return Knowledge{}, fmt.Errorf("read what is known of channels: %w", err)
	}
	return newKnowledge(rows, here), nil
}

// knowledgeRow is a channel of Knowledge. Untold is 1 if it has a memory that was left out. Others
// is how many channels there are besides the reader's own, as far as they are counted.
type knowledgeRow struct {
	ChannelID string `json:"channel_id"`
	Name      string `json:"name"`
	ActiveUS  int64  `json:"active_us"`
	LongID    int64  `json:"long_id"`
	ShortID   int64  `json:"short_id"`
	LongTerm  string `json:"long_term"`
	ShortTerm string `json:"short_term"`
	Untold    int    `json:"untold"`
	Others    int    `json:"others"`
}

const (
	// knownChannels asks for Knowledge. It uses indexes throughout, since there may be thousands of
	// public channels. A memory is only returned together with its channel's name.
	knownChannels = `
		WITH listed AS MATERIALIZED (
			SELECT n.*, n.channel_id = @here OR ROW_NUMBER() OVER (ORDER BY n.active_us DESC, n.channel_id) <= @most AS told FROM (
				SELECT * FROM (SELECT c.channel_id, c.name, c.active_us, @withheld AS withheld ` + fromOthers + ` ORDER BY c.active_us DESC, c.channel_id LIMIT @channels) latest
				UNION SELECT c.channel_id, c.name, c.active_us, @withheld AS withheld FROM channels c WHERE c.team_id = @team AND c.channel_id = @here
			) n
		), k AS MATERIALIZED (
			SELECT s.channel_id, s.long_id, s.short_id FROM memory_scopes s
			WHERE s.team_id = @team AND s.thread_ts = '' AND s.channel_id @told
		)
		SELECT n.channel_id, n.name, n.active_us, k.long_id, k.short_id,
			CASE WHEN n.told THEN (SELECT m.text FROM memories m WHERE m.id = k.long_id @made_later) END AS long_term,
			CASE WHEN n.told THEN (SELECT m.text FROM memories m WHERE m.id = k.short_id @made_later) END AS short_term,
			CASE WHEN NOT n.told AND COALESCE(k.long_id, k.short_id) IS NOT NULL THEN 1 END AS untold,
			(SELECT COUNT(*) FROM (SELECT 1 ` + fromOthers + ` AND c.channel_id <> @here LIMIT @counted) o) AS others
		FROM listed n LEFT JOIN k ON k.channel_id = n.channel_id
		ORDER BY n.active_us DESC, n.channel_id`

	// fromOthers are the active channels c that readers elsewhere may know.
	fromOthers = "FROM channels c WHERE c.team_id = @team AND c.active_us >= @active AND " + joined + " AND " + public +
		" AND @not_shared"
)

// knowledgeQuery asks for Knowledge.
func (s *Store) knowledgeQuery(team, here string, active time.Time, channels, most int, into *[]knowledgeRow) query {
	channels = max(channels, most)
	var madeLater clause.Expr
	if here == "" {
		madeLater = clause.Expr{SQL: "AND m.made_us > (SELECT COALESCE(MAX(f.until_us), 0) FROM forgotten f " +
			"WHERE f.team_id = ? AND f.channel_id = '')", Vars: []any{team}}
	}
	return named(knownChannels, into, map[string]any{
		"team": team, "here": here, "active": max(1, microsOrZero(active)), "not_shared": notShared(team, here),
		"withheld": s.withheldFrom(here), "made_later": madeLater, "most": verbatim(most), "channels": verbatim(channels),
		"counted": verbatim(channels + chat.CountAtMost),
		"told":    verbatim(s.inSubselect("SELECT channel_id FROM listed WHERE NOT withheld")),
	})
}

// newKnowledge is the Knowledge in rows.
func newKnowledge(rows []knowledgeRow, here string) (k Knowledge) {
	k.Channels = make([]ChannelKnowledge, len(rows))
	listed := 0
	for i, r := range rows {
		c := &k.Channels[i]
		c.ChannelMemory = chat.ChannelMemory{ChannelID: r.ChannelID, ChannelName: r.Name, LongTerm: r.LongTerm,
			ShortTerm: r.ShortTerm}
		c.Active = instantOrZero(r.ActiveUS)
		if r.LongTerm != "" {
			c.LongID = r.LongID
		}
		if r.ShortTerm != "" {
			c.ShortID = r.ShortID
		}
		k.Untold += r.Untold
		if r.ChannelID != here {
			listed++
		}
	}
	k.Unlisted = min(first(rows).Others-listed, chat.CountAtMost)
	return k
}

// Source names a channel's memory among the sources of a memory of the workspace, as in "C1/57".
// SourceChannel is its inverse for the channel.
func Source(channel string, id int64) string { return channel + "/" + strconv.FormatInt(id, 10) }

// SourceChannel is the channel of a source made by Source.
func SourceChannel(source string) string {
	channel, _, _ := strings.Cut(source, "/")
	return channel
}

// WorkspaceMemories is the workspace's memories as far as a reader in the channel here may know
// them; nil if there is none. With here empty the reader is anybody. If a memory was made from a
// channel that has become private since, or that is withheld now, only readers in that channel get
// it. Readers in channels that outsiders read get none.
func (s *Store) WorkspaceMemories(ctx context.Context, team, here string) (long, short *Memory, err error) {
	var rows []memoryRow
	if err := runBatch(s.db.WithContext(ctx), s.workspaceQuery(team, here, "m.sources", &rows)); err != nil {
		return nil, nil, fmt.Errorf("read memory of workspace %s: %w", team, err)
	}
	long, short = longAndShort(rows)
	return long, short, nil
}

// workspaceQuery asks for WorkspaceMemories. sources is the SQL expression for their sources: a
// large workspace has thousands, and a context needs none. Only channels that were public once can
// be among them, and few of those become private.
func (s *Store) workspaceQuery(team, here, sources string, into *[]memoryRow) query {
	return query{`
		SELECT m.id, m.term, m.text, m.made_us, ` + sources + ` AS sources FROM memory_scopes s JOIN memories m ON m.id IN (s.long_id, s.short_id)
		WHERE s.team_id = ? AND s.channel_id = '' AND s.thread_ts = '' AND ? AND NOT EXISTS (
			SELECT 1 FROM channels c WHERE c.team_id = ? AND c.converted_us > 0 AND NOT ? AND m.sources LIKE '%"' || c.channel_id || '/%'
		) AND NOT EXISTS (
			SELECT 1 FROM channels c WHERE c.team_id = ? AND ? AND m.sources LIKE '%"' || c.channel_id || '/%'
		)`, []any{team, notShared(team, here), team, seenFrom(team, here), team, s.withheldFrom(here)}, into}
}

// longAndShort separates the two memories of one scope; nil if there is none.
func longAndShort(rows []memoryRow) (long, short *Memory) {
	for _, r := range rows {
		m := r.memory()
		if m.Term == chat.LongTerm {
			long = &m
		} else {
			short = &m
		}
	}
	return long, short
}
