package doctor

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
	"myao/test/storetest"
	"myao/test/testserver"
)

// checkSQLite runs the database checks on a SQLite file that change has prepared; exec runs
// SQL on it. A nil change leaves the file missing.
func checkSQLite(t *testing.T, change func(s *store.Store, path string, exec func(string))) []Finding {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data", "myao.db")
	if change != nil {
		s, err := store.Open(t.Context(), "sqlite:"+path)
		testserver.Must(t, err)
		change(s, path, func(statement string) {
			db, err := sql.Open("sqlite3", "file:"+path)
			testserver.Must(t, err)
			defer func() { _ = db.Close() }()
			testserver.Must(t, testserver.ErrOf(db.ExecContext(t.Context(), statement)))
		})
		testserver.Must(t, s.Close())
	}
	return checkDatabase(t, "sqlite:"+path, time.Now)
}

// checkDatabase runs the database checks: database, file, migrations, backlog, writes.
func checkDatabase(t *testing.T, url string, clock func() time.Time) []Finding {
	t.Helper()
	c := config.Default()
	c.Database.URL = url
	e := &examination{Doctor: Doctor{Config: c, Clock: clock}, freeSpace: freeSpace}
	defer e.close()
	return runChecks(timeout.Extend(t.Context()), databaseChecks(e))
}

func databaseChecks(e *examination) []check {
	return []check{
		{name: "database", run: e.database}, {name: "database file", needs: "database", run: e.file},
		{name: "migrations", needs: "database", run: e.migrations}, {name: "backlog", needs: "migrations", run: e.backlog},
		{name: "database writes", needs: "database", run: e.writes},
	}
}

func migrate(s *store.Store, _ string, _ func(string)) { _, _ = s.Migrate(context.Background()) }

func TestDatabase(t *testing.T) {
	t.Parallel()
	const version = "goose_db_version"
	for _, tc := range []struct {
		name     string
		change   func(*store.Store, string, func(string))
		statuses [5]Status
		says     [5]string
	}{
		{"as it should be", migrate, [5]Status{OK, OK, OK, OK, OK}, [5]string{"answers", "only its owner", "all", "nothing waits", "accepts writes"}},
		{"no file yet", nil, [5]Status{Warn, Skip, Skip, Skip, Skip}, [5]string{"does not exist yet"}},
		{"without tables", func(*store.Store, string, func(string)) {}, [5]Status{OK, OK, Warn, Skip, OK}, [5]string{"", "", "no tables yet"}},
		{"of before the first release", func(_ *store.Store, _ string, exec func(string)) {
			exec("CREATE TABLE " + version + " (version_id BIGINT, is_applied BOOLEAN)")
			exec("INSERT INTO " + version + " (version_id, is_applied) VALUES (1, true)")
		}, [5]Status{OK, OK, Fail, Skip, OK}, [5]string{"", "", "nothing after revision 636b1535 can bring them up to date"}},
		{"of a newer program", func(s *store.Store, path string, exec func(string)) {
			migrate(s, path, exec)
			exec("INSERT INTO " + version + " (version_id, is_applied) VALUES (9999, true)")
		}, [5]Status{OK, OK, Fail, Skip, OK}, [5]string{"", "", "newer than this program, by 1 migration"}},
		{"readable by everybody", func(s *store.Store, path string, exec func(string)) {
			migrate(s, path, exec)
			_ = os.Chmod(path, 0o644)
		}, [5]Status{OK, Warn, OK, OK, OK}, [5]string{"", "chmod 600"}},
		{"not a database", func(_ *store.Store, path string, _ func(string)) {
			_ = os.WriteFile(path, []byte("these are my holiday pictures, and no database at all"), 0o600)
		}, [5]Status{Fail, Skip, Skip, Skip, Skip}, [5]string{"set database.url to another file"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for i, f := range checkSQLite(t, tc.change) {
				expect(t, f, tc.statuses[i], tc.says[i])
			}
		})
	}
}

func TestCompareVersions(t *testing.T) {
	t.Parallel()
	expect(t, compareVersions(store.Version{Applied: []string{"1", "2"}}), OK, "all 2 are applied")
	expect(t, compareVersions(store.Version{Applied: []string{"1"}, Pending: []string{"2", "3"}}), Warn, "pending: 2, 3")
	expect(t, compareVersions(store.Version{Applied: []string{"1"}, Unknown: []int64{3}}), Fail, "newer than this program, by 1 migration")
}

