package testserver_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"

	"myao/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func dial(t *testing.T, address string) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, ConnectionOptions: testserver.PatientCalls()})
	testserver.Must(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestTemporalIsHealthyAndShared(t *testing.T) {
	address := testserver.Temporal(t)
	if _, err := dial(t, address).CheckHealth(t.Context(), &client.CheckHealthRequest{}); err != nil {
		t.Error(err)
	}
	if again := testserver.Temporal(t); again != address {
		t.Errorf("a second call started another server: %s and %s", address, again)
	}
}

func TestTemporalUsesTheServerOfTheEnvironment(t *testing.T) {
	t.Setenv("TEST_TEMPORAL_ADDRESS", "temporal.test:7233")
	if got := testserver.Temporal(t); got != "temporal.test:7233" {
		t.Errorf("got %s", got)
	}
}

func TestTemporalServerKeepsItsStateAcrossRestarts(t *testing.T) {
	s := testserver.StartTemporal(t, filepath.Join(t.TempDir(), "temporal.db"), 0)
	address := s.Address
	run, err := dial(t, address).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "none"}, "Kept")
	testserver.Must(t, err)
	for name, end := range map[string]func(){"killed": s.Kill, "stopped": s.Stop, "running": func() {}} {
		end()
		if portOpen(address) != (name == "running") {
			t.Errorf("%s, the server has its port open: %v", name, portOpen(address))
		}
		s.Restart()
		if s.Address != address {
			t.Fatalf("the address changed from %s to %s", address, s.Address)
		}
		got, err := dial(t, address).DescribeWorkflowExecution(t.Context(), "kept", "")
		testserver.Must(t, err)
		if id := got.WorkflowExecutionInfo.Execution.RunId; id != run.GetRunID() {
			t.Errorf("run %s became %s", run.GetRunID(), id)
		}
	}
	s.Stop()
	if portOpen(address) {
		t.Error("a stopped server still listens")
	}
}

