package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"myao/internal/runtime/timeout"
	"myao/test/testserver"
)

// withLater gives a store two migrations more, and returns the names of all: one that adds a column, and one that
// builds an index beside other programs' writes, as migrations/README.md has it.
func withLater(t *testing.T, s *Store) (names []string) {
	t.Helper()
	all := migrationsUpTo(t, s, 8000)
	all["08001_example.sql"] = &fstest.MapFile{Data: []byte(`-- +goose Up
ALTER TABLE messages ADD COLUMN example TEXT NOT NULL DEFAULT '';
`)}
	all["08002_example_index.sql"] = &fstest.MapFile{Data: []byte(`-- postgres: -- +goose NO TRANSACTION
-- +goose Up
-- postgres: CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_by_example ON messages (team_id, example);
-- sqlite: CREATE INDEX messages_by_example ON messages (team_id, example);
`)}
	s.migrations = all
	return slices.Sorted(maps.Keys(all))
}

// migrationsUpTo is a store's migrations up to a number.
func migrationsUpTo(t *testing.T, s *Store, number int) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	names, err := fs.Glob(s.migrations, "*.sql")
	must(t, err)
	for _, name := range names {
		data, err := fs.ReadFile(s.migrations, name)
		must(t, err)
		if name < fmt.Sprintf("%05d", number+1) {
			all[name] = &fstest.MapFile{Data: data}
		}
	}
	return all
}

