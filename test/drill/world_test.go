package drill

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/internal/doctor"
	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
)

// world is the running system of one drill, with a Prometheus that watches it.
type world struct {
	t         *testing.T
	workspace *sandbox.Workspace
	model     *llmtest.Running
	database  string // its URL
	disk      string // where the database is, if that disk is small
	namespace string
	temporal  string // host:port

	general, alice string // ids of a channel and of somebody in it
	door           string // the starter's host:port
	worker         string // the worker's host:port
	bin, config    string
	prometheus     string   // its host:port
	rules          []string // the alerts, in the order of the file
	asked          string   // the ts of the first question
	programs       map[string]*testserver.Program
}

// start starts everything and returns once nothing is wrong: neither by starter doctor nor by an alert.
func start(t *testing.T, temporal, database, extraConfig string) *world {
	t.Helper()
	bin, err := testserver.Programs()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, database: database, bin: bin, model: llmtest.New(t, llmtest.Default), temporal: temporal,
		door: testserver.FreeAddress(t), worker: testserver.FreeAddress(t), namespace: "drill-" + uuid.NewString(),
		programs: map[string]*testserver.Program{},
	}
	w.register()
	w.workspace = sandbox.New(sandbox.Config{
		Team: "T0DRILL", BotToken: "xoxb-drill", SigningSecret: strings.Repeat("5ec7e7", 6)[:32], EventsURL: "http://" + w.door + "/slack/events",
		RetryAfter: []time.Duration{0, time.Second, 5 * time.Second}, Deliverers: 8, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(w.workspace.Close)
	api := httptest.NewServer(w.workspace.Handler())
	t.Cleanup(api.Close)
	w.alice = w.workspace.AddUser("alice").ID
	w.general = w.workspace.AddChannel(sandbox.Public, "general", w.workspace.Bot().UserID, w.alice)
	w.config = filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(w.config, fmt.Appendf(nil, `
slack: {bot_token: xoxb-drill, signing_secret: %q, api_url: %q}
server: {address: %q}
worker: {address: %q}
database: {url: %q}
retention: {messages_days: 400}
llm:
  gemini: {api_key: AQ.drill, endpoint: %q}
  prices: {test: {input: 1, output: 1}}
agents:
  response: {provider: gemini, model: test}
  judgment: {provider: gemini, model: test}
  memory: {provider: gemini, model: test}
response: {min_wait_seconds: 1, jitter_ratio: 0, max_wait_seconds: 60, max_delay_seconds: 30, follow_up_wait_seconds: 1}
%s
`, strings.Repeat("5ec7e7", 6)[:32], api.URL+"/api/", w.door, w.worker, database, w.model.URL, extraConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"worker", "starter"} {
		said := &logbook{}
		p := testserver.NewProgram(t, said, filepath.Join(bin, name), "--config", w.config)
		p.Env = w.environment()
		p.Start()
		w.programs[name] = p
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the %s said:\n%s", name, said.tail())
			}
		})
	}
	for _, address := range []string{w.door, w.worker} {
		w.await("the programs to be ready", time.Minute, func() bool { return w.health(address) == "ready\n" })
	}
	w.watch()
	w.await("the doctor to find nothing", time.Minute, func() bool { return w.problems() == nil })
	w.await("Prometheus to scrape", time.Minute, func() bool { return w.query(`count(myao_build_info)`) == "2" })
	w.await("the alerts to stop", time.Minute, func() bool { return len(w.firing()) == 0 })
	return w
}

func (w *world) environment() []string {
	return []string{"TEMPORAL_ADDRESS=" + w.temporal, "TEMPORAL_NAMESPACE=" + w.namespace}
}

// register makes the drill's namespace.
func (w *world) register() {
	w.t.Helper()
	c, err := client.NewNamespaceClient(client.Options{HostPort: w.temporal, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	w.await("the namespace to be registered", time.Minute, func() bool {
		err := c.Register(w.t.Context(), &workflowservice.RegisterNamespaceRequest{Namespace: w.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)})
		_, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err)
		return err == nil || exists
	})
}

// say has alice say something in general, and returns its ts.
func (w *world) say(text string) string { return w.workspace.Say(w.general, w.alice, text) }

// ask has alice mention the bot in general.
func (w *world) ask() string { return w.say("<@" + w.workspace.Bot().UserID + "> how are you?") }

// execute runs a statement on a connection of its own, to the drill's Postgres database.
func (w *world) execute(statement string) {
	w.t.Helper()
	db, err := sql.Open("pgx", w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(w.t.Context(), statement); err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
}

// starter runs a command of the starter and returns what it writes and what it complains about.
func (w *world) starter(args ...string) (out, complaint string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(w.bin, "starter"), append([]string{"--config", w.config}, args...)...)
	cmd.Env = append(os.Environ(), w.environment()...)
	var said, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &wrong
	_ = cmd.Run()
	return said.String(), wrong.String()
}

// problems returns what starter doctor finds wrong, as an operator reads it: what fails first, then the
// warnings, each in its order.
func (w *world) problems() (problems []doctor.Finding) {
	w.t.Helper()
	out, complaint := w.starter("doctor", "--json")
	var findings []doctor.Finding
	if err := json.Unmarshal([]byte(out), &findings); err != nil {
		w.t.Fatalf("doctor: %v: %s%s", err, out, complaint)
	}
	for _, status := range []doctor.Status{doctor.Fail, doctor.Warn} {
		for _, f := range findings {
			if f.Status == status {
				problems = append(problems, f)
			}
		}
	}
	return problems
}

// health returns what starter health says of a program.
func (w *world) health(address string) string {
	out, complaint := w.starter("health", "--url", "http://"+address+"/readyz")
	return out + complaint
}

// get returns the body of an answer; "" without one.
func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

// await waits until done returns true and fails the test after within.
func (w *world) await(what string, within time.Duration, done func() bool) {
	w.t.Helper()
	ran := testserver.MeasureRunning()
	for ; !done(); time.Sleep(100 * time.Millisecond) {
		if ran() > within {
			w.t.Fatalf("waited %s for %s", within, what)
		}
	}
}

// logbook keeps what a program writes.
type logbook struct {
	mu   sync.Mutex
	text []byte
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *logbook) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(string(l.text), "\n")
	return strings.Join(lines[max(0, len(lines)-25):], "\n")
}
