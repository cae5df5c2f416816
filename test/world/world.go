// Package world is the running bot of one test: its programs, with a Slack workspace, models, and a namespace of
// Temporal that only this test has. Tests that start our programs build on it, and add what they break or measure.
//
//	w := world.New(t, world.Settings{Name: "e2e", Temporal: testserver.Temporal(t), Database: url})
//	w.Workspace.AddChannel(…)
//	w.Configure("channels: {general: {mode: all}}")
//	w.Start()
//
// StartSandbox starts the program of `make run` instead, which brings all of this along.
package world

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// Patience is the running time after which a wait fails that measures nothing: other programs may leave a shared
// machine's tests little of the processors.
const Patience = 2 * time.Minute

// The secrets of the workspace and of the model. The configuration names variables of the environment for them.
const (
	BotToken      = "xoxb-e2e"
	SigningSecret = "5ec7e75ec7e75ec7e75ec7e75ec7e75e" // of the form that starter doctor expects
	GeminiKey     = "AQ.secret-key"
)

// The models of the three agents.
const (
	ResponseModel = "test"
	JudgmentModel = "test-lite"
	MemoryModel   = "test-memory"
)

// Settings are what a world is built with.
type Settings struct {
	// Name begins the namespace's name.
	Name string
	// Bin is the directory of the programs; those of testserver.Programs if empty.
	Bin string
	// Temporal is the host:port of a server, Database a URL.
	Temporal, Database string
	// Slack is the workspace. It gets the secrets, and sends its events to the first starter.
	Slack workspace.Config
	// App makes the app one that people install, in Slack and in a second workspace, T0OTHER. Nobody has.
	App *workspace.SlackConfig
	// Model answers all calls of models; nil: llmtest.Default.
	Model llmtest.Handler
	// Starters and Workers are how many processes there are of each program; 0 means one.
	Starters, Workers int
}

// World is the bot of one test. Its programs are down until Start.
type World struct {
	Workspace *workspace.Workspace
	// App is the app in both workspaces, and Second the one beside Workspace; nil without Settings.App.
	App    *workspace.Slack
	Second *workspace.Workspace
	Model  *llmtest.Running
	// Client is of the test's namespace.
	Client                        client.Client
	Namespace, Temporal, Database string
	// Bin is the programs' directory, Config the path of their configuration.
	Bin, Config       string
	Starters, Workers []*Program
	// Env is what all programs have in their environment, beside the test's own.
	Env []string

	t        testing.TB
	slackURL string
	slack    workspace.Config // of each workspace
	tree     map[string]any   // the configuration
}

// New makes a world, and writes its configuration.
func New(t testing.TB, o Settings) *World {
	t.Helper()
	w := &World{t: t, Temporal: o.Temporal, Database: o.Database, Namespace: o.Name + "-" + uuid.NewString(), Bin: o.Bin}
	if w.Bin == "" {
		var err error
		if w.Bin, err = testserver.Programs(); err != nil {
			t.Fatal(err)
		}
	}
	if o.Model == nil {
		o.Model = llmtest.Default
	}
	w.Model = llmtest.New(t, o.Model)
	w.Client = Dial(t, o.Temporal, w.Namespace)
	Register(t, w.Client, w.Namespace)
	for range max(1, o.Starters) {
		w.Starters = append(w.Starters, w.Program("starter"))
	}
	for range max(1, o.Workers) {
		w.Workers = append(w.Workers, w.Program("worker"))
	}
	o.Slack.BotToken, o.Slack.SigningSecret = BotToken, SigningSecret
	o.Slack.EventsURL = "http://" + w.Starters[0].Address + "/slack/events"
	if o.Slack.Logger == nil {
		o.Slack.Logger = slog.New(slog.DiscardHandler)
	}
	w.slack = o.Slack
	var handler http.Handler
	if o.App == nil {
		w.Workspace = workspace.New(o.Slack)
		t.Cleanup(w.Workspace.Close)
		handler = w.Workspace.Handler()
	} else {
		w.App = workspace.NewSlack(*o.App)
		w.Workspace, w.Second = w.Add(o.Slack.Team, ""), w.Add("T0OTHER", "")
		handler = w.App.Handler()
	}
	api := httptest.NewServer(handler)
	t.Cleanup(api.Close)
	w.slackURL = api.URL
	w.Env = []string{
		"SLACK_BOT_TOKEN=" + BotToken, "SLACK_SIGNING_SECRET=" + SigningSecret, "GEMINI_API_KEY=" + GeminiKey,
		"TEMPORAL_ADDRESS=" + w.Temporal, "TEMPORAL_NAMESPACE=" + w.Namespace,
		starterAddress + "=" + w.Starters[0].Address, workerAddress + "=" + w.Workers[0].Address,
	}
	w.Config = filepath.Join(t.TempDir(), "config.yaml")
	w.writeTemplate()
	return w
}

