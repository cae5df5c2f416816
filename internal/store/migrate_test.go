package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/testserver"
)

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := migrations.ReadDir("migrations/" + dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestBothDatabasesHaveTheSameMigrations(t *testing.T) {
	t.Parallel()
	if a, b := files(t, "sqlite"), files(t, "postgres"); len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("sqlite has %v, postgres %v", a, b)
	}
}

// Four programs start at once on a database without tables; SQLite's file does not even exist.
func TestConcurrentMigrationsApplyEachOnce(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for range 8 { // files are cheap, and races rare
			migrateAtOnce(t, sqliteURL(t), files(t, "sqlite"))
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		migrateAtOnce(t, testserver.Postgres(t), files(t, "postgres"))
	})
}

func migrateAtOnce(t *testing.T, url string, want []string) {
	t.Helper()
	stores := make([]*Store, 4)
	applied := make([][]string, len(stores))
	noErrors(t, concurrently(len(stores), func(i int) (err error) {
		if stores[i], err = Open(t.Context(), url); err != nil {
			return err
		}
		applied[i], err = stores[i].Migrate(t.Context())
		return err
	}))
	if got := slices.Concat(applied...); !slices.Equal(got, want) {
		t.Errorf("applied %v, want %v", got, want)
	}
	for _, s := range stores {
		if s == nil {
			continue
		}
		if again, err := s.Migrate(t.Context()); err != nil || len(again) != 0 {
			t.Errorf("migrating again: %v, %v", again, err)
		}
		if _, err := s.Backlog(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMigrateGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	s := open(t, url)
	unlock, err := lockSQLite(t.Context(), s.sqlite)
	if err != nil {
		t.Fatal(err)
	}
	if err := within(t, 200*time.Millisecond, "Migrate", func(ctx context.Context) error {
		return errOf(s.Migrate(ctx))
	}); err == nil {
		t.Error("migrated while another program does")
	}
	must(t, unlock())
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}

// Waiting for another program, and many migrations, are reported.
func TestMigrateWithProgress(t *testing.T) {
	t.Parallel()
	for dir, url := range map[string]string{"sqlite": sqliteURL(t), "postgres": testserver.Postgres(t)} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			s := open(t, url)
			var err error
			var unlock func() error
			if dir == "sqlite" {
				unlock, err = lockSQLite(t.Context(), s.sqlite)
			} else {
				unlock, err = lockPostgres(t.Context(), open(t, url).pool)
			}
			if err != nil {
				t.Fatal(err)
			}
			waited := 0
			var lefts []int
			var next []string
			tell := Progress{
				Waiting: func() {
					if waited++; unlock() != nil {
						t.Error("the lock is not held any more")
					}
				},
				Applying: func(left []string) { lefts, next = append(lefts, len(left)), append(next, left[0]) },
			}
			want := files(t, dir)
			if applied, err := s.MigrateWithProgress(t.Context(), tell); err != nil || !slices.Equal(applied, want) || !slices.Equal(next, want) {
				t.Errorf("applied %v, %v, told of %v; want %v", applied, err, next, want)
			}
			if waited != 1 || lefts[0] != len(want) || lefts[len(lefts)-1] != 1 {
				t.Errorf("told %d times to wait, and that %v are left", waited, lefts)
			}
			lefts, tell.Waiting = nil, nil
			if applied, err := s.MigrateWithProgress(t.Context(), tell); err != nil || len(applied)+len(lefts) != 0 {
				t.Errorf("again: applied %v, %v, told of %v", applied, err, lefts)
			}
		})
	}
}

// Waiting is told once, late, and not after the lock is there.
func TestWaitingIsToldLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			wait time.Duration
			want int
		}{{waitingNoticeAfter - 1, 0}, {waitingNoticeAfter + 1, 1}, {10 * waitingNoticeAfter, 1}} {
			told := 0
			over := Progress{Waiting: func() { told++ }}.notifyWaiting()
			time.Sleep(test.wait)
			over()
			time.Sleep(10 * waitingNoticeAfter)
			if told != test.want {
				t.Errorf("after %v it is told %d times, want %d", test.wait, told, test.want)
			}
		}
	})
}

