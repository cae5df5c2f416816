package chaos

import (
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"myao/sandbox/workspace"
	"myao/test/testserver"
	"myao/test/world"
)

const team = "T0CHAOS"

// system is the running system with everything around it.
type system struct {
	*world.World
	t        *testing.T
	model    *model
	balancer *balancer
	temporal *testserver.TemporalServer
	postgres *testserver.PostgresServer
	db       *sql.DB

	starters []*process
	workers  []*process
	channels []string // the direct messages last
	users    []string
	log      *log.Logger
}

// process is one of our programs. mu serializes kills and restarts.
type process struct {
	*world.Program
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
func build(t *testing.T, o settings) *system {
	t.Helper()
	w := &system{t: t, model: &model{seed: o.seed, failed: map[string]int{}}}
	w.postgres = testserver.StartPostgres(t)
	w.temporal = startTemporal(t, o.temporal)
	w.World = world.New(t, world.Settings{ // whose programs are without the race detector, which would be too slow
		Name: "chaos", Temporal: w.temporal.Address, Database: w.postgres.URL, Model: w.model.handle,
		Starters: o.starters, Workers: o.workers,
		Slack: workspace.Config{Team: team, RetryAfter: o.retryAfter, Deliverers: 8, LogLimit: 10_000_000},
	})
	var doors []string
	for i, p := range w.Starters {
		doors = append(doors, p.Address)
		w.starters = append(w.starters, &process{Program: p, name: fmt.Sprint("starter-", i)})
	}
	for i, p := range w.Workers {
		w.workers = append(w.workers, &process{Program: p, name: fmt.Sprint("worker-", i)})
	}
	var url string
	w.balancer, url = newBalancer(t, doors)
	w.Workspace.SetEventsURL(url + "/slack/events")
	w.populate(o)
	story, err := os.Create(filepath.Join(t.ArtifactDir(), "story.log"))
	testserver.Must(t, err)
	t.Cleanup(func() { _ = story.Close() })
	w.log = log.New(story, "", log.LUTC|log.Ltime|log.Lmicroseconds)
	w.Configure(fmt.Sprintf("response: {min_wait_seconds: %d, jitter_ratio: %g, max_wait_seconds: %d}", o.minWait, o.jitter, o.maxWait))
	w.db = world.DB(t, w.Database)
	w.Start()
	// Catch-up does not answer messages from before the bot knows their channel.
	world.Await(t, "the catching up at start", func() bool {
		var done bool
		err := w.db.QueryRowContext(t.Context(), "SELECT closed > 0 FROM gaps").Scan(&done)
		return err == nil && done
	})
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
func (w *system) populate(o settings) {
	bot := w.Workspace.Bot().UserID
	for i := range o.people {
		w.users = append(w.users, w.Workspace.AddUser(fmt.Sprintf("person-%d", i)).ID)
	}
	members := append([]string{bot}, w.users...)
	for i := range o.channels {
		kind := workspace.Public
		if i%5 == 4 {
			kind = workspace.Private
		}
		w.channels = append(w.channels, w.Workspace.AddChannel(kind, fmt.Sprintf("room-%d", i), members...))
	}
	for i := range o.direct {
		w.channels = append(w.channels, w.Workspace.AddChannel(workspace.DM, "", w.users[i]))
	}
}

func (w *system) processes() []*process {
	return append(append([]*process(nil), w.starters...), w.workers...)
}

// waits waits until done returns true. It returns false after within.
func (w *system) waits(within time.Duration, done func() bool) bool {
	return world.Within(w.t, within, 100*time.Millisecond, done)
}

// readyz returns the status and the body of a program's /readyz.
func (p *process) readyz() (int, string) { return p.Get("/readyz") }