func portOpen(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func scan(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var got string
	if err := db.QueryRowContext(t.Context(), query).Scan(&got); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return got
}

func TestPostgresDatabasesAreEmptyAndSeparate(t *testing.T) {
	var urls []string
	for range 2 {
		u := testserver.Postgres(t)
		db := open(t, u)
		if n := scan(t, db, "SELECT count(*)::text FROM pg_tables WHERE schemaname = current_schema()"); n != "0" {
			t.Errorf("a new database has %s tables", n)
		}
		testserver.Must(t, testserver.ErrOf(db.ExecContext(t.Context(), "CREATE TABLE messages (body text); INSERT INTO messages VALUES ('こんにちは')")))
		if got := scan(t, db, "SELECT body FROM messages"); got != "こんにちは" {
			t.Errorf("got %q", got)
		}
		urls = append(urls, u)
	}
	if urls[0] == urls[1] {
		t.Errorf("two calls share %s", urls[0])
	}
}

func TestPostgresDatabaseIsDroppedWithItsTestEvenIfInUse(t *testing.T) {
	var u string
	t.Run("uses it", func(t *testing.T) {
		u = testserver.Postgres(t)
		pool, err := pgxpool.New(context.Background(), u)
		testserver.Must(t, err)
		testserver.Must(t, pool.Ping(t.Context()))
		// Do not close the pool: a test that forgets to must not break the next one.
	})
	if err := open(t, u).PingContext(t.Context()); err == nil {
		t.Error("the database is still there")
	}
}

func TestOnlyDurablePostgresSyncs(t *testing.T) {
	if os.Getenv("TEST_DATABASE_URL") != "" {
		t.Log("the server of TEST_DATABASE_URL has its own settings")
		return
	}
	for url, want := range map[string]string{testserver.Postgres(t): "off", testserver.DurablePostgres(t): "on"} {
		if got := scan(t, open(t, url), "SHOW fsync"); got != want {
			t.Errorf("fsync is %s, want %s", got, want)
		}
	}
}

func TestPostgresUsesTheServerOfTheEnvironment(t *testing.T) {
	server := testserver.Postgres(t)
	testserver.Must(t, testserver.ErrOf(open(t, server).ExecContext(t.Context(), "CREATE TABLE theirs (x int)")))
	t.Setenv("TEST_DATABASE_URL", server)
	var u string
	t.Run("as its owner", func(t *testing.T) {
		u = testserver.Postgres(t)
		if u == server || scan(t, open(t, u), "SELECT count(*)::text FROM pg_tables WHERE schemaname = 'public'") != "0" {
			t.Errorf("%s is not a separate, empty database", u)
		}
	})
	if err := open(t, u).PingContext(t.Context()); err == nil {
		t.Error("the database is still there")
	}
}

func TestPostgresUsesASchemaIfItMayNotCreateADatabase(t *testing.T) {
	server := testserver.Postgres(t)
	db := open(t, server)
	guest := fmt.Sprintf("guest_%d", time.Now().UnixNano())
	name := scan(t, db, "SELECT current_database()")
	testserver.Must(t, testserver.ErrOf(db.ExecContext(t.Context(), fmt.Sprintf(`CREATE ROLE %s LOGIN PASSWORD 'x'; GRANT CREATE ON DATABASE %s TO %s`, guest, name, guest))))
	t.Cleanup(func() {
		_, _ = db.ExecContext(context.Background(), fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %s", guest, guest))
	})
	as, err := url.Parse(server)
	testserver.Must(t, err)
	as.User = url.UserPassword(guest, "x")
	t.Setenv("TEST_DATABASE_URL", as.String())
	t.Run("as a guest", func(t *testing.T) {
		mine := open(t, testserver.Postgres(t))
		testserver.Must(t, testserver.ErrOf(mine.ExecContext(t.Context(), "CREATE TABLE messages (x int)")))
		if got := scan(t, mine, "SELECT schemaname FROM pg_tables WHERE tablename = 'messages'"); got == "public" {
			t.Errorf("the table is in %s", got)
		}
	})
	if n := scan(t, db, "SELECT count(*)::text FROM pg_tables WHERE tablename = 'messages'"); n != "0" {
		t.Error("the schema is still there")
	}
}

// TestServersDieWithAKilledTestBinary runs this binary again, waits until it has started
// both servers, and kills it.
func TestServersDieWithAKilledTestBinary(t *testing.T) {
	if os.Getenv("TESTSERVER_VICTIM") != "" {
		fmt.Println(testserver.Temporal(t))
		u, err := url.Parse(testserver.Postgres(t))
		testserver.Must(t, err)
		fmt.Println(u.Host)
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or the test that started it is gone
		return
	}
	if os.Getenv("TEST_TEMPORAL_ADDRESS") != "" || os.Getenv("TEST_DATABASE_URL") != "" {
		t.Log("this test needs servers that the test binary has started")
		return
	}
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServersDieWithAKilledTestBinary$", "-test.v=false")
	// The test removes what the victim leaves behind. Postgres's account needs access.
	dir, err := os.MkdirTemp("", "myao-victim-")
	testserver.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	testserver.Must(t, os.Chmod(dir, 0o755))
	victim.Env = append(os.Environ(), "TESTSERVER_VICTIM=1", "TMPDIR="+dir)
	in, err := victim.StdinPipe()
	testserver.Must(t, err)
	defer func() { _ = in.Close() }()
	out, err := victim.StdoutPipe()
	testserver.Must(t, err)
	testserver.Must(t, victim.Start())
	lines := bufio.NewScanner(out)
	var addresses []string
	for len(addresses) < 2 && lines.Scan() {
		addresses = append(addresses, lines.Text())
	}
	for _, address := range addresses {
		if !portOpen(address) {
			t.Errorf("nothing listens on %q", address)
		}
	}
	if len(addresses) < 2 {
		t.Errorf("got addresses %q", addresses)
	}
	_ = victim.Process.Kill()
	_ = victim.Wait()
	deadline := time.Now().Add(time.Minute)
	for _, address := range addresses {
		for portOpen(address) {
			if time.Now().After(deadline) {
				t.Fatalf("the server on %s still runs after its test binary died", address)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}