// A pooler in transaction mode keeps a connection only for a transaction. A server that ends idle
// transactions does not end this one.
func TestMigrationLockBelongsToATransaction(t *testing.T) {
	t.Parallel()
	url := testserver.Postgres(t)
	config, err := pgx.ParseConfig(with(url, "idle_in_transaction_session_timeout=1h"))
	if err != nil {
		t.Fatal(err)
	}
	var holder *pgx.Conn // that of the lock, which the pool does not hand out meanwhile
	mine := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(_ context.Context, c *pgx.Conn) error {
		holder = c
		return nil
	}))
	defer func() { _ = mine.Close() }()
	theirs := open(t, url).pool
	unlock, err := lockPostgres(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	var state string
	const whose = `SELECT a.state FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database() AND a.pid = $1`
	err = theirs.QueryRowContext(t.Context(), whose, holder.PgConn().PID()).Scan(&state)
	if err != nil || state != "idle in transaction" {
		t.Errorf("who holds the lock is %q, %v; want it to be in a transaction", state, err)
	}
	// The lock's transaction does not hold up an index that is built beside others' writes (migrations/README.md).
	if err := within(t, patience, "an index", func(ctx context.Context) error {
		if _, err := theirs.ExecContext(ctx, "CREATE TABLE large (id BIGINT)"); err != nil {
			return err
		}
		_, err := theirs.ExecContext(ctx, "CREATE INDEX CONCURRENTLY large_id ON large (id)")
		return err
	}); err != nil {
		t.Errorf("no index while the lock is held: %v", err)
	}
	var limit string
	err = holder.QueryRow(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&limit)
	if err != nil || limit != "0" {
		t.Errorf("the lock ends after %q idle, %v", limit, err)
	}
	if err := within(t, lockInterval/10, "lockPostgres", func(ctx context.Context) error {
		return errOf(lockPostgres(ctx, theirs))
	}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second one has the lock: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if unlock, err = lockPostgres(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

// A program that is killed while it migrates leaves no lock.
func TestMigrationLockEndsWithItsProcess(t *testing.T) {
	if path := os.Getenv("MYAO_TEST_LOCK"); path != "" {
		unlock, err := lockSQLite(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unlock() }()
		_, _ = os.Stdout.WriteString("locked\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test kills it, or ends
		return
	}
	t.Parallel()
	s := open(t, sqliteURL(t))
	holder := exec.Command(os.Args[0], "-test.run=^TestMigrationLockEndsWithItsProcess$")
	holder.Env = append(os.Environ(), "MYAO_TEST_LOCK="+s.sqlite)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	must(t, holder.Start())
	line := make([]byte, len("locked\n"))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "locked\n" {
		t.Errorf("the holder said %q, %v", line, err)
	}
	if err := within(t, 200*time.Millisecond, "Migrate", func(ctx context.Context) error {
		return errOf(s.Migrate(ctx))
	}); err == nil {
		t.Error("migrated while another process does")
	}
	_ = holder.Process.Kill()
	var exit *exec.ExitError
	if err := holder.Wait(); !errors.As(err, &exit) {
		t.Error(err)
	}
	if applied, err := s.Migrate(t.Context()); err != nil || len(applied) == 0 {
		t.Errorf("after its death: %v, %v", applied, err)
	}
}

// The models have exactly the tables' columns.
func TestModelsMatchTheTables(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		tables := map[string]bool{"goose_db_version": true}
		for _, model := range []any{&messageRow{}, &changeRow{}, &conversationRow{}, &outboxRow{}, &Decision{}, &userRow{}, &channelRow{}, &memoryRow{}, &scopeRow{}, &callRow{}, &orderRow{}, &forgottenRow{}, &reactionRow{}, &erasedRow{}, &searchRow{}, &searchState{}, &commonRow{}, &outsiderRow{}, &Turn{}, &Step{}, &noteRow{}, &Proposal{}, &StepFile{}, &quoteRow{}, &writerRow{}, &MCPTool{}, &Vote{}, &Promise{}, &Label{}, &hindsightRow{}, &snapshotRow{}, &Opinion{}, &revokedRow{}, &starterRow{}, &gapRow{}, &runRow{}} {
			s, err := schema.Parse(model, &sync.Map{}, db.db.NamingStrategy)
			if err != nil {
				t.Fatal(err)
			}
			tables[s.Table] = true
			want := slices.Sorted(slices.Values(s.DBNames))
			types, err := db.db.Migrator().ColumnTypes(model)
			if err != nil {
				t.Fatal(err)
			}
			var got, keys []string
			for _, c := range types {
				got = append(got, c.Name())
				if primary, _ := c.PrimaryKey(); primary {
					keys = append(keys, c.Name())
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s has the columns\n%v, the model\n%v", s.Table, got, want)
			}
			slices.Sort(keys)
			// gormlite does not report the columns of a composite key.
			if wantKeys := slices.Sorted(slices.Values(s.PrimaryFieldDBNames)); !slices.Equal(keys, wantKeys) && db.sqlite == "" {
				t.Errorf("%s has the key %v, the model %v", s.Table, keys, wantKeys)
			}
		}
		all, err := db.db.Migrator().GetTables()
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range all {
			if !tables[table] && !strings.HasPrefix(table, "sqlite_") && !strings.HasPrefix(table, "search_by_term") { // the latter are FTS5's
				t.Errorf("no model for table %s", table)
			}
		}
	})
}

// A database of the first version keeps its contents, up and down.
func TestMemoryMigrationKeepsData(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		dialect, dir := goose.DialectPostgres, "postgres"
		if db.sqlite != "" {
			dialect, dir = goose.DialectSQLite3, "sqlite"
		}
		m, err := migrator(dialect, dir, db.pool)
		if err != nil {
			t.Fatal(err)
		}
		exec := func(sql string) {
			t.Helper()
			if err := db.db.Exec(sql).Error; err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		down := func() {
			t.Helper()
			must(t, errOf(m.DownTo(t.Context(), 1)))
		}
		down()
		exec("INSERT INTO channels (team_id, channel_id, name, refreshed_us) VALUES ('T1', 'C1', 'general', 7), ('T1', 'C2', '', 0)")
		for _, m := range []chat.Message{said(at(1), ""), in("C3", said(at(3), ""))} {
			row, err := newMessageRow(m, true, 5)
			if err != nil {
				t.Fatal(err)
			}
			must(t, db.db.Omit("through").Create(&row).Error) // a later migration adds it
		}
		for _, when := range []string{"at first", "again"} {
			if applied, err := db.Migrate(t.Context()); err != nil || len(applied) != len(files(t, dir))-1 {
				t.Fatalf("%s: applied %v, %v", when, applied, err)
			}
			known := instant(7)
			if got, want := db.channel(t, "C1"), (Channel{ID: "C1", Name: "general", Member: true, Refreshed: known, KnownSince: known}); got != want {
				t.Errorf("%s: a channel that Slack was asked about is %+v, want %+v", when, got, want)
			}
			if got, want := db.channel(t, "C2"), (Channel{ID: "C2"}); got != want {
				t.Errorf("%s: another channel is %+v, want %+v", when, got, want)
			}
			if got, err := db.Message(t.Context(), team, channel, at(1)); err != nil || got.Text != said(at(1), "").Text {
				t.Errorf("%s: the message is %+v, %v", when, got, err)
			}
			for id, second := range map[string]int{"C1": 1, "C3": 3} {
				k, err := db.Knowledge(t.Context(), team, id, time.Time{}, 10, 0)
				if want := chat.Time(at(second)); err != nil || len(k.Channels) == 0 || k.Channels[0].Active != want {
					t.Errorf("%s: %s is %+v, %v; want it active at %v", when, id, k.Channels, err, want)
				}
			}
			db.remember(t, noon, theChannel, aThread, workspace)
			down()
			if got := db.count(t, "channels", "name = 'general' AND refreshed_us = 7"); got != 1 {
				t.Errorf("%s: back again there are %d channels", when, got)
			}
		}
	})
}

func TestSQLiteFileNames(t *testing.T) {
	t.Parallel()
	// Every possible file name leads to that file, also after a restart.
	for _, name := range []string{"plain.db", "a b.db", "100%.db", "%41.db", "what?.db", "what?mode=memory", "no#1.db", "a&b=c;d.db", "日本.db", "quote'\".db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new "+name)
			path := filepath.Join(dir, name)
			m := said(at(1), "")
			for range 2 {
				migrated(t, "sqlite:"+path).store(t, m)
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if !strings.HasPrefix(e.Name(), name) {
					t.Errorf("there is a file %q besides %q", e.Name(), name)
				}
			}
			for _, form := range []string{"sqlite://" + path, "sqlite:///" + path} {
				db := migrated(t, form)
				if _, err := db.Message(t.Context(), team, channel, m.TS); err != nil {
					t.Errorf("%s is not the same file: %v", form, err)
				}
			}
		})
	}
}

