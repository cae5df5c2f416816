package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"myao/internal/chat"
)

// ContextRequest says what is read as the context of a conversation.
type ContextRequest struct {
	Conversation chat.Conversation
	// Messages is how many of the newest messages of the conversation are read, Around how
	// many of its channel, threads included.
	Messages, Around int
	// Active is since when a channel must have spoken to be known, Remembered since when
	// the memory of a thread must have been made.
	Active, Remembered time.Time
	// Channels and Threads are how many of their memories are read, the latest first, and
	// Named how many channels are read at all: no fewer than Channels.
	Channels, Threads, Named int
}

// Context is what the database holds for a conversation, as a reader in its channel may
// know it.
type Context struct {
	// Messages are those of the conversation, those around it, and the parents of their
	// threads, in no order; deleted ones are left out.
	Messages []chat.Message
	// Omitted is how many earlier ones of the conversation there are, up to chat.CountAtMost.
	Omitted int
	// Earlier are the threads around the conversation, by their ts, and "" for the top level,
	// that have earlier messages than these, all of them older than Since. Threads under the
	// messages of a top level are among them, of which no reply was read at all.
	Earlier []string
	Since   time.Time
	Knowledge
	// Long and Short are the memories of the workspace, without their sources; nil where
	// there is none that the reader may know.
	Long, Short *Memory
	// Threads are the memories of the channel's threads, by their ts; ThreadsUntold is how
	// many more there are, up to chat.CountAtMost.
	Threads       map[string]string
	ThreadsUntold int
}

// Context reads what there is for a conversation.
func (s *Store) Context(ctx context.Context, r ContextRequest) (Context, error) {
	c := r.Conversation
	var said []messageRow
	var counted []struct {
		Count int `json:"count"`
	}
	var earlier []earlierRow
	var channels []knowledgeRow
	var workspace []memoryRow
	var threads []struct {
		ThreadTS string `gorm:"column:thread_ts" json:"thread_ts"`
		Text     string `json:"text"`
		Total    int    `json:"total"`
	}
	if err := runBatch(s.db.WithContext(ctx),
		// As many as may be shown, and those that are left out. It is asked first, as is what is left out
		// around: nothing that is said before SQLite is asked for the rest is taken for left out.
		query{fmt.Sprintf("SELECT COUNT(*) AS count FROM (SELECT m.sent_us%s LIMIT %d) n", fromConversation, r.Messages+r.Around+chat.CountAtMost),
			[]any{c.Team, c.Channel, c.Thread}, &counted},
		s.earlierQuery(r, &earlier),
		s.messagesQuery(r, &said),
		s.knowledgeQuery(c.Team, c.Channel, r.Active, r.Named, r.Channels, &channels),
		workspaceQuery(c.Team, c.Channel, "''", &workspace),
		// updated_us is never before made_us, and the index knows it. Of many threads those are looked
		// at that were updated last.
		query{fmt.Sprintf(`
			SELECT n.thread_ts, n.total, (SELECT m.text FROM memories m WHERE m.id = n.id) AS text FROM (
				SELECT m.id, m.thread_ts, COUNT(*) OVER () AS total FROM (
					SELECT s.short_id FROM memory_scopes s
					WHERE s.team_id = ? AND s.channel_id = ? AND s.thread_ts <> '' AND s.updated_us >= ? AND s.short_id IS NOT NULL
					ORDER BY s.updated_us DESC LIMIT %d
				) latest JOIN memories m ON m.id = latest.short_id
				WHERE m.made_us >= ? ORDER BY m.made_us DESC, m.thread_ts DESC LIMIT %d
			) n`, r.Threads+chat.CountAtMost, r.Threads), []any{c.Team, c.Channel, microsOrZero(r.Remembered), microsOrZero(r.Remembered)}, &threads},
	); err != nil {
		return Context{}, fmt.Errorf("read the context of %s: %w", c.ID(), err)
	}
	read := Context{Messages: messages(said), Knowledge: newKnowledge(channels, c.Channel), Threads: make(map[string]string, len(threads))}
	shown := 0
	for _, m := range said {
		if m.ThreadTS == c.Thread {
			shown++
		}
	}
	read.Omitted = min(max(0, first(counted).Count-shown), chat.CountAtMost)
	for _, e := range earlier {
		read.Earlier, read.Since = append(read.Earlier, e.ThreadTS), instant(e.SinceUS)
	}
	slices.Sort(read.Earlier)
	read.Long, read.Short = longAndShort(workspace)
	for _, t := range threads {
		read.Threads[t.ThreadTS] = t.Text
		read.ThreadsUntold = min(t.Total-len(threads), chat.CountAtMost)
	}
	return read, nil
}

