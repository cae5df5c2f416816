package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// FactsRequest says for which decision or reply Facts are read.
type FactsRequest struct {
	Conversation chat.Conversation
	Trigger      string // ts
	// Pending are the ts of all messages that are judged, the trigger among them; empty for a reply.
	Pending []string
	// Decision and Reply are the decision's key in the ledger and the reply's in the outbox.
	Decision, Reply string
	// Since is from when on the channel's cost is summed; zero if it is not needed.
	Since time.Time
	// Oldest is the ts of the first message that the decision is about; the trigger is the last. It
	// is set if replies in the threads under these messages matter; otherwise it is empty.
	Oldest string
	// Looks is set for a reply: then the steps of its Round are read.
	Looks bool
	Round int
	// Held is set for a reply that was judged and then waited, so that a mute of its channel, or
	// everywhere, in the meantime matters.
	Held bool
}

// Facts are what is known before a model is asked.
type Facts struct {
	// Decision is nil if nothing was decided yet.
	Decision *Decision
	// Begun is set once an attempt to post the reply has begun, unless the reply must be composed
	// again (OutdatedError).
	Begun bool
	// ComposedBy is the key of the decision that the reply in the outbox carries out; empty if
	// there is no reply.
	ComposedBy string
	// SilencedUntil is the result of Silences.Until.
	SilencedUntil time.Time
	// MutedUntil is the result of Silences.Everywhere.
	MutedUntil time.Time
	// Silenced is set if the bot was muted everywhere, or a thread's channel was muted or snoozed,
	// after the decision to speak, even if that has ended; the workflow does not learn of it. It is
	// only read if Held.
	Silenced bool
	// Stopped is set if the bot was told to stop in this thread (StopThread), and nobody has mentioned it
	// since.
	Stopped bool
	// Steps are what the model asked for in FactsRequest.Round, without input and output.
	Steps []Step
	// Calls and Tokens are the results of Spent.
	Calls, Tokens int
	// Tail is the conversation's newest messages, in order of time and without their texts. If somebody has opened a
	// thread through an app, and the trigger came through one, it begins with what came before at the top level. It has
	// few messages if a person is among them. Otherwise it has enough to find what the bot said to
	// other bots.
	Tail []chat.Message
	// ThroughApps is how many messages of the channel that people had written through apps the bot has answered within
	// conversation.AppPause. It is only read where the trigger is such a message.
	ThroughApps int
	// Trigger is the message's current state, perhaps deleted; nil if it is unknown.
	Trigger *chat.Message
	// Pending are the messages of FactsRequest.Pending that are not deleted, in order of time: the
	// newest 256 of them.
	Pending []chat.Message
	// Saw is set if the newest message is the bot's: when the newest message that its author had
	// read was sent. It is zero if the outbox does not know the message.
	Saw time.Time
	// NewThreadReply is the ts of a person's message in a thread under one of the messages that the
	// decision is about, stored after the judge had read; empty if there is none.
	NewThreadReply string
	// AuthorZone is the time zone of the trigger's author, as in User.Zone. It is only read if Looks.
	AuthorZone string
	// ChannelName is empty for a direct message, and if Slack was never asked.
	ChannelName string
	// Set is what people have set of the channel in Slack.
	Set chat.Set
	Readers
}

// Readers says who else than the workspace's own people may read a channel.
type Readers struct {
	// Shared is set if people of other workspaces or companies may, Outsiders if they or guests may.
	Shared, Outsiders bool
}

// readersRow is the result of readersOf.
type readersRow struct {
	Shared    int `json:"shared"`
	Outsiders int `json:"outsiders"`
}

func (r readersRow) readers() Readers {
	return Readers{Shared: r.Shared > 0, Outsiders: r.Outsiders > 0}
}

// ReadersOf says who may read a channel.
func (s *Store) ReadersOf(ctx context.Context, team, channel string) (Readers, error) {
	var row readersRow
	if err := s.db.WithContext(ctx).Raw("SELECT ?", readersOf(team, channel)).Scan(&row).Error; err != nil {
		return Readers{}, fmt.Errorf("read who reads %s: %w", channel, err)
	}
	return row.readers(), nil
}