// An upgrade of a filled database keeps every row, and fills in which workspace each one belongs to. It may be broken
// off and repeated. Programs of the version before can still write.
func TestMigrationsKeepWhatThereIs(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{"sqlite": sqliteURL, "postgres": func(t *testing.T) string { return testserver.Postgres(t) }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := url(t)
			db := database{Store: open(t, at)}
			db.migrations = migrationsUpTo(t, db.Store, 1)
			must(t, errOf(db.Migrate(t.Context())))
			const many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000) SELECT "
			for _, statement := range []string{
				"INSERT INTO messages (team_id, channel_id, ts, sent_us, text, stored_us) VALUES ('T1', 'C1', '1.000100', 1, 'text', 1)",
				"INSERT INTO channels (team_id, channel_id) VALUES ('T1', 'C1')",
				"INSERT INTO changes (workflow_id, ts, sent_us, kind, stored_us) " + many + "'thread/T1/C1/' || i, '1', 1, 'said', i FROM n",
				"INSERT INTO changes (workflow_id, ts, sent_us, kind, stored_us) VALUES ('channel/T2/C1', '1', 1, 'said', 1)",
				"INSERT INTO decisions (key, workflow_id, trigger_ts, source, outcome, decided_us) " + many + "'run/' || i, 'thread/T1/C1/' || i, '1', 'rule', 'silent', i FROM n",
				"INSERT INTO decisions (key, workflow_id, trigger_ts, source, outcome, decided_us) VALUES ('a', 'channel/T2/C1', '1', 'rule', 'silent', 1)",
				"INSERT INTO conversations (workflow_id) VALUES ('channel/T2/C1'), ('thread/T1/C1/1.0'), ('team/T1')",
				"INSERT INTO steps VALUES ('s', 'T1', 'C1', '', '1', 'run/1', 0, 0, '', 'tool', '{}', 'done', '', FALSE, 1, 1, 1, 1)",
				"INSERT INTO step_files (step_id, position, name, mime, data) VALUES ('s', 0, 'a', 'image/png', 'bytes')",
				"INSERT INTO revoked_tokens (token, cause, revoked_us) VALUES ('hash', 'app_uninstalled', 1)",
				"INSERT INTO mcp_tools VALUES ('desk', 'open', 'desk__open', '', '{}', '{}', TRUE, FALSE, 'f', 'f', 1, FALSE)",
				"UPDATE gaps SET newest = 7, closed = 6, closed_us = 5",
				"UPDATE hindsight SET decided_us = 3, decision = 'run/3'",
				"UPDATE search_state SET cursor_us = 9",
			} {
				db.exec(t, statement)
			}
			before := db.rows(t)
			db = database{Store: open(t, at)}              // its statements know no columns yet
			db.migrations = migrationsUpTo(t, db.Store, 4) // those after it are transactions in Postgres, too
			must(t, errOf(db.Migrate(t.Context())))
			check := func(when string) {
				t.Helper()
				after := db.rows(t)
				for table, rows := range before {
					if !slices.Equal(after[table], rows) {
						t.Errorf("%s: %s has other rows than before", when, table)
					}
				}
				for where, want := range map[string]int{"changes|team_id = 'T1'": 12000, "changes|team_id = 'T2'": 1, "decisions|team_id = 'T1'": 12000,
					"decisions|team_id = 'T2'": 1, "conversations|team_id = 'T1'": 2, "conversations|team_id = 'T2'": 1, "step_files|team_id = 'T1'": 1,
					"revoked_tokens|team_id = ''": 1, "mcp_tools|team_id = ''": 1, "runs|team_id = ''": 3} {
					table, condition, _ := strings.Cut(where, "|")
					db.wantRows(t, want, table, condition)
				}
			}
			check("migrated")
			if gaps, err := db.Gaps(t.Context(), "T1"); err != nil || gaps.Newest != 7 || !gaps.Closed.Equal(instant(5)) || !gaps.Due {
				t.Errorf("gaps: %+v, %v", gaps, err)
			}
			if db.sqlite == "" { // there the files are transactions
				db.exec(t, "UPDATE changes SET team_id = '' WHERE id % 3 = 0")
				db.exec(t, "DELETE FROM goose_db_version WHERE version_id >= 3")
				must(t, errOf(db.Migrate(t.Context())))
				check("broken off and repeated")
			}
			db = database{Store: open(t, at)}
			must(t, errOf(db.Migrate(t.Context())))
			check("migrated to the newest")
			for _, statement := range []string{ // of the version before
				"INSERT INTO runs (schedule, ran_us) VALUES ('memory', 5) ON CONFLICT (schedule) DO UPDATE SET ran_us = excluded.ran_us",
				"INSERT INTO mcp_tools (server, tool, name, description, schema, annotations, reads, act, fingerprint, allowed, seen_us, gone) " +
					"VALUES ('desk', 'open', '', '', '', '', TRUE, FALSE, '', '', 1, FALSE) ON CONFLICT (server, tool) DO UPDATE SET name = excluded.name",
				"UPDATE gaps SET newest = newest + 1 WHERE id = 1",
				"INSERT INTO changes (workflow_id, ts, sent_us, kind, stored_us) VALUES ('channel/T2/C2', '1', 1, 'said', 1)",
			} {
				db.exec(t, statement)
			}
			db.wantRows(t, 1, "runs", "schedule = 'memory' AND ran_us = 5")
		})
	}
}

// rows is all rows by table, as text and in order, without the columns that later migrations add.
func (db database) rows(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for table, columns := range db.textColumns(t) {
		var rows []map[string]any
		must(t, db.db.Table(table).Find(&rows).Error)
		for _, row := range rows {
			if !slices.Contains(columns, "channel_id") {
				delete(row, "team_id")
			}
			for _, column := range map[string][]string{"changes": {"named"}, "channels": {"remember"}}[table] {
				delete(row, column)
			}
			all[table] = append(all[table], fmt.Sprint(row))
		}
		slices.Sort(all[table])
	}
	return all
}

// Four programs start at once on a database without tables; SQLite's file does not even exist.
func TestConcurrentMigrationsApplyEachOnce(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for range 8 { // files are cheap, and races rare
			migrateAtOnce(t, sqliteURL(t))
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		migrateAtOnce(t, testserver.Postgres(t))
	})
}

