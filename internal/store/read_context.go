package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// ContextRequest says what Context reads for a conversation.
type ContextRequest struct {
	Conversation chat.Conversation
	// Answer is the ts of a message that is read however old it is, or "" for none.
	Answer string
	// Messages is how many of the conversation's newest messages are read, Around how many of its
	// channel's, threads included.
	Messages, Around int
	// Step is how many messages their beginnings move by at once, so that contexts in a row begin alike: up to Step-1
	// fewer are read. 0: they move with each message.
	Step int
	// Active is since when a channel must have had a message to be listed, Remembered since when a
	// thread's memory must have been made.
	Active, Remembered time.Time
	// Channels and Threads are how many of their memories are read, the latest first. Named is how
	// many channels are listed at all; at least Channels.
	Channels, Threads, Named int
}

// Context is what the database holds for a conversation, as far as a reader in its channel may know
// it.
type Context struct {
	// Messages are the conversation's messages, those around it, the parents of their threads, and the
	// one to answer, in no order and without deleted ones.
	Messages []chat.Message
	// Omitted is how many earlier messages the conversation has, up to chat.CountAtMost.
	Omitted int
	// Earlier are the threads around the conversation that have messages older than Since, which
	// were not read: by ts, and "" for the top level. For a top level this includes threads under
	// its messages even if none of their replies was read.
	Earlier []string
	Since   time.Time
	// Began is when the shown part of the top level begins; what is older there is the parent of a thread, or
	// the message to answer. The zero time: at its beginning.
	Began time.Time
	Knowledge
	// Long and Short are the workspace's memories, without their sources; nil if there is none that
	// the reader may know.
	Long, Short *Memory
	// Threads are the memories of the channel's threads, by ts. ThreadsUntold is how many more
	// there are, up to chat.CountAtMost.
	Threads       map[string]string
	ThreadsUntold int
	// LastVerdict is the newest verdict of a model on the conversation; nil if there is none.
	LastVerdict *Decision
	// Notes are what people asked the bot to remember in the channel, the oldest first.
	Notes []chat.Note
	// Set is what people have set of the channel in Slack.
	Set chat.Set
}

// Context reads what there is for a conversation.
func (s *Store) Context(ctx context.Context, r ContextRequest) (Context, error) {
	c := r.Conversation
	var rows []messageRow
	var earlier []earlierRow
	var counted []windows
	var reactions []reactionRow
	var verdicts []Decision
	var channels []knowledgeRow
	var workspace []memoryRow
	var notes []noteRow
	var set []settingRow
	var threads []struct {
		ThreadTS string `json:"thread_ts"`
		Text     string `json:"text"`
		Total    int    `json:"total"`
	}
	if err := runBatch(s.db.WithContext(ctx),
		// Count what may be shown and what is left out. This query and the next come first: SQLite
		// runs the queries one after the other, and a message that arrives in between must not
		// count as left out.
		windowsQuery(r, &counted),
		earlierQuery(r, &earlier),
		s.messagesQuery(r, &rows),
		reactionsQuery(c.Team, c.Channel, &reactions),
		query{"SELECT * FROM decisions WHERE workflow_id = ? AND confidence IS NOT NULL ORDER BY decided_us DESC " +
			"LIMIT 1", []any{c.ID()}, &verdicts},
		s.knowledgeQuery(c.Team, c.Channel, r.Active, r.Named, r.Channels, &channels),
		s.workspaceQuery(c.Team, c.Channel, "''", &workspace),
		notesQuery(c.Team, c.Channel, s.unremembered(), &notes),
		named(newestThreads, &threads, place(c), map[string]any{"remembered": microsOrZero(r.Remembered),
			"unremembered": s.unremembered(), "looked": verbatim(r.Threads + chat.CountAtMost),
			"threads": verbatim(r.Threads)}),
		setQuery(c.Team, c.Channel, &set),
	); err != nil {
		return Context{}, fmt.Errorf("read the context of %s: %w", c.ID(), err)
	}
	rows, lost, since, ownSince := r.stepped(rows, first(counted))
	read := Context{
		Messages: withReactions(messages(rows), reactions), Knowledge: newKnowledge(channels, c.Channel),
		Threads: make(map[string]string, len(threads)),
		Notes:   mapRows(notes, noteRow.note), Set: setOf(set),
	}
	if len(verdicts) > 0 {
		read.LastVerdict = &verdicts[0]
	}
	shown := 0
	for _, m := range rows {
		if m.ThreadTS == c.Thread && m.SentUS >= ownSince {
			shown++
		}
	}
	read.Omitted = min(max(0, first(counted).Count-shown), chat.CountAtMost)
	for _, e := range earlier {
		read.Earlier, read.Since = append(read.Earlier, e.ThreadTS), instant(e.SinceUS)
	}
	if since > 0 && len(earlier)+len(lost) > 0 {
		read.Earlier, read.Since = append(read.Earlier, lost...), instant(since)
	}
	began := since
	if c.TopLevel() {
		began = ownSince
	}
	if began > 0 {
		read.Began = instant(began)
	}
	slices.Sort(read.Earlier)
	read.Earlier = slices.Compact(read.Earlier)
	read.Long, read.Short = longAndShort(workspace)
	for _, t := range threads {
		read.Threads[t.ThreadTS] = t.Text
		read.ThreadsUntold = min(t.Total-len(threads), chat.CountAtMost)
	}
	return read, nil
}

