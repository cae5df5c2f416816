package e2e

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/store"
	"myao/internal/testserver"
)

// bin is the directory of the programs that TestMain built.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		// These tests mostly wait: for quiet times, retries, and timeouts of dead workers. Each
		// has its own processes.
		if err := flag.Set("test.parallel", "8"); err != nil {
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

// system is the running bot with everything that it needs.
type system struct {
	t         *testing.T
	workspace *sandbox.Workspace
	model     *llmtest.Running
	temporal  client.Client
	store     *store.Store
	env       []string
	config    string
	door      string // the starter's address

	general                     string // a channel
	alice, bob                  sandbox.User
	starter, worker             *program
	temporalAddr, namespaceName string
}

type option func(*settings)

type settings struct {
	minWait, maxWait, maxDelay, followUp int
	extraConfig                          string
	extraAgent, extraResponse            string // further keys of agents.response and of response
	handler                              llmtest.Handler
	temporal                             string
	socket                               bool
	deliverers                           int
	ackTimeout                           time.Duration
	provider                             string
	env                                  []string
}

func quiet(seconds int) option   { return func(s *settings) { s.minWait = seconds } }
func maxWait(seconds int) option { return func(s *settings) { s.maxWait = seconds } }
func environment(v ...string) option {
	return func(s *settings) { s.env = append(s.env, v...) }
}
func extraConfig(y string) option      { return func(s *settings) { s.extraConfig = y } }
func extraAgent(keys string) option    { return func(s *settings) { s.extraAgent = ", " + keys } }
func extraResponse(keys string) option { return func(s *settings) { s.extraResponse = ", " + keys } }
func modelAnswers(h llmtest.Handler) option {
	return func(s *settings) { s.handler = h }
}

// eachDatabase runs a test on both databases.
func eachDatabase(t *testing.T, run func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { run(t, sqlite(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, testserver.Postgres(t)) })
}

// start starts both programs with everything that they need and returns once they are ready.
func start(t *testing.T, url string, options ...option) *system {
	t.Helper()
	o := settings{minWait: 2, maxWait: 60, maxDelay: 30, followUp: 1, handler: llmtest.Default, provider: "gemini", deliverers: 4}
	for _, option := range options {
		option(&o)
	}
	s := &system{t: t, temporalAddr: o.temporal, model: llmtest.New(t, o.handler)}
	if s.temporalAddr == "" {
		s.temporalAddr = testserver.Temporal(t)
	}
	s.door = testserver.FreeAddress(t)
	s.workspace = sandbox.New(sandbox.Config{
		Team: "T0E2E", BotToken: "xoxb-e2e", SigningSecret: "shh-signing", EventsURL: "http://" + s.door + "/slack/events",
		RetryAfter: []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}, SocketMode: o.socket,
		Deliverers: o.deliverers, AckTimeout: o.ackTimeout, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(s.workspace.Close)
	api := httptest.NewServer(s.workspace.Handler())
	t.Cleanup(api.Close)
	s.alice, s.bob = s.workspace.AddUser("alice"), s.workspace.AddUser("bob")
	s.general = s.workspace.AddChannel(sandbox.Public, "general", s.workspace.Bot().UserID, s.alice.ID, s.bob.ID)

	s.namespaceName = s.namespace()
	s.config = filepath.Join(t.TempDir(), "config.yaml")
	yaml := fmt.Sprintf(`
slack: {bot_token: "${SLACK_BOT_TOKEN}", signing_secret: "${SLACK_SIGNING_SECRET}", app_token: "${SLACK_APP_TOKEN:-}", api_url: %q}
server: {address: %q}
database: {url: %q}
llm:
  gemini: {api_key: "${GEMINI_API_KEY}", endpoint: %q}
  openai: {base_url: %q}
agents:
  response: {provider: %[6]s, model: test%[12]s}
  judgment: {provider: %[6]s, model: test-lite}
  memory: {provider: %[6]s, model: test-memory}
persona: {name: myao, system_prompt: "You are myao."}
response: {min_wait_seconds: %[7]d, jitter_ratio: 0, max_wait_seconds: %[8]d, max_delay_seconds: %[9]d, follow_up_wait_seconds: %[10]d%[13]s}
%[11]s
`, api.URL+"/api/", s.door, url, s.model.URL, s.model.URL+"/v1", o.provider, o.minWait, o.maxWait, o.maxDelay, o.followUp, o.extraConfig, o.extraAgent, o.extraResponse)
	if !strings.Contains(o.extraConfig, "worker: {") {
		yaml += "worker: {address: 127.0.0.1:0}\n"
	}
	if err := os.WriteFile(s.config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"SLACK_BOT_TOKEN=xoxb-e2e", "SLACK_SIGNING_SECRET=shh-signing", "GEMINI_API_KEY=AQ.secret-key",
		"TEMPORAL_ADDRESS=" + s.temporalAddr, "TEMPORAL_NAMESPACE=" + s.namespaceName,
	}
	s.env = append(s.env, o.env...)
	s.starter, s.worker = s.program("starter"), s.program("worker")
	if o.socket {
		s.env = append(s.env, "SLACK_APP_TOKEN=xapp-sandbox")
	}
	s.worker.start()
	s.starter.start()
	s.ready()
	db, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	s.store = db
	t.Cleanup(func() { _ = db.Close() })
	s.pauseSchedules()
	return s
}

// namespace makes a namespace for the test, so that tests share only the Temporal server.
func (s *system) namespace() string {
	s.t.Helper()
	name := "e2e-" + uuid.NewString()
	c, err := client.NewLazyClient(client.Options{HostPort: s.temporalAddr, Namespace: name, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	s.temporal = c
	s.register(name)
	return name
}

// pauseSchedules waits for the catch-up at start and pauses all schedules. Tests run the
// workflows themselves.
func (s *system) pauseSchedules() {
	s.t.Helper()
	s.await("the catching up at start", 30*time.Second, func() bool {
		gaps, err := s.store.Gaps(s.t.Context(), s.workspace.Team())
		return err == nil && gaps.Newest > 0 && !gaps.Due
	})
	ids := []string{"memory", "catch-up", "channel-sync", "retention", "hindsight"}
	if text, err := os.ReadFile(s.config); err != nil || strings.Contains(string(text), "\nshadow:") {
		ids = append(ids, "shadow")
	}
	for _, id := range ids {
		handle := s.temporal.ScheduleClient().GetHandle(s.t.Context(), id)
		s.await("the schedule "+id, 30*time.Second, func() bool { return handle.Pause(s.t.Context(), client.SchedulePauseOptions{}) == nil })
	}
}

// register makes a namespace and waits until the server knows it everywhere.
func (s *system) register(name string) {
	s.t.Helper()
	nc, err := client.NewNamespaceClient(client.Options{HostPort: s.temporalAddr})
	if err != nil {
		s.t.Fatal(err)
	}
	defer nc.Close()
	s.await("the namespace to be registered", 60*time.Second, func() bool {
		err = nc.Register(s.t.Context(), &workflowservice.RegisterNamespaceRequest{
			Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		_, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err) // from an earlier try that timed out
		return err == nil || exists
	})
	s.await("the namespace", 30*time.Second, func() bool {
		_, err := s.temporal.ListWorkflow(s.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
		return err == nil
	})
}

// ready waits until the starter is ready.
func (s *system) ready() {
	s.t.Helper()
	s.await("the starter to be ready", 60*time.Second, func() bool {
		resp, err := http.Get("http://" + s.door + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// patience is the shortest time after which a wait fails. None of them measures anything, and other
// programs may leave a shared machine's tests little of the processors.
const patience = 90 * time.Second

// await waits until done returns true and fails the test after within, or after patience if that is longer.
func (s *system) await(what string, within time.Duration, done func() bool) {
	s.t.Helper()
	within = max(within, patience)
	ran := testserver.MeasureRunning()
	for ; !done(); time.Sleep(50 * time.Millisecond) {
		if ran() > within {
			s.t.Fatalf("waited %s for %s\n%s", within, what, s.report())
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
	for _, d := range s.workspace.Deliveries() {
		fmt.Fprintf(&b, "%s event %s/%s ts=%s retry=%d -> %d %v\n", d.At.Format("05.000"), d.Type, d.Subtype, d.TS, d.Retry, d.Status, d.Err)
	}
	for _, c := range s.model.Calls() {
		fmt.Fprintf(&b, "%s model call %d of %s\n", c.At.Format("05.000"), c.N, c.Model)
	}
	for _, p := range s.workspace.Posts() {
		fmt.Fprintf(&b, "%s post thread=%s %q\n", p.At.Format("05.000"), p.ThreadTS, p.Text)
	}
	return b.String()
}

func (s *system) posts() []sandbox.Post { return s.workspace.Posts() }

// postsIn returns our bot's posts in a channel.
func (s *system) postsIn(channel string) []sandbox.Post {
	return slices.DeleteFunc(s.posts(), func(p sandbox.Post) bool { return p.Channel != channel })
}

// room makes a public channel with alice, bob and our bot.
func (s *system) room() string {
	return s.workspace.AddChannel(sandbox.Public, "room", s.workspace.Bot().UserID, s.alice.ID, s.bob.ID)
}

func (s *system) mention(text string) string { return "<@" + s.workspace.Bot().UserID + "> " + text }

// The models of the three agents.
const (
	responseModel = "test"
	judgmentModel = "test-lite"
	memoryModel   = "test-memory"
)

// judgments, replies and memories return the calls of the model by purpose.
func (s *system) judgments() []llmtest.Call { return s.calls(judgmentModel) }
func (s *system) replies() []llmtest.Call   { return s.calls(responseModel) }
func (s *system) memories() []llmtest.Call  { return s.calls(memoryModel) }

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
	for _, c := range s.model.Calls() {
		if c.Model == model {
			calls = append(calls, c)
		}
	}
	return calls
}

// program is one of our programs as a process.
type program struct {
	s    *system
	name string
	cmd  *exec.Cmd
	done chan error
	log  *outputLog
}

func (s *system) program(name string) *program {
	p := &program{s: s, name: name, log: &outputLog{}}
	s.t.Cleanup(func() {
		p.kill()
		if s.t.Failed() {
			s.t.Logf("%s said:\n%s", name, p.log.tail(60))
		}
	})
	return p
}

// start starts the process with additional environment variables.
func (p *program) start(env ...string) {
	p.s.t.Helper()
	p.cmd = exec.Command(filepath.Join(bin, p.name), "--config", p.s.config)
	p.cmd.Env = slices.Concat(os.Environ(), p.s.env, env)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		p.s.t.Fatal(err)
	}
	p.done = make(chan error, 1)
	go func(cmd *exec.Cmd, done chan error) { done <- cmd.Wait() }(p.cmd, p.done)
}

// kill ends the process with SIGKILL.
func (p *program) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	p.cmd = nil
}

// stop ends the process with SIGTERM. It fails the test unless the process exits with status 0
// within 30 s.
func (p *program) stop() {
	p.s.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		p.cmd = nil
		if err != nil {
			p.s.t.Errorf("%s ended with %v", p.name, err)
		}
	case <-time.After(30 * time.Second):
		p.s.t.Errorf("%s did not stop within 30 s", p.name)
		p.kill()
	}
}

// outputLog keeps a process's output.
type outputLog struct {
	mu  sync.Mutex
	buf []byte
}

func (l *outputLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	return len(p), nil
}

func (l *outputLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}

func (l *outputLog) tail(lines int) string {
	all := strings.Split(strings.TrimSpace(l.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func sqlite(t *testing.T) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "data", "myao.db")
}