// SQLite has the settings that two processes sharing a file need, on every connection.
func TestSQLiteSettings(t *testing.T) {
	t.Parallel()
	db := migratedSQLite(t)
	for range 3 { // held, so that each is a separate connection
		conn, err := db.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000"} {
			var got string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
			}
		}
	}
	// A transaction holds the write lock from its beginning.
	err := db.db.Transaction(func(*gorm.DB) error {
		other := open(t, db.url)
		m := said(at(1), "")
		return within(t, 100*time.Millisecond, "Record", func(ctx context.Context) error {
			return errOf(other.Record(ctx, m, keep(m)))
		})
	})
	if err == nil {
		t.Error("two transactions write at once")
	}
}

// TestMain has the whole suite run in another zone.
func TestInstantsAreUTC(t *testing.T) {
	t.Parallel()
	if _, offset := noon.Local().Zone(); offset == 0 {
		t.Error("the zone is UTC")
	}
	if got := instant(micros(noon.Local())); got != noon {
		t.Errorf("%v became %v", noon, got)
	}
}

// Programs of one version keep working next to those of the next, whose migration has added
// columns. Each statement runs twice before, so that connections have prepared it.
func TestColumnsAddedWhileInUse(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		made := calls(db.Store)
		delete(made, "Migrate")
		names := slices.Sorted(maps.Keys(made))
		ask := func() (told []string) {
			for _, name := range names {
				told = append(told, fmt.Sprint(name, ": ", made[name](t.Context())))
			}
			return told
		}
		_, before := ask(), ask()
		tables, err := db.db.Migrator().GetTables()
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			if strings.HasPrefix(table, "sqlite_") || strings.HasPrefix(table, "search_by_term") { // FTS5's
				continue
			}
			db.exec(t, "ALTER TABLE "+table+" ADD COLUMN of_the_next_version TEXT NOT NULL DEFAULT ''")
		}
		for i, after := range ask() {
			if after != before[i] {
				t.Errorf("%s\nbefore the column was added %s", after, before[i])
			}
		}
	})
}