// fromChannel ends a query of a channel's messages m, threads included, the newest first.
const fromChannel = " FROM messages m WHERE m.team_id = @team AND m.channel_id = @channel AND NOT m.deleted " +
	"ORDER BY m.sent_us DESC"

type earlierRow struct {
	ThreadTS string `json:"thread_ts"`
	SinceUS  int64  `json:"since_us"`
}

const (
	// newestThreads are the memories of threads. updated_us is never before made_us, and it is in the index. Of many
	// threads, only those updated last are looked at.
	newestThreads = `
		SELECT n.thread_ts, n.total, (SELECT m.text FROM memories m WHERE m.id = n.id) AS text FROM (
			SELECT m.id, m.thread_ts, COUNT(*) OVER () AS total FROM (
				SELECT s.short_id FROM memory_scopes s
				WHERE s.team_id = @team AND s.channel_id = @channel AND s.thread_ts <> '' AND s.updated_us >= @remembered AND s.short_id IS NOT NULL
					AND NOT EXISTS (SELECT 1 FROM channels c WHERE c.team_id = @team AND c.channel_id = @channel AND @unremembered)
				ORDER BY s.updated_us DESC LIMIT @looked
			) latest JOIN memories m ON m.id = latest.short_id
			WHERE m.made_us >= @remembered ORDER BY m.made_us DESC, m.thread_ts DESC LIMIT @threads
		) n`

	// earlierThreads are Context.Earlier. The query counts nothing, because there may be as many threads as
	// messages. Every message newer than the oldest one around is read, whatever its thread. Older ones are not,
	// except the parents of threads.
	earlierThreads = `
		WITH around AS MATERIALIZED (SELECT m.thread_ts, m.sent_us` + fromChannel + ` LIMIT @around),
			own AS (SELECT m.ts, m.thread_ts, m.sent_us` + fromConversation + ` LIMIT @own),
			oldest AS MATERIALIZED (SELECT MIN(sent_us) AS since_us FROM around)
		SELECT n.thread_ts, o.since_us FROM oldest o CROSS JOIN (
			SELECT DISTINCT thread_ts FROM (
				SELECT thread_ts FROM around UNION ALL SELECT ''
				UNION ALL SELECT ts FROM own WHERE thread_ts = '' AND sent_us < (SELECT since_us FROM oldest)
			) shown
		) n
		WHERE n.thread_ts <> @thread AND (
			SELECT 1 FROM messages m WHERE m.team_id = @team AND m.channel_id = @channel AND m.thread_ts = n.thread_ts AND NOT m.deleted
				AND m.sent_us < o.since_us AND m.ts <> @thread AND m.ts NOT IN (SELECT thread_ts FROM around) ORDER BY m.sent_us DESC LIMIT 1
		) IS NOT NULL`

	// shownMessages are Context.Messages.
	shownMessages = `
		WITH around AS MATERIALIZED (SELECT m.*` + fromChannel + ` LIMIT @around),
			own AS (SELECT m.*` + fromConversation + ` LIMIT @own),
			found AS MATERIALIZED (SELECT * FROM around UNION ALL SELECT * FROM own WHERE ts NOT IN (SELECT ts FROM around))
		SELECT * FROM found
		UNION ALL SELECT m.* FROM messages m WHERE m.team_id = @team AND m.channel_id = @channel AND m.ts @parents AND NOT m.deleted`
)

// earlierQuery asks for Context.Earlier, in no order.
func earlierQuery(r ContextRequest, into *[]earlierRow) query {
	return named(earlierThreads, into, place(r.Conversation), map[string]any{
		"around": verbatim(r.Around), "own": verbatim(r.Messages)})
}

// messagesQuery asks for Context.Messages.
func (s *Store) messagesQuery(r ContextRequest, into *[]messageRow) query {
	parents := s.inSubselect("SELECT n.thread_ts FROM (SELECT thread_ts FROM found UNION ALL SELECT CAST(? AS TEXT) " +
		"UNION ALL SELECT CAST(? AS TEXT)) n WHERE n.thread_ts NOT IN (SELECT ts FROM found)")
	return named(shownMessages, into, place(r.Conversation), map[string]any{"around": verbatim(r.Around),
		"own": verbatim(r.Messages), "parents": clause.Expr{SQL: parents, Vars: []any{r.Conversation.Thread, r.Answer}}})
}

// inSubselect is the condition to be among the few rows of a subselect. It makes Postgres look up
// each row in an index; it would join them with the whole table.
func (s *Store) inSubselect(subselect string) string {
	if s.sqlite != "" {
		return "IN (" + subselect + ")"
	}
	return "= ANY(ARRAY(" + subselect + "))"
}