// readersOf are the columns of readersRow for a channel.
func readersOf(team, channel string) clause.Expr {
	return clause.Expr{SQL: `CASE WHEN ? THEN 0 ELSE 1 END AS outsiders,
		CASE WHEN EXISTS (SELECT 1 FROM channels h WHERE h.team_id = ? AND h.channel_id = ? AND (h.external OR h.org_shared)) THEN 1 ELSE 0 END AS shared`,
		Vars: []any{notShared(team, channel), team, channel}}
}

// maxStoreDelay is how long a message may take to be stored. An older message that is stored now
// has been edited.
const maxStoreDelay = time.Minute

// Facts reads what is known before a model is asked.
func (s *Store) Facts(ctx context.Context, m FactsRequest) (Facts, error) {
	var rows factRows
	if err := runBatch(s.db.WithContext(ctx), rows.queries(m)...); err != nil {
		return Facts{}, fmt.Errorf("read what is known of message %s in %s: %w", m.Trigger, m.Conversation.ID(), err)
	}
	f := rows.facts(m)
	if f.Trigger != nil && f.Trigger.Through != "" {
		if err := s.readThroughApps(ctx, m.Conversation, &f); err != nil {
			return Facts{}, fmt.Errorf("read answers to messages through apps in %s: %w", m.Conversation.Channel, err)
		}
	}
	return f, nil
}

// factRows are the rows of Facts, one list a query.
type factRows struct {
	decisions []Decision
	parts     []struct {
		Attempts int      `json:"attempts"`
		State    Delivery `json:"state"`
		Outdated bool     `json:"outdated"`
		Decision string   `json:"decision"`
	}
	silent []silenceRow
	since  []struct {
		ID string `json:"id"`
	}
	cost   []Spending
	tail   []authorRow
	wanted []messageRow
	saw    []struct {
		SawUS int64 `json:"saw_us"`
	}
	names []struct {
		Name string `json:"name"`
		readersRow
	}
	newReplies []authorRow
	stopped    []struct {
		ID string `json:"id"`
	}
	steps []struct {
		ID    string    `json:"id"`
		Tool  string    `json:"tool"`
		State StepState `json:"state"`
	}
	zones []struct {
		TimeZone string `json:"time_zone"`
	}
	set []settingRow
}