// What went with messages that are gone already is deleted or emptied when the tables are brought up to date. What is
// open, or still written, stays.
func TestMigrationEmptiesWhatIsGone(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		dialect, dir := goose.DialectPostgres, "postgres"
		if db.sqlite != "" {
			dialect, dir = goose.DialectSQLite3, "sqlite"
		}
		m, err := migrator(dialect, dir, db.pool)
		if err != nil {
			t.Fatal(err)
		}
		must(t, errOf(m.DownTo(t.Context(), 39)))
		must(t, db.db.Omit("through").Create([]messageRow{{TeamID: team, ChannelID: channel, TS: at(1), Deleted: true}, {TeamID: team, ChannelID: channel, TS: at(2), Text: "here"}}).Error)
		looked := func(key, trigger, tool, output string, outcome conversation.Outcome) {
			db.insert(t, &Decision{Key: key, Outcome: outcome}, &Turn{Decision: key, Text: "t", Opaque: "{}"},
				&Step{ID: key, TeamID: team, ChannelID: channel, TriggerTS: trigger, Decision: key, Tool: tool, Input: "i", Output: output}, &StepFile{StepID: key, Data: []byte{0}})
		}
		for i, ts := range []string{at(1), at(2)} {
			db.insert(t, &noteRow{Step: ts, TeamID: team, ChannelID: channel, TS: ts, Text: "n"})
			for _, state := range []ProposalState{ProposalOpen, ProposalDone} {
				db.insert(t, &Proposal{ID: fmt.Sprint(i, state), TeamID: team, ChannelID: channel, TriggerTS: ts, Input: "i", Output: "o", State: state})
			}
			for _, state := range []PromiseState{PromiseOpen, PromiseKept} {
				db.insert(t, &Promise{ID: fmt.Sprint(i, state), TeamID: team, ChannelID: channel, TriggerTS: ts, What: "w", Unless: "u", State: state})
			}
		}
		looked("of a deleted message", at(1), "open_link", "o", conversation.Sent)
		looked("shows messages", at(2), "search_messages", "\x01C1/"+at(2)+"\x01 o", conversation.Sent)
		looked("shows a file", at(2), "read_file", "o", conversation.Sent)
		looked("shows a page", at(2), "open_link", "o", conversation.Sent)
		looked("still written", at(2), "search_messages", "\x01C1/"+at(2)+"\x01 o", conversation.Pending)
		must(t, errOf(db.Migrate(t.Context())))
		for table, want := range map[string][]string{
			"notes WHERE text <> ''": {at(2)}, "proposals WHERE output <> ''": {"0open", "1done", "1open"}, "promises WHERE what || unless <> ''": {"0open", "1kept", "1open"},
			"steps WHERE output <> '' AND input <> '{}'": {"shows a page", "still written"}, "turns WHERE text || opaque <> ''": {"shows a page", "still written"}, "step_files WHERE TRUE": {"still written"},
		} {
			column := map[string]string{"notes": "ts", "turns": "decision", "step_files": "step_id"}[strings.Fields(table)[0]]
			var got []string
			must(t, db.db.Raw("SELECT "+cmp.Or(column, "id")+" FROM "+table).Scan(&got).Error)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("left with texts in %s: %q, want %q", table, got, want)
			}
		}
	})
}