func TestPromises(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	now := time.Now()
	promises := func(want Status, says string) {
		t.Helper()
		e := &examination{Doctor: Doctor{Config: config.Default(), Clock: func() time.Time { return now }}, db: s}
		expect(t, e.promises(t.Context()), want, says)
	}
	promises(OK, "0 promises open, none late")
	for id, due := range map[string]time.Duration{"soon": time.Hour, "late": -3 * time.Hour, "just now": -time.Minute} {
		testserver.Must(t, testserver.ErrOf(s.AddPromise(t.Context(), store.Promise{Choice: store.Choice{ID: id, TeamID: "T1", ChannelID: "C1", Decision: "r"}, DueUS: now.Add(due).UnixMicro()}, store.PromiseLimits{Conversation: 9})))
	}
	testserver.Must(t, testserver.ErrOf(s.ShowPromises(t.Context(), "r", "1.000000")))
	promises(Warn, "3 promises open, 1 of them late, the oldest for 3 hours → start a starter and a worker")
	testserver.Must(t, s.HoldPromises(t.Context(), chat.Conversation{Team: "T1", Channel: "C1"}, now.Add(time.Minute)))
	promises(OK, "3 promises open, none late")
}

// On a full disk a transaction can begin but not commit.
func TestBudget(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	now := time.Now()
	testserver.Must(t, s.SaveChannel(t.Context(), "T1", store.Channel{ID: "C1"}))
	for _, tokens := range []int{790, 10, 200} {
		testserver.Must(t, s.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T1"}, TokensIn: tokens, Ended: now}))
	}
	for limit, want := range map[config.Response]struct {
		status Status
		says   string
	}{
		{}:                           {Warn, "nothing limits what the whole workspace may cost"},
		{WorkspaceDailyTokens: 1300}: {OK, "3 model calls and 1000 tokens today, 77 % of its budget"},
		{WorkspaceDailyTokens: 1250}: {Warn, "80 % of its budget → starter usage"},
		{WorkspaceDailyTokens: 1250, WorkspaceDailyCalls: 3}: {Warn, "100 % of its budget: nothing is judged, answered or remembered until tomorrow → "},
	} {
		c := config.Default()
		c.Response = limit
		e := &examination{Doctor: Doctor{Config: c, Clock: func() time.Time { return now }}, db: s}
		expect(t, e.budget(t.Context()), want.status, want.says)
	}
	// A workspace's own budget counts for it.
	calls := 3
	c := config.Default()
	c.Workspaces = map[string]config.Workspace{"T1": {DailyCalls: &calls}}
	e := &examination{Doctor: Doctor{Config: c, Clock: func() time.Time { return now }}, db: s}
	expect(t, e.budget(t.Context()), Warn, "100 % of its budget")
}

func TestDatabaseOnAFullDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "myao.db")
	s, err := store.Open(t.Context(), "sqlite:"+path)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	for _, tc := range []struct {
		left  uint64
		known bool
		want  Status
		says  string
	}{
		{0, true, Fail, "has 0 KiB left"}, {300 << 10, true, Fail, "has 300 KiB left"}, {minFreeSpace, true, OK, ""}, {0, false, OK, ""},
	} {
		c := config.Default()
		c.Database.URL = "sqlite:" + path
		e := &examination{Doctor: Doctor{Config: c}, db: s, freeSpace: func(string) (uint64, bool) { return tc.left, tc.known }}
		expect(t, e.file(t.Context()), tc.want, tc.says)
	}
}

func TestDatabaseIsNotCreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testserver.Must(t, os.WriteFile(filepath.Join(dir, "obstacle"), nil, 0o600))
	expect(t, checkDatabase(t, "sqlite:"+dir+"/a/b/myao.db", time.Now)[0], Warn, "does not exist yet")
	expect(t, checkDatabase(t, "sqlite:"+dir+"/obstacle/myao.db", time.Now)[0], Fail, "obstacle")
	expect(t, checkDatabase(t, "postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable", time.Now)[0], Fail, "start Postgres")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v; want only the obstacle", entries, err)
	}
}

func TestPostgresThatRefuses(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(testserver.StartPostgres(t).URL)
	testserver.Must(t, err)
	stranger, elsewhere := *server, *server
	stranger.User, elsewhere.Path = url.UserPassword("stranger", "hunter2"), "/nowhere"
	expect(t, checkDatabase(t, stranger.String(), time.Now)[0], Fail, `"stranger" does not exist (SQLSTATE 28000) → set database.url to an existing user`)
	expect(t, checkDatabase(t, elsewhere.String(), time.Now)[0], Fail, `"nowhere" does not exist (SQLSTATE 3D000) → create the database`)
}

