package bench

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
)

const (
	team   = "T0BENCH"
	secret = "bench-signing"
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
	s.client = s.dial(b, client.DefaultNamespace)
	db, err := sql.Open("pgx", s.postgres.URL)
	if err == nil {
		_, err = db.ExecContext(b.Context(), "CREATE ROLE "+observerRole+" SUPERUSER LOGIN")
	}
	if err != nil {
		b.Fatal(err)
	}
	_ = db.Close()
	return s
}

// settings describes the servers' settings as they report them.
func (s *servers) settings(b *bench) string {
	b.Helper()
	cluster, err := s.client.WorkflowService().GetClusterInfo(b.Context(), &workflowservice.GetClusterInfoRequest{})
	if err != nil {
		b.Fatal(err)
	}
	told := fmt.Sprintf("Temporal %s, %d shards, on %s", cluster.GetServerVersion(), cluster.GetHistoryShardCount(), cluster.GetPersistenceStore())
	if s.temporalDB != "" {
		told += ", " + strings.Join(testserver.TemporalGCEnv, ", ")
	}
	for _, p := range []struct{ of, url string }{{"the bot's", s.postgres.URL}, {"Temporal's", s.temporalDB}} {
		if p.url == "" {
			continue
		}
		db, err := sql.Open("pgx", p.url)
		if err != nil {
			b.Fatal(err)
		}
		var set string
		err = db.QueryRowContext(b.Context(), `SELECT current_setting('server_version') || ': ' || string_agg(name || ' ' || current_setting(name), ', ' ORDER BY name)
			FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size')`).Scan(&set)
		_ = db.Close()
		if err != nil {
			b.Fatal(err)
		}
		told += fmt.Sprintf("; %s Postgres %s", p.of, set)
	}
	return fmt.Sprintf("%s; %d rounds; the programs have their default settings unless a measurement says otherwise", told, b.rounds)
}

