package bench

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
)

const (
	team = "T0BENCH"
	// observerRole is the test's role in the bot's database. It keeps the test's statements apart
	// from those of the programs.
	observerRole = "onlooker"
)

// servers are shared by all measurements: a Temporal server on its own Postgres, and a Postgres
// for the bot. Both sync every commit. Without full load it is Temporal's dev server.
type servers struct {
	temporal *testserver.TemporalServer
	postgres *testserver.PostgresServer
	client   client.Client // of the default namespace
	// temporalDB is the URL of the Temporal server's Postgres; empty for the dev server.
	temporalDB string
}

func startServers(b *bench) *servers {
	b.Helper()
	s := &servers{
		postgres: testserver.StartPostgres(b, "shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_utility=off", "shared_buffers=1GB", "max_wal_size=4GB"),
	}
	if b.full {
		db := testserver.StartPostgres(b, "shared_buffers=512MB", "max_wal_size=4GB")
		s.temporal, s.temporalDB = testserver.StartTemporalOnPostgres(b, db, 512, nil), db.URL
	} else {
		s.temporal = testserver.StartTemporal(b, filepath.Join(b.TempDir(), "temporal.db"), 0)
	}
	s.client = world.Dial(b, s.temporal.Address, client.DefaultNamespace)
	testserver.Must(b, testserver.ErrOf(world.DB(b, s.postgres.URL).ExecContext(b.Context(), "CREATE ROLE "+observerRole+" SUPERUSER LOGIN")))
	return s
}

// settings describes the servers' settings as they report them.
func (s *servers) settings(b *bench) string {
	b.Helper()
	cluster, err := s.client.WorkflowService().GetClusterInfo(b.Context(), &workflowservice.GetClusterInfoRequest{})
	testserver.Must(b, err)
	told := fmt.Sprintf("Temporal %s, %d shards, on %s", cluster.GetServerVersion(), cluster.GetHistoryShardCount(), cluster.GetPersistenceStore())
	if s.temporalDB != "" {
		told += ", " + strings.Join(testserver.TemporalGCEnv, ", ")
	}
	for _, p := range []struct{ of, url string }{{"the bot's", s.postgres.URL}, {"Temporal's", s.temporalDB}} {
		if p.url == "" {
			continue
		}
		var set string
		testserver.Must(b, world.DB(b, p.url).QueryRowContext(b.Context(), `SELECT current_setting('server_version') || ': ' || string_agg(name || ' ' || current_setting(name), ', ' ORDER BY name)
			FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size')`).Scan(&set))
		told += fmt.Sprintf("; %s Postgres %s", p.of, set)
	}
	return fmt.Sprintf("%s; %d rounds; the programs have their default settings unless a measurement says otherwise", told, b.rounds)
}

// openStore makes a database with the store's tables, and opens it by the store and by SQL.
func openStore(b *bench) (*store.Store, *sql.DB) {
	b.Helper()
	url := b.servers.postgres.Database()
	s, err := store.Open(b.Context(), url)
	testserver.Must(b, err)
	b.Cleanup(func() { _ = s.Close() })
	testserver.Must(b, testserver.ErrOf(s.Migrate(b.Context())))
	return s, world.DB(b, url)
}

// namespace makes a namespace and waits until the server knows it.
func (s *servers) namespace(b *bench, name string) client.Client {
	b.Helper()
	c := world.Dial(b, s.temporal.Address, name)
	world.Register(b, c, name)
	return c
}

// system is the running programs with a workspace.
type system struct {
	*world.World
	b        *bench
	db       *sql.DB
	starter  *world.Program
	worker   *world.Program
	channels []string
	person   string
}

// settings are what a world is built with.
type settings struct {
	name     string
	channels int
	// answer is the model; nil answers "I see."
	answer llmtest.Handler
	// response are lines of the configuration's section response; more returns further sections.
	response string
	more     func(channels []string) string
	// events makes the workspace deliver events.
	events bool
}

// build starts the programs and returns once the bot knows its channels.
func build(b *bench, o settings) *system {
	b.Helper()
	b.logf("%s: %d channels; %s", o.name, o.channels, strings.ReplaceAll(o.response, "\n", ", "))
	if o.answer == nil {
		o.answer = func(llmtest.Call) llmtest.Reply { return llmtest.Text("I see.") }
	}
	w := &system{b: b, World: world.New(b, world.Settings{
		Name: "bench-" + o.name, Temporal: b.servers.temporal.Address, Database: b.servers.postgres.Database(), Model: o.answer,
		Slack: workspace.Config{Team: team, Deliverers: 16, LogLimit: 1000},
	})}
	w.starter, w.worker = w.Starters[0], w.Workers[0]
	if !o.events {
		w.Workspace.SetEventsURL("")
	}
	w.person = w.Workspace.AddUser("alice").ID
	for i := range o.channels {
		w.channels = append(w.channels, w.Workspace.AddChannel(workspace.Public, fmt.Sprintf("room-%d", i), w.person, w.Workspace.Bot().UserID))
	}
	more := ""
	if o.more != nil {
		more = o.more(w.channels)
	}
	w.Configure("log: {level: warn}", "response: null",
		"response:\n  workspace_daily_calls: 100000000\n  workspace_daily_tokens: 1000000000000\n  "+strings.ReplaceAll(o.response, "\n", "\n  "), more)
	w.db = world.DB(b, strings.Replace(w.Database, "postgres@", observerRole+"@", 1))
	w.Start()
	w.worker.Ready()
	if o.channels > 100 {
		// To read so many takes as long as Slack's limits demand, and nothing was said yet.
		b.await("the channels", time.Minute, func() bool { return w.count("SELECT COUNT(*) FROM channels") >= o.channels })
		for _, read := range []string{"UPDATE channels SET read_gap = (SELECT newest FROM gaps)", "UPDATE gaps SET closed = newest"} {
			_, err := w.db.ExecContext(b.Context(), read)
			w.check(err)
		}
	}
	b.await("the catching up at start", time.Minute, func() bool {
		var done bool
		err := w.db.QueryRowContext(b.Context(), "SELECT closed > 0 FROM gaps").Scan(&done)
		return err == nil && done
	})
	return w
}

// close kills the programs, so that they do not slow down the next measurement.
func (w *system) close() {
	w.starter.Kill()
	w.worker.Kill()
}

// started waits until a program is ready and returns the time.
func (b *bench) started(p *world.Program) time.Time {
	b.Helper()
	return b.ready("http://" + p.Address + "/readyz")
}

// ready waits until a URL answers with 200 and returns the time.
func (b *bench) ready(url string) time.Time {
	b.Helper()
	b.await(url, time.Minute, func() bool {
		status, _ := world.Get(b, url)
		return status == http.StatusOK
	})
	return time.Now()
}

// count returns the number that a query returns.
func (w *system) count(query string, args ...any) int {
	w.b.Helper()
	var n int
	if err := w.db.QueryRowContext(w.b.Context(), query, args...).Scan(&n); err != nil {
		w.b.Fatalf("%s: %v", query, err)
	}
	return n
}

// await waits until done returns true and fails the measurement after within.
func (b *bench) await(what string, within time.Duration, done func() bool) {
	b.Helper()
	if !world.Within(b, max(within, world.Patience), 10*time.Millisecond, done) {
		b.Fatalf("waited %s for %s", max(within, world.Patience), what)
	}
}