// Databases that cannot have the tables, or could not store every text.
func TestPostgresWithoutAUsableSchema(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(testserver.StartPostgres(t).URL)
	testserver.Must(t, err)
	db, err := sql.Open("pgx", server.String())
	testserver.Must(t, err)
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		"REVOKE CREATE ON SCHEMA public FROM PUBLIC", // the default since Postgres 15
		"CREATE ROLE guest LOGIN",
		"CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0",
	} {
		testserver.Must(t, testserver.ErrOf(db.ExecContext(t.Context(), statement)))
	}
	guest, elsewhere, latin := *server, *server, *server
	guest.User, elsewhere.RawQuery, latin.Path = url.User("guest"), "sslmode=disable&search_path=nowhere", "/latin"
	for _, tc := range []struct {
		url       url.URL
		want      Status
		says, fix string
	}{
		{*server, Warn, "there are no tables yet", "start the starter or the worker"},
		{guest, Fail, "the role may not make tables: guest, in the schema public", "GRANT CREATE"},
		{elsewhere, Fail, "there is no schema to make tables in: search_path is nowhere", "create the schema"},
		{latin, Fail, "the database's encoding is not UTF8 but LATIN1", "create the database again"},
	} {
		f := checkDatabase(t, tc.url.String(), time.Now)[2]
		expect(t, f, tc.want, tc.says)
		expect(t, f, tc.want, tc.fix)
		if tc.want != Fail {
			continue
		}
		s, err := store.Open(t.Context(), tc.url.String())
		testserver.Must(t, err)
		if _, err := s.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("migrated: %v, want %q", err, tc.says)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A file that another program has locked can only be read.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "myao.db")
	s, err := store.Open(t.Context(), "sqlite:"+path)
	testserver.Must(t, err)
	defer func() { _ = s.Close() }()
	migrate(s, "", nil)
	unlock := testserver.LockSQLite(t, path)
	defer func() { _ = unlock() }()
	c := config.Default()
	c.Database.URL = "sqlite:" + path
	e := &examination{Doctor: Doctor{Config: c, Clock: time.Now}, freeSpace: freeSpace}
	defer e.close()
	reads := runChecks(timeout.Extend(t.Context()), databaseChecks(e)[:4])
	for i, f := range reads {
		expect(t, f, OK, [4]string{"answers", "", "", ""}[i])
	}
	expect(t, e.writes(t.Context()), Fail, "locked → end the program that locks the file") // once its limit is over
}

func TestChannelIDs(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "myao.db"))
	testserver.Must(t, err)
	defer func() { _ = s.Close() }()
	e := &examination{Doctor: Doctor{Config: config.Default()}}
	expect(t, e.ids(t.Context()), Skip, "no database yet")
	e.db = s
	expect(t, e.ids(t.Context()), Skip, "no tables yet")
	migrate(s, "", nil)
	for _, from := range []string{"G1", "G2", "G3"} {
		testserver.Must(t, s.MoveChannel(t.Context(), store.Move{Team: "T1", From: from, To: "C" + from, Mute: time.Now().Add(conversation.MuteDuration)}))
	}
	expect(t, e.ids(t.Context()), OK, "no settings")
	e.Config.Channels = map[string]config.Channel{"G1": {}, "CG1": {}, "G2": {}, "C4": {}}
	expect(t, e.ids(t.Context()), Warn, "the bot muted them: G2 is CG2 now → move")
}

func TestLostWork(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "myao.db"))
	testserver.Must(t, err)
	defer func() { _ = s.Close() }()
	e := &examination{Doctor: Doctor{Config: config.Default()}}
	expect(t, e.lost(t.Context()), Skip, "no database yet")
	e.db = s
	expect(t, e.lost(t.Context()), Skip, "no tables yet")
	migrate(s, "", nil)
	expect(t, e.lost(t.Context()), OK, "has ended")
	c := chat.Conversation{Team: "T1", Channel: "C1", Thread: "1.000000"}
	testserver.Must(t, s.SaveLost(t.Context(), c))
	testserver.Must(t, s.SaveLost(t.Context(), c))
	expect(t, e.lost(t.Context()), Warn, "it hung: "+c.ID()+" → look at the last files")
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "myao.db")
	s, err := store.Open(t.Context(), url)
	testserver.Must(t, err)
	defer func() { _ = s.Close() }()
	migrate(s, "", nil)
	m := chat.Message{Team: "T1", Channel: "C1", TS: "1700000000.000100", UserID: "U1", Text: "hello?"}
	if _, err := s.Record(t.Context(), m, func(store.Known) store.Entry {
		return store.Entry{Message: &m, Changes: []store.Change{{
			Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Change: conversation.Change{TS: m.TS, Kind: conversation.Said},
		}}}
	}); err != nil {
		t.Fatal(err)
	}
	expect(t, checkDatabase(t, url, time.Now)[3], OK, "1 change to be relayed")
	expect(t, checkDatabase(t, url, shifted(3*time.Minute))[3], Warn, "for 3 minutes")

	index := func(clock func() time.Time) Finding {
		e := &examination{Doctor: Doctor{Config: config.Default(), Clock: clock}, db: s}
		return e.searchIndex(t.Context())
	}
	expect(t, index(time.Now), OK, "has yet to get")
	expect(t, index(shifted(3*time.Minute)), Warn, "has about 0 messages, and has yet to get those stored since 2")
	testserver.Must(t, testserver.ErrOf(s.Index(t.Context(), time.Time{}, 10)))
	expect(t, index(shifted(3*time.Minute)), OK, "has all messages, about 1")
}