func (s *servers) dial(b *bench, namespace string) client.Client {
	b.Helper()
	c, err := client.NewLazyClient(client.Options{HostPort: s.temporal.Address, Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return c
}

// namespace makes a namespace and waits until the server knows it.
func (s *servers) namespace(b *bench, name string) client.Client {
	b.Helper()
	c := s.dial(b, name)
	_, err := s.client.WorkflowService().RegisterNamespace(b.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	var exists *serviceerror.NamespaceAlreadyExists
	if err != nil && !errors.As(err, &exists) {
		b.Fatal(err)
	}
	b.await("namespace "+name, time.Minute, func() bool {
		_, err := c.ListWorkflow(b.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
		return err == nil
	})
	return c
}

// world is the running programs with a workspace.
type world struct {
	b              *bench
	namespace      string
	workspace      *sandbox.Workspace
	model          *llmtest.Running
	client         client.Client
	db             *sql.DB
	url            string // of the database
	starterAddress string // host:port of the starter
	workerAddress  string // host:port of the worker
	starter        *testserver.Program
	worker         *testserver.Program
	channels       []string
	person         string
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
func build(b *bench, o settings) *world {
	b.Helper()
	programs, err := testserver.Programs()
	if err != nil {
		b.Fatal(err)
	}
	b.logf("%s: %d channels; %s", o.name, o.channels, strings.ReplaceAll(o.response, "\n", ", "))
	w := &world{
		b: b, namespace: fmt.Sprintf("bench-%s-%d", o.name, time.Now().UnixMilli()),
		url: b.servers.postgres.Database(), starterAddress: testserver.FreeAddress(b), workerAddress: testserver.FreeAddress(b),
	}
	if o.answer == nil {
		o.answer = func(llmtest.Call) llmtest.Reply { return llmtest.Text("I see.") }
	}
	w.model = llmtest.New(b, o.answer)
	w.client = b.servers.namespace(b, w.namespace)
	slack := sandbox.Config{Team: team, BotToken: "xoxb-bench", SigningSecret: secret, Deliverers: 16, LogLimit: 1000}
	if o.events {
		slack.EventsURL = "http://" + w.starterAddress + "/slack/events"
	}
	w.workspace = sandbox.New(slack)
	b.Cleanup(w.workspace.Close)
	api := httptest.NewServer(w.workspace.Handler())
	b.Cleanup(api.Close)
	w.person = w.workspace.AddUser("alice").ID
	for i := range o.channels {
		w.channels = append(w.channels, w.workspace.AddChannel(sandbox.Public, fmt.Sprintf("room-%d", i), w.person, w.workspace.Bot().UserID))
	}
	config := w.configure(o, api.URL)
	w.starter = w.program(filepath.Join(programs, "starter"), config)
	w.worker = w.program(filepath.Join(programs, "worker"), config)
	w.starter.Start()
	w.worker.Start()
	if w.db, err = sql.Open("pgx", strings.Replace(w.url, "postgres@", observerRole+"@", 1)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.db.Close() })
	w.ready(w.starterAddress)
	w.ready(w.workerAddress)
	if o.channels > 100 {
		// To read so many takes as long as Slack's limits demand, and nothing was said yet.
		b.await("the channels", time.Minute, func() bool { return w.count("SELECT COUNT(*) FROM channels") >= o.channels })
		for _, read := range []string{"UPDATE channels SET read_gap = (SELECT number FROM gaps)", "UPDATE gaps SET closed = number"} {
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
func (w *world) close() {
	w.starter.Kill()
	w.worker.Kill()
}

// configure writes the configuration and returns its path.
func (w *world) configure(o settings, api string) string {
	w.b.Helper()
	more := ""
	if o.more != nil {
		more = o.more(w.channels)
	}
	yaml := fmt.Sprintf(`
slack: {bot_token: xoxb-bench, signing_secret: %s, api_url: %q}
server: {address: %q}
worker: {address: %q}
database: {url: %q}
log: {level: warn}
llm:
  gemini: {api_key: AQ.bench, endpoint: %q}
agents:
  response: {provider: gemini, model: test}
  judgment: {provider: gemini, model: test-lite}
  memory: {provider: gemini, model: test-memory}
persona: {name: myao, system_prompt: "You are myao."}
response:
  workspace_daily_calls: 100000000
  workspace_daily_tokens: 1000000000000
  %s
%s
`, secret, api+"/api/", w.starterAddress, w.workerAddress, w.url, w.model.URL, strings.ReplaceAll(o.response, "\n", "\n  "), more)
	path := filepath.Join(w.b.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		w.b.Fatal(err)
	}
	return path
}

func (w *world) program(path, config string) *testserver.Program {
	w.b.Helper()
	log, err := os.Create(filepath.Join(w.b.ArtifactDir(), filepath.Base(path)+".log"))
	if err != nil {
		w.b.Fatal(err)
	}
	w.b.Cleanup(func() { _ = log.Close() })
	p := testserver.NewProgram(w.b, log, path, "--config", config)
	p.Env = []string{"TEMPORAL_ADDRESS=" + w.b.servers.temporal.Address, "TEMPORAL_NAMESPACE=" + w.namespace}
	return p
}

// ready waits until the program at an address is ready and returns the time.
func (w *world) ready(address string) time.Time {
	w.b.Helper()
	return w.b.ready("http://" + address + "/readyz")
}

// ready waits until a URL answers with 200 and returns the time.
func (b *bench) ready(url string) time.Time {
	b.Helper()
	b.await(url, time.Minute, func() bool {
		resp, err := http.Get(url)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return time.Now()
}

// count returns the number that a query returns.
func (w *world) count(query string, args ...any) int {
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
	for deadline := time.Now().Add(within); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) || b.Context().Err() != nil {
			b.Fatalf("waited %s for %s", within, what)
		}
	}
}
