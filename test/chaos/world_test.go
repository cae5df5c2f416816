package chaos

import (
	"database/sql"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
)

const (
	team        = "T0CHAOS"
	memoryModel = "test-memory"
)

// world is the running system with everything around it.
type world struct {
	t         *testing.T
	workspace *sandbox.Workspace
	model     *model
	calls     *llmtest.Running
	balancer  *balancer
	temporal  *testserver.TemporalServer
	postgres  *testserver.PostgresServer
	client    client.Client
	db        *sql.DB

	starterAddresses []string // where the starters listen, host:port
	workerAddresses  []string // where the workers serve /readyz, host:port
	starters         []*process
	workers          []*process
	channels         []string // the direct messages last
	users            []string
	log              *log.Logger
}

// process is one of our programs. mu serializes kills and restarts.
type process struct {
	*testserver.Program
	name string
	mu   sync.Mutex
	// crashes is how often it ended without being killed or stopped.
	crashes int
}

// settings are what a world is built with.
type settings struct {
	starters, workers        int
	channels, direct, people int
	minWait, maxWait         int // seconds
	jitter                   float64
	temporal                 string // dev or postgres
	seed                     uint64 // of the model
	retryAfter               []time.Duration
}

// build starts everything and returns once the bot knows its channels.
func build(t *testing.T, o settings) *world {
	t.Helper()
	bin, err := testserver.Programs() // without the race detector, which would be too slow
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, model: &model{seed: o.seed, failed: map[string]int{}}}
	w.calls = llmtest.New(t, w.model.handle)
	w.postgres = testserver.StartPostgres(t)
	w.temporal = startTemporal(t, o.temporal)
	for range o.starters {
		w.starterAddresses = append(w.starterAddresses, testserver.FreeAddress(t))
	}
	var url string
	w.balancer, url = newBalancer(t, w.starterAddresses)
	w.workspace = sandbox.New(sandbox.Config{
		Team: team, BotToken: "xoxb-chaos", SigningSecret: "shh-signing", EventsURL: url + "/slack/events",
		RetryAfter: o.retryAfter,
		Deliverers: 8, LogLimit: 10_000_000, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(w.workspace.Close)
	api := httptest.NewServer(w.workspace.Handler())
	t.Cleanup(api.Close)
	w.populate(o)

	logs := t.ArtifactDir()
	w.log = log.New(w.file(logs, "story"), "", log.LUTC|log.Ltime|log.Lmicroseconds)
	for i, door := range w.starterAddresses {
		w.starters = append(w.starters, w.process(filepath.Join(bin, "starter"), i, logs, w.configure(o, api.URL, door)))
	}
	for i := range o.workers {
		w.workerAddresses = append(w.workerAddresses, testserver.FreeAddress(t))
		w.workers = append(w.workers, w.process(filepath.Join(bin, "worker"), i, logs, w.configure(o, api.URL, w.workerAddresses[i])))
	}
	for _, p := range w.processes() {
		p.Start()
	}
	if w.client, err = client.NewLazyClient(client.Options{HostPort: w.temporal.Address, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.Close)
	if w.db, err = sql.Open("pgx", w.postgres.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close() })
	w.ready()
	return w
}

func startTemporal(t *testing.T, how string) *testserver.TemporalServer {
	t.Helper()
	switch how {
	case "dev":
		return testserver.StartTemporal(t, filepath.Join(t.TempDir(), "temporal.db"), 0)
	case "postgres":
		return testserver.StartTemporalOnPostgres(t, testserver.StartPostgres(t), 4, map[string]any{
			"matching.enableFairness": true,
			// Search attributes that a starter registers are then known at once to all services.
			"system.forceSearchAttributesCacheRefreshOnRead": true,
		})
	default:
		t.Fatalf("no such Temporal server: %s", how)
		return nil
	}
}

// populate adds people and channels to the workspace.
func (w *world) populate(o settings) {
	bot := w.workspace.Bot().UserID
	for i := range o.people {
		w.users = append(w.users, w.workspace.AddUser(fmt.Sprintf("person-%d", i)).ID)
	}
	members := append([]string{bot}, w.users...)
	for i := range o.channels {
		kind := sandbox.Public
		if i%5 == 4 {
			kind = sandbox.Private
		}
		w.channels = append(w.channels, w.workspace.AddChannel(kind, fmt.Sprintf("room-%d", i), members...))
	}
	for i := range o.direct {
		w.channels = append(w.channels, w.workspace.AddChannel(sandbox.DM, "", w.users[i]))
	}
}

// configure writes the configuration of one program and returns its path.
func (w *world) configure(o settings, slack, address string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "config.yaml")
	yaml := fmt.Sprintf(`
slack: {bot_token: xoxb-chaos, signing_secret: shh-signing, api_url: %q}
server: {address: %q}
worker: {address: %[2]q}
database: {url: %q}
llm:
  gemini: {api_key: AQ.chaos, endpoint: %q}
agents:
  response: {provider: gemini, model: test}
  judgment: {provider: gemini, model: test-lite}
  memory: {provider: gemini, model: %s}
persona: {name: myao, system_prompt: "You are myao."}
response:
  min_wait_seconds: %d
  jitter_ratio: %g
  max_wait_seconds: %d
  max_delay_seconds: 30
  follow_up_wait_seconds: 1
`, slack+"/api/", address, w.postgres.URL, w.calls.URL, memoryModel, o.minWait, o.jitter, o.maxWait)
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) process(program string, i int, logs, config string) *process {
	w.t.Helper()
	name := fmt.Sprintf("%s-%d", filepath.Base(program), i)
	p := &process{name: name, Program: testserver.NewProgram(w.t, w.file(logs, name), program, "--config", config)}
	p.Env = []string{"TEMPORAL_ADDRESS=" + w.temporal.Address}
	return p
}

func (w *world) file(dir, name string) *os.File {
	w.t.Helper()
	f, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = f.Close() })
	return f
}

func (w *world) processes() []*process {
	return append(append([]*process(nil), w.starters...), w.workers...)
}

// ready waits until all starters are ready and the catch-up at start is done. Catch-up does not
// answer messages from before the bot knows their channel.
func (w *world) ready() {
	w.t.Helper()
	for _, door := range w.starterAddresses {
		w.await("the starters to be ready", 2*time.Minute, func() bool {
			status, _ := w.readyz(door)
			return status == http.StatusOK
		})
	}
	w.await("the catching up at start", 2*time.Minute, func() bool {
		var done bool
		err := w.db.QueryRowContext(w.t.Context(), "SELECT closed > 0 FROM gaps").Scan(&done)
		return err == nil && done
	})
}

// await waits until done returns true and fails the test after within.
func (w *world) await(what string, within time.Duration, done func() bool) {
	w.t.Helper()
	if !w.waits(within, done) {
		w.t.Fatalf("waited %s for %s", within, what)
	}
}

// waits waits until done returns true. It returns false after within.
func (w *world) waits(within time.Duration, done func() bool) bool {
	ran := testserver.MeasureRunning()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if ran() > within || w.t.Context().Err() != nil {
			return false
		}
		<-tick.C
	}
	return true
}