// fromChannel is the end of a query of a channel's messages m, threads included, the newest first.
const fromChannel = " FROM messages m WHERE m.team_id = ? AND m.channel_id = ? AND NOT m.deleted ORDER BY m.sent_us DESC"

type earlierRow struct {
	ThreadTS string `gorm:"column:thread_ts" json:"thread_ts"`
	SinceUS  int64  `gorm:"column:since_us" json:"since_us"`
}

// earlierQuery asks for Context.Earlier, in no order. Nothing is counted: there may be as many
// threads as messages. What is newer than the oldest message around is read, whatever thread
// it is in; what is older is not, but for the parents of threads.
func (s *Store) earlierQuery(r ContextRequest, into *[]earlierRow) query {
	c := r.Conversation
	channel := []any{c.Team, c.Channel}
	return query{fmt.Sprintf(`
		WITH around AS MATERIALIZED (SELECT m.thread_ts, m.sent_us%s LIMIT %d),
			own AS (SELECT m.ts, m.thread_ts, m.sent_us%s LIMIT %d),
			oldest AS MATERIALIZED (SELECT MIN(sent_us) AS since_us FROM around)
		SELECT n.thread_ts, o.since_us FROM oldest o CROSS JOIN (
			SELECT DISTINCT thread_ts FROM (
				SELECT thread_ts FROM around UNION ALL SELECT ''
				UNION ALL SELECT ts FROM own WHERE thread_ts = '' AND sent_us < (SELECT since_us FROM oldest)
			) shown
		) n
		WHERE n.thread_ts <> ? AND (
			SELECT 1 FROM messages m WHERE m.team_id = ? AND m.channel_id = ? AND m.thread_ts = n.thread_ts AND NOT m.deleted
				AND m.sent_us < o.since_us AND m.ts <> ? AND m.ts NOT IN (SELECT thread_ts FROM around) ORDER BY m.sent_us DESC LIMIT 1
		) IS NOT NULL`,
		fromChannel, r.Around, fromConversation, r.Messages), slices.Concat(channel, channel, []any{c.Thread, c.Thread}, channel, []any{c.Thread}), into}
}

// messagesQuery asks for Context.Messages. The numbers stand in the statement itself: Postgres,
// which is to plan it once, would take a parameter for a tenth of the channel.
func (s *Store) messagesQuery(r ContextRequest, into *[]messageRow) query {
	c := r.Conversation
	parents := s.inSubselect("SELECT n.thread_ts FROM (SELECT thread_ts FROM said UNION ALL SELECT CAST(? AS TEXT)) n WHERE n.thread_ts NOT IN (SELECT ts FROM said)")
	channel := []any{c.Team, c.Channel}
	return query{fmt.Sprintf(`
		WITH around AS MATERIALIZED (SELECT m.*%s LIMIT %d),
			own AS (SELECT m.*%s LIMIT %d),
			said AS MATERIALIZED (SELECT * FROM around UNION ALL SELECT * FROM own WHERE ts NOT IN (SELECT ts FROM around))
		SELECT * FROM said
		UNION ALL SELECT m.* FROM messages m WHERE m.team_id = ? AND m.channel_id = ? AND m.ts %s AND NOT m.deleted`,
		fromChannel, r.Around, fromConversation, r.Messages, parents), slices.Concat(channel, channel, []any{c.Thread}, channel, []any{c.Thread}), into}
}

// inSubselect is the condition to be among the few rows of a subselect. Postgres looks each of them
// up in an index then, where it would join them with all there is.
func (s *Store) inSubselect(subselect string) string {
	if s.sqlite != "" {
		return "IN (" + subselect + ")"
	}
	return "= ANY(ARRAY(" + subselect + "))"
}