// queries are the queries for a request.
func (r *factRows) queries(m FactsRequest) []query {
	c := m.Conversation
	queries := []query{
		{"SELECT * FROM decisions WHERE key = ?", []any{m.Decision}, &r.decisions},
		{"SELECT attempts, state, " + outdated + " AS outdated, decision FROM outbox WHERE reply = ? ORDER BY part",
			[]any{m.Reply}, &r.parts},
		silenceQuery([]chat.Conversation{c}, &r.silent),
		tailQuery(c, &r.tail),
		{"SELECT * FROM messages WHERE team_id = ? AND channel_id = ? AND ts IN ?",
			[]any{c.Team, c.Channel, padded(m.Pending, m.Trigger)}, &r.wanted},
		// The condition sent_ts <> '' matches the index, which has only sent parts.
		named("SELECT saw_us FROM outbox WHERE team_id = @team AND channel_id = @channel AND sent_ts <> '' AND sent_ts = "+
			"COALESCE((SELECT m.ts"+fromConversation+" LIMIT 1), @thread)", &r.saw, place(c)),
		{"SELECT COALESCE((SELECT name FROM channels WHERE team_id = ? AND channel_id = ?), '') AS name, ?",
			[]any{c.Team, c.Channel, readersOf(c.Team, c.Channel)}, &r.names},
		{`SELECT v.workflow_id AS id FROM conversations v WHERE v.workflow_id = ? AND v.stopped_us > 0
			AND NOT EXISTS (SELECT 1 FROM changes c WHERE c.workflow_id = v.workflow_id AND c.mention AND c.stored_us > v.stopped_us)`, []any{c.ID()}, &r.stopped},
		setQuery(c.Team, c.Channel, &r.set),
	}
	if m.Looks {
		queries = append(queries, query{`SELECT time_zone FROM users WHERE team_id = ? AND user_id = (SELECT user_id FROM messages WHERE team_id = ? AND channel_id = ? AND ts = ?)`,
			[]any{c.Team, c.Team, c.Channel, m.Trigger}, &r.zones})
		queries = append(queries, query{"SELECT id, tool, state FROM steps WHERE decision = ? AND round = ? ORDER BY " +
			"position", []any{m.Decision, m.Round}, &r.steps})
	}
	if m.Held {
		above := []string{"", c.Channel}
		if c.TopLevel() {
			above = above[:1] // its own workflow drops what waits when it is muted
		}
		queries = append(queries, query{`
			SELECT id FROM orders WHERE team_id = ? AND channel_id IN ? AND thread_ts = '' AND kind IN ('mute', 'snooze')
				AND ordered_us > (SELECT decided_us FROM decisions WHERE key = ? AND should_respond) LIMIT 1`, []any{c.Team, above, m.Decision}, &r.since})
	}
	if !m.Since.IsZero() {
		queries = append(queries, spentQuery(c.Team, c.Channel, m.Since, &r.cost))
	}
	if m.Oldest != "" {
		const read = "(SELECT read_us FROM decisions WHERE key = ?)"
		queries = append(queries, query{`
			SELECT ts, thread_ts, bot_id, through, own FROM messages
			WHERE team_id = ? AND channel_id = ? AND thread_ts >= ? AND thread_ts <= ? AND NOT deleted AND NOT own AND bot_id = ''
				AND stored_us > ` + read + ` AND sent_us > ` + read + ` - ?
			ORDER BY thread_ts DESC, sent_us DESC LIMIT 1`,
			[]any{c.Team, c.Channel, m.Oldest, m.Trigger, m.Decision, m.Decision, maxStoreDelay.Microseconds()},
			&r.newReplies})
	}
	return queries
}

// facts are the facts that the rows tell.
func (r *factRows) facts(m FactsRequest) Facts {
	c := m.Conversation
	silenced := silences(r.silent)
	f := Facts{
		SilencedUntil: silenced.Until(c), MutedUntil: silenced.Everywhere(c.Team), Silenced: len(r.since) > 0,
		Tail: make([]chat.Message, len(r.tail)),
	}
	for i, row := range r.tail {
		f.Tail[i] = row.message(c)
	}
	slices.SortFunc(f.Tail, func(a, b chat.Message) int { return chat.CompareTS(a.TS, b.TS) })
	f.Calls, f.Tokens = first(r.cost).Calls, first(r.cost).Tokens
	f.Saw, f.ChannelName = instantOrZero(first(r.saw).SawUS), first(r.names).Name
	f.Readers, f.AuthorZone = first(r.names).readers(), first(r.zones).TimeZone
	f.Stopped, f.Set = len(r.stopped) > 0, setOf(r.set)
	for _, st := range r.steps {
		f.Steps = append(f.Steps, Step{ID: st.ID, Tool: st.Tool, State: st.State})
	}
	f.ComposedBy, f.NewThreadReply = first(r.parts).Decision, first(r.newReplies).TS
	for _, p := range r.parts {
		f.Begun = f.Begun || p.State != Composed || p.Attempts > 0 && !r.parts[0].Outdated
	}
	if len(r.decisions) > 0 {
		f.Decision = &r.decisions[0]
	}
	for _, w := range messages(r.wanted) {
		if w.TS == m.Trigger {
			f.Trigger = &w
		}
		if !w.Deleted && slices.Contains(m.Pending, w.TS) {
			f.Pending = append(f.Pending, w)
		}
	}
	slices.SortFunc(f.Pending, func(a, b chat.Message) int { return chat.CompareTS(a.TS, b.TS) })
	return f
}

