package bench

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"myao/internal/answer/recall"
	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/test/testserver"
)

// The size of the workspaces, apart from their messages. All channels and these threads have
// memories. Only as many channels have messages as allow each more messages than a context
// reads; otherwise small workspaces would have smaller contexts.
const (
	threadsPerChannel = 20
	manyChannels      = 10_000 // of a large workspace
	contextUsers      = 1000
	contextLimit      = 50
	contextWritten    = 1600 // minimum of messages in a channel and its threads
)

var contextNoon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// contextDB is a database with a number of messages.
type contextDB struct {
	b        *bench
	name     string
	channels int
	threads  int // with memories
	written  int // channels with messages
	store    *store.Store
	db       *sql.DB
	builder  *recall.Builder
}

// directory knows nobody. The benchmark looks up nobody else.
type directory struct{}

func (directory) User(context.Context, string) (slack.User, error) {
	return slack.User{}, fmt.Errorf("unexpected lookup of a user")
}

func (directory) Refresh(context.Context, string, string, time.Duration) (store.Channel, error) {
	return store.Channel{}, fmt.Errorf("a channel was asked for")
}

func (directory) RefreshMembers(context.Context, string, string, time.Duration) (int, time.Time, error) {
	return 0, time.Time{}, fmt.Errorf("members were asked for")
}

func openContextDB(b *bench, name string, messages, channels int) *contextDB {
	b.Helper()
	s, db := openStore(b)
	l := &contextDB{
		b: b, name: name, channels: channels, threads: threadsPerChannel * b.contextChannels(), store: s, db: db,
		written: min(b.contextChannels(), messages/contextWritten),
	}
	began := time.Now()
	l.fill(messages)
	b.logf("context: %s stored in %s", name, time.Since(began).Round(time.Second))
	l.builder = &recall.Builder{
		Store: s, Own: slack.Identity{TeamID: "T1", UserID: "U0BOT", BotID: "B0BOT"}, Users: directory{}, Directory: directory{}, Persona: chat.Persona{Name: "myao"}, MessagesLimit: contextLimit, ThreadLimit: 20,
		ActiveChannel: 7 * 24 * time.Hour, ThreadMemory: 7 * 24 * time.Hour,
		Clock: func() time.Time { return contextNoon }, Logger: slog.New(slog.DiscardHandler),
	}
	return l
}

// contextChannels is the number of channels of the usual workspaces.
func (b *bench) contextChannels() int { return b.scaled(500, 120) }

// measureContext builds contexts of top levels and threads, and compares large workspaces with a
// small one.
func measureContext(b *bench) []row {
	usual := b.contextChannels()
	small := openContextDB(b, "10⁴", 10_000, usual)
	rows := compareContext(b, small, openContextDB(b, "10⁶ messages", b.scaled(1_000_000, 20_000), usual))
	rows = append(rows, compareContext(b, small, openContextDB(b, "10⁴ messages in 10⁴ channels", 10_000, b.scaled(manyChannels, usual)))...)
	if *flagLong {
		rows = append(rows, compareContext(b, small, openContextDB(b, "10⁷ messages", b.scaled(10_000_000, 30_000), usual))...)
	}
	return rows
}

func compareContext(b *bench, small, large *contextDB) []row {
	builds := b.scaled(1000, 20)
	for _, l := range []*contextDB{small, large} { // warm the caches
		l.buildContexts(builds / 2)
		l.selectMessages(builds / 2)
	}
	var before, after, floors, tails []float64
	for range b.rounds {
		before = append(before, milliseconds(quantile(small.buildContexts(builds), 0.5)))
		took := large.buildContexts(builds)
		after, tails = append(after, milliseconds(quantile(took, 0.5))), append(tails, milliseconds(quantile(took, 0.99)))
		floors = append(floors, milliseconds(quantile(large.selectMessages(builds), 0.5)))
	}
	name := "context build, " + large.name
	return []row{
		newRow(name, "ms", atMost(5, "ms"), after...).withNote("p99 %s ms; a single indexed select of the same %d rows takes %s ms", number(median(tails)), contextLimit, number(median(floors))),
		newRatioRow(name+": growth from "+small.name, "ms", atMost(1.2, "×"), after, before),
	}
}

// buildContexts builds n contexts and returns how long each took.
func (l *contextDB) buildContexts(n int) (took []time.Duration) {
	l.b.Helper()
	for i := range n {
		c := l.conversation(i)
		began := time.Now()
		r, err := l.builder.Build(l.b.Context(), c, false, "")
		took = append(took, time.Since(began))
		testserver.Must(l.b, err)
		if len(r.Target()) < contextLimit/2 || len(r.Context.Channels) < 100 || len(r.ThreadMemories) == 0 {
			l.b.Fatalf("the context of %s has %d messages, %d channels and %d threads", c.ID(), len(r.Target()), len(r.Context.Channels), len(r.ThreadMemories))
		}
	}
	return took
}

