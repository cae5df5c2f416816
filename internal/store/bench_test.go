package store

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/testserver"
)

// What the benchmark's workspace is made of, but for its messages.
const (
	benchChannels = 500
	benchThreads  = 10_000
	benchUsers    = 1000
)

// BenchmarkContext reads from Postgres what one context needs, for one conversation
// after the other. How much has ever been said must not matter: MYAO_BENCH_MESSAGES
// says how much, in a workspace of 500 channels and 10,000 threads that are all
// remembered.
func BenchmarkContext(b *testing.B) {
	n := 10_000
	if v := os.Getenv("MYAO_BENCH_MESSAGES"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil || n < benchThreads {
			b.Fatalf("MYAO_BENCH_MESSAGES=%s, want %d or more", v, benchThreads)
		}
	}
	s, err := Open(b.Context(), testserver.Postgres(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if _, err := s.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "Storing %d messages: about a minute a million …\n", n)
	s.fill(b, n)
	var took []time.Duration
	read := func(i int) {
		began := time.Now()
		if err := s.readContext(b, i); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	for i := range 200 { // the caches of a program at work
		read(i)
	}
	took = nil
	for i := 0; b.Loop(); i++ {
		read(i)
	}
	slices.Sort(took)
	for name, q := range map[string]int{"p50-ms": 50, "p99-ms": 99} {
		b.ReportMetric(float64(took[(len(took)-1)*q/100].Microseconds())/1000, name)
	}
}

// readContext reads what recall does for a conversation: of one channel after the other
// the top level, and one of its threads.
func (s *Store) readContext(b *testing.B, i int) error {
	c := chat.Conversation{Team: team, Channel: fmt.Sprint("C", i%benchChannels)}
	if i%2 == 1 {
		c.Thread = benchTS(i%benchChannels + benchChannels*(i/benchChannels%(benchThreads/benchChannels)))
	}
	week := noon.AddDate(0, 0, -7)
	read, err := s.Context(b.Context(), Reading{Conversation: c, Messages: 50, Around: 50, Active: week, Channels: 20, Remembered: week, Threads: 20})
	if err != nil {
		return err
	}
	users, channels := map[string]bool{}, map[string]bool{c.Channel: true}
	for _, m := range read.Messages {
		users[m.UserID] = true
	}
	for n := range 10 {
		channels[fmt.Sprint("C", (i+37*n)%benchChannels)] = true
	}
	for _, m := range []*Memory{read.Long, read.Short} {
		for _, source := range m.Sources {
			channel, _, _ := strings.Cut(source, "/")
			channels[channel] = true
		}
	}
	names, err := s.Names(b.Context(), team, c.Channel, slices.Collect(maps.Keys(users)), slices.Collect(maps.Keys(channels)))
	if err == nil && (len(read.Messages) == 0 || len(read.Channels) < benchChannels/2 || len(read.Threads) == 0 || len(names.Users) == 0 || len(names.Channels) < 20) {
		err = fmt.Errorf("of %s are read %d messages, %d channels, %d threads, %d users and %d names",
			c.ID(), len(read.Messages), len(read.Channels), len(read.Threads), len(names.Users), len(names.Channels))
	}
	return err
}

// benchTS is the ts of the parent of thread n, as fill makes it.
func benchTS(n int) string { return fmt.Sprintf("1700000000.%06d", n) }

// fill makes a workspace in which n messages were said, the newest lately. The first ones
// are the parents of the threads; of the others, three of four are replies.
func (s *Store) fill(b *testing.B, n int) {
	b.Helper()
	const ts = "'1700000000.' || LPAD((%s)::text, 6, '0')"
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO channels (team_id, channel_id, name, private, refreshed_us, member)
			SELECT 'T1', 'C' || i, 'channel-' || i, i % 10 = 0, 1, TRUE FROM generate_series(0, ? - 1) i`, []any{benchChannels}},
		{`INSERT INTO users (team_id, user_id, name, refreshed_us) SELECT 'T1', 'U' || i, 'user ' || i, 1 FROM generate_series(0, ? - 1) i`, []any{benchUsers}},
		// Said over as many seconds as there are messages, up to noon.
		{`INSERT INTO messages (team_id, channel_id, ts, sent_us, thread_ts, user_id, text, handled, stored_us)
			SELECT 'T1', 'C' || i % @channels, CASE WHEN i < @threads THEN ` + fmt.Sprintf(ts, "i") + ` ELSE '1700000001.' || LPAD(i::text, 7, '0') END,
				@noon - (@n - i) * 1000000::bigint,
				CASE WHEN i >= @threads AND i / @channels % 4 > 0 THEN ` + fmt.Sprintf(ts, "i % @threads") + ` ELSE '' END,
				'U' || i * 7 % @users, REPEAT('what was said ', 8), TRUE, 1
			FROM generate_series(0, @n - 1) i`, []any{map[string]any{
			"n": n, "channels": benchChannels, "threads": benchThreads, "users": benchUsers, "noon": micros(noon),
		}}},
		{`INSERT INTO memories (team_id, channel_id, thread_ts, term, version, text, origin, made_us)
			SELECT 'T1', s.channel_id, s.thread_ts, t.term, v, (SELECT STRING_AGG(MD5(s.channel_id || s.thread_ts || v || g), '') FROM generate_series(1, t.size / 32) g), 'model', @noon - (3 - v) * 3600000000
			FROM (
				SELECT '' AS channel_id, '' AS thread_ts UNION ALL SELECT 'C' || i, '' FROM generate_series(0, @channels - 1) i
				UNION ALL SELECT 'C' || i % @channels, ` + fmt.Sprintf(ts, "i") + ` FROM generate_series(0, @threads - 1) i
			) s CROSS JOIN (VALUES ('long', 2000), ('short', 1200)) t(term, size) CROSS JOIN generate_series(1, 3) v
			WHERE s.thread_ts = '' OR t.term = 'short'`, []any{map[string]any{"channels": benchChannels, "threads": benchThreads, "noon": micros(noon)}}},
		{`UPDATE channels SET active_us = (SELECT MAX(m.sent_us) FROM messages m WHERE m.team_id = 'T1' AND m.channel_id = channels.channel_id)`, nil},
		{`INSERT INTO memory_scopes (team_id, channel_id, thread_ts, long_id, short_id, since_us, newest_us, revision, count, read_us, updated_us)
			SELECT 'T1', channel_id, thread_ts, MAX(id) FILTER (WHERE term = 'long'), MAX(id) FILTER (WHERE term = 'short'),
				CASE WHEN thread_ts = '' THEN @noon - 86400000000 ELSE 0 END, 0, '', 0, 0, MAX(made_us)
			FROM memories WHERE version = 3 GROUP BY channel_id, thread_ts`, []any{map[string]any{"noon": micros(noon)}}},
		// The workspace's are made of those of its public channels.
		{`UPDATE memories SET sources = (SELECT JSON_AGG(m.channel_id || '/' || m.id)::text FROM memories m JOIN channels c USING (team_id, channel_id)
			WHERE m.version = 3 AND m.thread_ts = '' AND m.term = memories.term AND NOT c.private) WHERE channel_id = ''`, nil},
		{"VACUUM ANALYZE", nil},
	} {
		if err := s.db.WithContext(b.Context()).Exec(statement.sql, statement.args...).Error; err != nil {
			b.Fatal(err)
		}
	}
}
