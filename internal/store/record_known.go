package store

import (
	"encoding/json"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// maxBefore is the most messages of a thread in Known.Before.
const maxBefore = 20

// lookup asks what is known about a message.
type lookup struct {
	N         int    `json:"n"`
	TeamID    string `json:"team_id"`
	ChannelID string `json:"channel_id"`
	TS        string `json:"ts"`
	ThreadTS  string `json:"thread_ts"`
	SentUS    int64  `json:"sent_us"`
	// Hush is the id of the order that hushes it.
	Hush string `json:"hush"`
	// Top is the workflow id of its channel's top level, Threads the prefix of its threads' ids.
	Top     string `json:"top"`
	Threads string `json:"threads"`
}

func newLookup(i int, m chat.Message) lookup {
	m.Revision = "" // an order that came before the message's event knew of no revision
	c := chat.Conversation{Team: m.Team, Channel: m.Channel}
	return lookup{
		N: i, TeamID: m.Team, ChannelID: m.Channel, TS: m.TS, ThreadTS: m.ThreadTS, SentUS: micros(m.Time()),
		Hush: Hush(m, "").ID, Top: c.ID(), Threads: threadPrefix(m),
	}
}

// lookupResult is what is known about the message of lookup N and its channel.
type lookupResult struct {
	N        int    `json:"n"`
	HushedBy string `json:"hushed_by"`
	Private  bool   `json:"private"`
	External bool   `json:"external"`
	ActiveUS int64  `json:"active_us"`
	// ErasedUS is until when anything was forgotten or purged in the workspace.
	ErasedUS int64 `json:"erased_us"`
	// Tail is a JSON array of threadMessages, or empty.
	Tail string `json:"tail"`
}

// threadMessage is a message of a thread without its text: ts, user, app, "own" if the bot wrote
// it, and the author of the message that it answers, if the outbox knows.
type threadMessage [5]string

const (
	// itself is the condition that a message m is that of a lookup q.
	itself = "m.team_id = q.team_id AND m.channel_id = q.channel_id AND m.ts = q.ts"

	// threadColumns are a threadMessage, in parentheses. The author of what it answers, an app, may have no user.
	threadColumns = `(ts, user_id, bot_id, CASE WHEN own THEN 'own' ELSE '' END, CASE WHEN own THEN COALESCE((
		SELECT CASE WHEN t.user_id <> '' THEN t.user_id ELSE t.bot_id END FROM messages t
		WHERE t.team_id = thread.team_id AND t.channel_id = thread.channel_id AND t.ts = (
			SELECT o.trigger_ts FROM outbox o
			WHERE o.team_id = thread.team_id AND o.channel_id = thread.channel_id AND o.sent_ts <> '' AND o.sent_ts = thread.ts LIMIT 1
		)
	), '') ELSE '' END)`

	// knownOfMessages uses subqueries of at most one row: unlike joins they always use an index,
	// whatever Postgres estimates.
	knownOfMessages = `
		SELECT q.n, COALESCE((SELECT o.ordered_by FROM orders o WHERE o.id = q.hush), '') AS hushed_by,
			COALESCE((SELECT c.private FROM channels c WHERE c.team_id = q.team_id AND c.channel_id = q.channel_id), FALSE) AS private,
			COALESCE((SELECT c.external FROM channels c WHERE c.team_id = q.team_id AND c.channel_id = q.channel_id), FALSE) AS external,
			COALESCE((SELECT c.active_us FROM channels c WHERE c.team_id = q.team_id AND c.channel_id = q.channel_id), 0) AS active_us,
			COALESCE((SELECT MAX(e.until_us) FROM erased e WHERE e.team_id = q.team_id), 0) AS erased_us,
			COALESCE((SELECT CAST(@thread AS TEXT) FROM (
				SELECT * FROM (
					SELECT * FROM messages m WHERE q.thread_ts <> '' AND m.team_id = q.team_id AND m.channel_id = q.channel_id
						AND m.thread_ts = q.thread_ts AND m.sent_us < q.sent_us AND NOT m.deleted ORDER BY m.sent_us DESC LIMIT @before
				) replies
				UNION ALL
				SELECT * FROM messages m WHERE q.thread_ts <> '' AND m.team_id = q.team_id AND m.channel_id = q.channel_id
					AND m.ts = q.thread_ts AND NOT m.deleted
			) thread), '') AS tail
		FROM @lookups`
)

// readKnown reads in one statement what is known about the messages of a group, and stores it in
// each recording.
//
// The rows of inserted messages belong to this transaction. An order about an unknown message
// occupies that message's row until the order is committed (recordOrder). So the order is either
// seen here or finds the message.
func (s *Store) readKnown(tx *gorm.DB, group []*recording) error {
	lookups := make([]lookup, len(group))
	var known []lookup
	for i, n := range group {
		lookups[i] = newLookup(i, n.message)
		if !n.inserted {
			known = append(known, lookups[i])
		}
	}
	thread, join := "json_group_array(json_array"+threadColumns+")", "JOIN messages m ON "+itself
	if s.sqlite == "" {
		thread = "json_agg(json_build_array" + threadColumns + ")"
		join = "CROSS JOIN LATERAL (SELECT * FROM messages m WHERE " + itself + " LIMIT 1) m"
	}
	set, err := newRowset(tx, lookups)
	if err != nil {
		return err
	}
	var results []lookupResult
	var rows []messageRow
	var addressed []struct {
		N int `json:"n"`
	}
	queries := []query{named(knownOfMessages, &results, map[string]any{"thread": verbatim(thread),
		"before": verbatim(maxBefore), "lookups": set.table()})}
	if len(known) > 0 {
		set, err := newRowset(tx, known)
		if err != nil {
			return err
		}
		found := " FROM " + set.sql + " " + join
		queries = append(queries, query{"SELECT m.*" + found, []any{set.arg}, &rows}, query{"SELECT q.n" + found + ` WHERE (
			SELECT 1 FROM changes c WHERE c.workflow_id IN (q.top, q.threads || q.ts, q.threads || m.thread_ts) AND c.ts = q.ts AND c.kind = 'addressed' LIMIT 1
		) IS NOT NULL`, []any{set.arg}, &addressed})
	}
	if err := runBatch(tx, queries...); err != nil {
		return err
	}
	existing := make(map[string]*messageRow, len(rows))
	for i := range rows {
		existing[rows[i].key()] = &rows[i]
	}
	for _, a := range results {
		n := group[a.N]
		n.existing, n.private, n.external, n.active = existing[n.key], a.Private, a.External, a.ActiveUS
		n.old = micros(n.message.Time()) <= a.ErasedUS
		n.known = Known{}
		if n.known.Before, n.known.Answered, err = threadBefore(n.message, a.Tail); err != nil {
			return err
		}
		if n.existing != nil {
			m := n.existing.message()
			n.known.Message, n.known.Handled = &m, n.existing.Handled
		}
		if !n.known.Handled {
			n.known.Hushed = a.HushedBy
		}
	}
	for _, a := range addressed {
		group[a.N].known.Addressed = true
	}
	return nil
}

// threadBefore is the newest earlier messages of a message's thread, in order of time, and
// Known.Answered.
func threadBefore(m chat.Message, tail string) (messages []chat.Message, answered string, err error) {
	if tail == "" || m.ThreadTS == "" {
		return nil, "", nil
	}
	var thread []threadMessage
	if err := json.Unmarshal([]byte(tail), &thread); err != nil {
		return nil, "", fmt.Errorf("read earlier messages of its thread: %w", err)
	}
	slices.Reverse(thread) // most likely the final order
	slices.SortFunc(thread, func(a, b threadMessage) int { return chat.CompareTS(a[0], b[0]) })
	thread = thread[max(0, len(thread)-maxBefore):]
	messages = make([]chat.Message, len(thread))
	for i, r := range thread {
		messages[i] = chat.Message{Team: m.Team, Channel: m.Channel, TS: r[0], UserID: r[1], BotID: r[2],
			Own: r[3] != ""}
		if messages[i].Own {
			answered = r[4]
		}
	}
	return messages, answered, nil
}