// selectMessages reads only the newest messages of the same conversations.
func (l *contextDB) selectMessages(n int) (took []time.Duration) {
	l.b.Helper()
	for i := range n {
		c := l.conversation(i)
		began := time.Now()
		rows, err := l.db.QueryContext(l.b.Context(), `SELECT ts, user_id, text FROM messages
			WHERE team_id = $1 AND channel_id = $2 AND thread_ts = $3 AND NOT deleted ORDER BY sent_us DESC LIMIT $4`, c.Team, c.Channel, c.Thread, contextLimit)
		testserver.Must(l.b, err)
		for rows.Next() {
			var ts, user, text string
			testserver.Must(l.b, rows.Scan(&ts, &user, &text))
		}
		testserver.Must(l.b, rows.Err())
		_ = rows.Close()
		took = append(took, time.Since(began))
	}
	return took
}

// conversation returns the i-th conversation with messages: alternately a channel's top level and
// one of its threads.
func (l *contextDB) conversation(i int) chat.Conversation {
	channel := i / 2 % l.written
	c := chat.Conversation{Team: "T1", Channel: fmt.Sprint("C", channel)}
	if i%2 == 1 {
		c.Thread = fmt.Sprintf("1700000000.%06d", channel+l.written*(i/2/l.written%threadsPerChannel))
	}
	return c
}

// fill makes a workspace with n messages, the newest of them recent. The first ones are the
// parents of the threads. Three of four others are replies.
func (l *contextDB) fill(n int) {
	l.b.Helper()
	ts := func(n string) string { return "'1700000000.' || LPAD((" + n + ")::text, 6, '0')" }
	numbers := strings.NewReplacer(
		"@channels", fmt.Sprint(l.channels), "@remembered", fmt.Sprint(l.threads),
		"@written", fmt.Sprint(l.written), "@threads", fmt.Sprint(l.written*threadsPerChannel), "@users", fmt.Sprint(contextUsers),
		"@noon", fmt.Sprint(contextNoon.UnixMicro()), "@n", fmt.Sprint(n),
	)
	for _, statement := range []string{
		`INSERT INTO channels (team_id, channel_id, name, private, refreshed_us, member)
			SELECT 'T1', 'C' || i, 'channel-' || i, i % 10 = 0, @noon, TRUE FROM generate_series(0, @channels - 1) i`,
		`INSERT INTO users (team_id, user_id, name, refreshed_us) SELECT 'T1', 'U' || i, 'user ' || i, @noon FROM generate_series(0, @users - 1) i`,
		// One message a second, up to noon.
		`INSERT INTO messages (team_id, channel_id, ts, sent_us, thread_ts, user_id, text, handled, stored_us)
			SELECT 'T1', 'C' || i % @written, CASE WHEN i < @threads THEN ` + ts("i") + ` ELSE '1700000001.' || LPAD(i::text, 7, '0') END,
				@noon - (@n - i) * 1000000::bigint,
				CASE WHEN i >= @threads AND (i / @written + i / @threads) % 4 > 0 THEN ` + ts("i % @threads") + ` ELSE '' END,
				'U' || i * 7::bigint % @users, REPEAT('what was said ', 8), TRUE, 1
			FROM generate_series(0, @n - 1) i`,
		`INSERT INTO memories (team_id, channel_id, thread_ts, term, version, text, origin, made_us)
			SELECT 'T1', s.channel_id, s.thread_ts, t.term, v, (SELECT STRING_AGG(MD5(s.channel_id || s.thread_ts || v || g), '') FROM generate_series(1, t.size / 32) g), 'model', @noon - (3 - v) * 3600000000
			FROM (
				SELECT '' AS channel_id, '' AS thread_ts UNION ALL SELECT 'C' || i, '' FROM generate_series(0, @channels - 1) i
				UNION ALL SELECT 'C' || i % @channels, ` + ts("i") + ` FROM generate_series(0, @remembered - 1) i
			) s CROSS JOIN (VALUES ('long', 2000), ('short', 1200)) t(term, size) CROSS JOIN generate_series(1, 3) v
			WHERE s.thread_ts = '' OR t.term = 'short'`,
		`UPDATE channels SET active_us = COALESCE((SELECT MAX(m.sent_us) FROM messages m WHERE m.team_id = 'T1' AND m.channel_id = channels.channel_id), @noon)`,
		`INSERT INTO memory_scopes (team_id, channel_id, thread_ts, long_id, short_id, since_us, newest_us, revision, count, read_us, updated_us)
			SELECT 'T1', channel_id, thread_ts, MAX(id) FILTER (WHERE term = 'long'), MAX(id) FILTER (WHERE term = 'short'),
				CASE WHEN thread_ts = '' THEN @noon - 86400000000 ELSE 0 END, 0, '', 0, 0, MAX(made_us)
			FROM memories WHERE version = 3 GROUP BY channel_id, thread_ts`,
		`UPDATE memories SET sources = (SELECT JSON_AGG(c.channel_id || '/1') FROM channels c WHERE NOT c.private) WHERE channel_id = ''`,
		"VACUUM ANALYZE",
		"CHECKPOINT", // otherwise Postgres writes for minutes during the next measurement
	} {
		if _, err := l.db.ExecContext(l.b.Context(), numbers.Replace(statement)); err != nil {
			l.b.Fatalf("%v\n%s", err, numbers.Replace(statement))
		}
	}
}