// readThroughApps reads what tells whether an app answers the bot in a person's name: ThroughApps, and what came at the
// top level before a thread that such a message has opened.
func (s *Store) readThroughApps(ctx context.Context, c chat.Conversation, f *Facts) error {
	db := s.db.WithContext(ctx)
	if err := db.Raw(`
		SELECT COUNT(DISTINCT o.trigger_ts) FROM outbox o JOIN messages m ON m.team_id = o.team_id AND m.channel_id = o.channel_id AND m.ts = o.trigger_ts
		WHERE o.team_id = ? AND o.channel_id = ? AND o.sent_ts <> '' AND o.sent_ts > ? AND m.through <> ''`,
		c.Team, c.Channel, chat.TS(instant(s.nowMicros()).Add(-conversation.AppPause))).Scan(&f.ThroughApps).
		Error; err != nil {
		return err
	}
	if len(f.Tail) == 0 || c.TopLevel() || f.Tail[0].TS != c.Thread || f.Tail[0].Through == "" {
		return nil
	}
	var above []authorRow
	if err := db.Model(&messageRow{}).
		Where("team_id = ? AND channel_id = ? AND thread_ts = '' AND sent_us < ? AND NOT deleted", c.Team, c.Channel,
			micros(f.Tail[0].Time())).
		Order("sent_us DESC").Limit(tailLength).Find(&above).Error; err != nil {
		return err
	}
	for _, r := range above {
		f.Tail = slices.Insert(f.Tail, 0, r.message(c))
	}
	return nil
}

// padded is the newest 255 of some ts and another one. The last is repeated up to 1, 4, 16, 64 or
// 256 of them: each length is a statement of its own, which the database keeps prepared.
func padded(ts []string, another string) []string {
	out := append(slices.Clone(ts[max(0, len(ts)-255):]), another)
	size := 1
	for size < len(out) {
		size *= 4
	}
	return append(out, slices.Repeat([]string{another}, size-len(out))...)
}

// fromConversation ends a query of a conversation's own messages m, the newest first; a thread's
// parent is not among them. Its parameters are those of place.
const fromConversation = " FROM messages m WHERE m.team_id = @team AND m.channel_id = @channel AND " +
	"m.thread_ts = @thread AND NOT m.deleted ORDER BY m.sent_us DESC"

// place are the parameters by which named knows a conversation.
func place(c chat.Conversation) map[string]any {
	return map[string]any{"team": c.Team, "channel": c.Channel, "thread": c.Thread}
}

// authorRow is a message without its content.
type authorRow struct {
	TS       string `json:"ts"`
	ThreadTS string `json:"thread_ts"`
	BotID    string `json:"bot_id"`
	Through  string `json:"through"`
	Own      bool   `json:"own"`
}

func (r authorRow) message(c chat.Conversation) chat.Message {
	return chat.Message{Team: c.Team, Channel: c.Channel, TS: r.TS, ThreadTS: r.ThreadTS, BotID: r.BotID,
		Through: r.Through, Own: r.Own}
}

// tailLength is how many messages the tail has if a person is among them.
const tailLength = 20

// tailOf is a conversation's few newest messages if a person is among them, otherwise many.
const tailOf = `
	SELECT * FROM (` + authors + fromConversation + ` LIMIT (
		SELECT CASE WHEN EXISTS (SELECT 1 FROM (` + authors + fromConversation + ` LIMIT @few) n WHERE NOT n.own AND n.bot_id = '' AND n.through = '') THEN @few ELSE @many END
	)) n
	UNION ALL ` + authors + ` FROM messages m WHERE m.team_id = @team AND m.channel_id = @channel AND m.ts = @thread AND NOT m.deleted`

// authors begins a query for rows of authorRow.
const authors = "SELECT m.ts, m.thread_ts, m.bot_id, m.through, m.own"

// tailQuery asks for Facts.Tail, in no order; for a thread it includes the parent.
func tailQuery(c chat.Conversation, into *[]authorRow) query {
	return named(tailOf, into, place(c), map[string]any{"few": verbatim(tailLength), "many": verbatim(1000)})
}
