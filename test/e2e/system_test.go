package e2e

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
)

// bin is the directory of the programs that TestMain built.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		// These tests mostly wait: for quiet times, retries, and timeouts of dead workers. Each
		// has its own processes. More of them take no less time, but longer for each step.
		if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
		dir, err := os.MkdirTemp("", "myao-e2e-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		bin = dir
		flags := []string{"-tags", "failpoint"}
		if raced {
			flags = append(flags, "-race")
		}
		if err := testserver.Build(dir, flags, "myao/worker", "myao/starter", "myao/sandbox"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer testserver.Stop()
		return m.Run()
	}())
}

// system is the running bot with two people and a channel.
type system struct {
	*world.World
	t     *testing.T
	store *store.Store

	general         string // a channel
	alice, bob      workspace.User
	starter, worker *world.Program
}

type settings struct {
	world.Settings
	config, env []string
}

type option func(*settings)

// configured lays YAML over the configuration.
func configured(sections string) option {
	return func(s *settings) { s.config = append(s.config, sections) }
}

func quiet(seconds int) option {
	return configured(fmt.Sprintf("response: {min_wait_seconds: %d}", seconds))
}

func maxWait(seconds int) option {
	return configured(fmt.Sprintf("response: {max_wait_seconds: %d}", seconds))
}

func maxDelay(seconds int) option {
	return configured(fmt.Sprintf("response: {max_delay_seconds: %d}", seconds))
}

func environment(v ...string) option        { return func(s *settings) { s.env = append(s.env, v...) } }
func modelAnswers(h llmtest.Handler) option { return func(s *settings) { s.Model = h } }

// socketMode has Slack send events by socket.
func socketMode(s *settings) {
	s.Slack.SocketMode = true
	s.env = append(s.env, "SLACK_APP_TOKEN=xapp-sandbox")
}

// retriedEverySecond has Slack try an event for longer than a program takes to start.
func retriedEverySecond(s *settings) {
	s.Slack.RetryAfter = slices.Repeat([]time.Duration{time.Second}, 120)
}

// eachDatabase runs a test on both databases. database makes one.
func eachDatabase(t *testing.T, run func(t *testing.T, database func(*testing.T) string)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); run(t, sqlite) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); run(t, postgres) })
}

func sqlite(t *testing.T) string   { return world.SQLite(t) }
func postgres(t *testing.T) string { return testserver.Postgres(t) }

// build makes everything that the programs need.
func build(t *testing.T, url string, options ...option) *system {
	t.Helper()
	o := settings{Settings: world.Settings{Name: "e2e", Bin: bin, Database: url, Slack: workspace.Config{
		Team: "T0E2E", RetryAfter: []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}, Deliverers: 4,
	}}}
	for _, option := range options {
		option(&o)
	}
	if o.Temporal == "" {
		o.Temporal = testserver.Temporal(t)
	}
	s := &system{t: t, World: world.New(t, o.Settings)}
	s.starter, s.worker = s.Starters[0], s.Workers[0]
	s.Env = append(s.Env, o.env...)
	s.Configure(o.config...)
	s.alice, s.bob = s.Workspace.AddUser("alice"), s.Workspace.AddUser("bob")
	s.general = s.Workspace.AddChannel(workspace.Public, "general", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
	return s
}

// start starts both programs with everything that they need and returns once they are ready.
func start(t *testing.T, url string, options ...option) *system {
	t.Helper()
	s := build(t, url, options...)
	s.Start()
	db, err := store.Open(t.Context(), url)
	testserver.Must(t, err)
	s.store = db
	t.Cleanup(func() { _ = db.Close() })
	s.pauseSchedules()
	return s
}

// restart stops both programs and starts them again.
func (s *system) restart() {
	s.t.Helper()
	s.worker.Stop()
	s.starter.Stop()
	s.Start()
}

// pauseSchedules waits for the catch-up at start and pauses all schedules. Tests run the
// workflows themselves.
func (s *system) pauseSchedules() {
	s.t.Helper()
	s.await("the catching up at start", func() bool {
		gaps, err := s.store.Gaps(s.t.Context(), s.Workspace.Team())
		return err == nil && gaps.Newest > 0 && !gaps.Due
	})
	ids := []string{"memory", "catch-up", "channel-sync", "retention", "hindsight"}
	if text, err := os.ReadFile(s.Config); err != nil || strings.Contains(string(text), "\nshadow:") {
		ids = append(ids, "shadow")
	}
	for _, id := range ids {
		handle := s.Client.ScheduleClient().GetHandle(s.t.Context(), id)
		s.await("the schedule "+id, func() bool { return handle.Pause(s.t.Context(), client.SchedulePauseOptions{}) == nil })
	}
}

// await waits until done returns true, and fails the test with a report if it does not.
func (s *system) await(what string, done func() bool) {
	s.t.Helper()
	if !world.Within(s.t, world.Patience, 50*time.Millisecond, done) {
		s.t.Fatalf("waited %s for %s\n%s", world.Patience, what, s.report())
	}
}

// closed reports whether a channel is closed.
func closed(c <-chan struct{}) func() bool {
	return func() bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
}

// never fails the test if holds returns true within the time.
func (s *system) never(what string, within time.Duration, holds func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(within)
	for time.Now().Before(deadline) {
		if holds() {
			s.t.Fatalf("this must not happen: %s\n%s", what, s.report())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// report lists events, calls of the model and posts, for a failed test.
func (s *system) report() string {
	var b strings.Builder
	for _, d := range s.Workspace.Deliveries() {
		fmt.Fprintf(&b, "%s event %s/%s ts=%s retry=%d -> %d %v\n", d.At.Format("05.000"), d.Type, d.Subtype, d.TS, d.Retry, d.Status, d.Err)
	}
	for _, c := range s.Model.Calls() {
		fmt.Fprintf(&b, "%s model call %d of %s\n", c.At.Format("05.000"), c.N, c.Model)
	}
	for _, p := range s.Workspace.Posts() {
		fmt.Fprintf(&b, "%s post thread=%s %q\n", p.At.Format("05.000"), p.ThreadTS, p.Text)
	}
	return b.String()
}

func (s *system) posts() []workspace.Post { return s.Workspace.Posts() }

// postsIn returns our bot's posts in a channel.
func (s *system) postsIn(channel string) []workspace.Post {
	return slices.DeleteFunc(s.posts(), func(p workspace.Post) bool { return p.Channel != channel })
}

// room makes a public channel with alice, bob and our bot.
func (s *system) room() string {
	return s.Workspace.AddChannel(workspace.Public, "room", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
}

func (s *system) mention(text string) string { return "<@" + s.Workspace.Bot().UserID + "> " + text }

// judgments, replies and memories return the calls of the model by purpose.
func (s *system) judgments() []llmtest.Call { return s.calls(world.JudgmentModel) }
func (s *system) replies() []llmtest.Call   { return s.calls(world.ResponseModel) }
func (s *system) memories() []llmtest.Call  { return s.calls(world.MemoryModel) }

// decisions returns a conversation's decisions, oldest first.
func (s *system) decisions(workflowID string) []store.Decision {
	s.t.Helper()
	rows, err := s.store.DecisionsSince(s.t.Context(), []string{workflowID}, time.Time{}, 1000)
	if err != nil {
		s.t.Error(err)
	}
	return rows
}

func (s *system) calls(model string) []llmtest.Call {
	var calls []llmtest.Call
	for _, c := range s.Model.Calls() {
		if c.Model == model {
			calls = append(calls, c)
		}
	}
	return calls
}