// Add adds a workspace to a world with Settings.App. Without a token the app is not installed there.
func (w *World) Add(team, token string) *workspace.Workspace {
	w.t.Helper()
	c := w.slack
	c.Team, c.BotToken = team, token
	added := w.App.Add(c)
	w.t.Cleanup(added.Close)
	return added
}

// Dial returns a client that logs nothing.
func Dial(t testing.TB, address, namespace string) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{
		HostPort: address, Namespace: namespace, Logger: slog.New(slog.DiscardHandler),
	})
	testserver.Must(t, err)
	t.Cleanup(c.Close)
	return c
}

// Register makes a client's namespace and waits until the server knows it everywhere.
func Register(t testing.TB, c client.Client, namespace string) {
	t.Helper()
	Await(t, "the namespace to be registered", func() bool {
		_, err := c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
			Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		_, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err) // from an earlier try that timed out
		return err == nil || exists
	})
	Await(t, "the namespace", func() bool {
		_, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
		return err == nil
	})
}

// Programs returns all programs, the starters first.
func (w *World) Programs() []*Program { return slices.Concat(w.Starters, w.Workers) }

// Start starts all programs, the workers first, and returns once the starters are ready.
func (w *World) Start() {
	w.t.Helper()
	for _, p := range slices.Backward(w.Programs()) {
		p.Start()
	}
	w.Ready()
}

// Ready waits until all starters are ready.
func (w *World) Ready() {
	w.t.Helper()
	for _, p := range w.Starters {
		p.Ready()
	}
}

// patient are the commands that wait ten seconds for a worker, unless they are told to wait for longer.
var patient = []string{"answer-now", "conversations", "drop", "mute", "retract", "show", "snooze", "unmute"}

// Command runs a command of the starter as carol and returns what it prints, and its exit status. A busy machine may
// take longer to answer than an operator would wait.
func (w *World) Command(args ...string) (stdout, stderr string, status int) {
	w.t.Helper()
	if slices.Contains(patient, args[0]) && !slices.Contains(args, "--timeout") {
		args = append(args, "--timeout", Patience.String())
	}
	args = append([]string{"--config", w.Config}, args...)
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.Bin, "starter"), args...)
	cmd.Env = slices.Concat(os.Environ(), w.Env, []string{"USER=carol"})
	var out, problem strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		w.t.Fatal(err)
	}
	return out.String(), problem.String(), cmd.ProcessState.ExitCode()
}

// Await waits until done returns true, and fails the test if it does not.
func Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !Within(t, Patience, 50*time.Millisecond, done) {
		t.Fatalf("waited %s for %s", Patience, what)
	}
}

// Within asks done until it returns true. It returns false once the process has run so long, or the test is over.
func Within(t testing.TB, within, every time.Duration, done func() bool) bool {
	ran := testserver.MeasureRunning()
	for !done() {
		if ran() > within || t.Context().Err() != nil {
			return false
		}
		time.Sleep(every)
	}
	return true
}

// SQLite returns the URL of a database that does not exist yet.
func SQLite(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "data", "myao.db") }