func migrateAtOnce(t *testing.T, url string) {
	t.Helper()
	stores := make([]*Store, 4)
	wants, applied := make([][]string, len(stores)), make([][]string, len(stores))
	noErrors(t, concurrently(len(stores), func(i int) (err error) {
		if stores[i], err = Open(timeout.Extend(t.Context()), url); err != nil {
			return err
		}
		wants[i] = withLater(t, stores[i])
		applied[i], err = stores[i].Migrate(t.Context())
		return err
	}))
	if got := slices.Concat(applied...); !slices.Equal(got, wants[0]) {
		t.Errorf("applied %v, want %v", got, wants[0])
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
	for name, url := range map[string]string{"sqlite": sqliteURL(t), "postgres": testserver.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, url)
			want := withLater(t, s)
			var err error
			var unlock func() error
			if name == "sqlite" {
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
		for _, model := range []any{&messageRow{}, &changeRow{}, &conversationRow{}, &outboxRow{}, &Decision{}, &userRow{}, &channelRow{}, &memoryRow{}, &scopeRow{}, &callRow{}, &orderRow{}, &forgottenRow{}, &reactionRow{}, &erasedRow{}, &searchRow{}, &searchState{}, &commonRow{}, &outsiderRow{}, &Turn{}, &Step{}, &noteRow{}, &Proposal{}, &StepFile{}, &quoteRow{}, &writerRow{}, &MCPTool{}, &Vote{}, &Promise{}, &Label{}, &hindsightRow{}, &snapshotRow{}, &Opinion{}, &revokedRow{}, &starterRow{}, &gapRow{}, &runRow{}, &closedGapRow{}, &installationRow{}, &installationTeamRow{}, &allowedRow{}, &HookEvent{}, &settingRow{}} {
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
			if !tables[table] && !strings.HasPrefix(table, "sqlite_") && !strings.HasPrefix(table, "search_by_term") {
				// the latter are FTS5's
				t.Errorf("no model for table %s", table)
			}
		}
	})
}

// Tables of a version before the first release are refused in one sentence, and stay as they are.
func TestOldTablesAreRefused(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{"sqlite": sqliteURL, "postgres": func(t *testing.T) string { return testserver.Postgres(t) }} {
		for newest, statements := range map[int][]string{
			// of the 46 migrations that there were, the first and the last
			1:  {"CREATE TABLE outbox (key TEXT)"},
			46: {"CREATE TABLE outbox (key TEXT, turn_us BIGINT)", "CREATE TABLE gaps (id BIGINT)"},
		} {
			t.Run(fmt.Sprint(name, " ", newest), func(t *testing.T) {
				t.Parallel()
				db := database{Store: open(t, url(t))}
				for _, statement := range append(statements, "CREATE TABLE goose_db_version (version_id BIGINT, is_applied BOOLEAN)") {
					db.exec(t, statement)
				}
				for n := range newest + 1 {
					db.exec(t, fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, TRUE)", n))
				}
				for what, err := range map[string]error{"Version": errOf(db.Version(t.Context())), "Migrate": errOf(db.Migrate(t.Context()))} {
					if !errors.Is(err, ErrOldTables) || !strings.Contains(err.Error(), "636b1535") {
						t.Errorf("%s: %v", what, err)
					}
				}
				if db.db.Migrator().HasTable("messages") {
					t.Error("it has made tables")
				}
			})
		}
	}
}

// Texts are compared by their bytes, whatever the order of the database: ids, paths and keys mean the same on both
// databases, and an index that Postgres has built stays right when its system's language data change. Only what is
// looked for in any case of letters follows the database.
func TestTextsCompareByBytes(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		if db.sqlite != "" {
			db.wantRows(t, 0, "sqlite_master m, pragma_index_xinfo(m.name) x", "m.type = 'index' AND x.coll <> 'BINARY'")
			return
		}
		var others []string
		must(t, db.db.Raw(`SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = current_schema()
			AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C' ORDER BY 1`).Scan(&others).Error)
		if want := []string{"hook_events.text", "messages.text", "users.name"}; !slices.Equal(others, want) {
			t.Errorf("by the database's order: %v, want %v", others, want)
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
	asShipped, err := Open(t.Context(), db.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, asShipped.Close()) }()
	for range 3 { // held, so that each is a separate connection
		conn, err := asShipped.pool.Conn(t.Context())
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
	err = db.db.Transaction(func(*gorm.DB) error {
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
