package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// TestMain runs the starter itself in a process that a test has started.
func TestMain(m *testing.M) {
	if os.Getenv("MYAO_TEST_MAIN") != "" {
		main()
		return
	}
	testserver.Main(m)
}

const nowhere = "127.0.0.1:1" // nothing listens there

// bundle is a running starter and its surroundings.
type bundle struct {
	t       *testing.T
	address string
	cmd     *exec.Cmd
	stopped chan error
	log     *logbook
}

type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// newWorkspace returns a Slack, and the address of its API.
func newWorkspace(t *testing.T) (*workspace.Workspace, string) {
	t.Helper()
	w := workspace.New(workspace.Config{BotToken: "xoxb-1", AppToken: "xapp-1", SigningSecret: "shh", Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(w.Close)
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	return w, server.URL + "/api/"
}

func configuration(t *testing.T, address, database, slackAPI, appToken string) string {
	t.Helper()
	text := fmt.Sprintf(`
slack: {bot_token: xoxb-1, signing_secret: shh, app_token: %q, api_url: %q}
server: {address: %q}
database: {url: %q}
agents:
  response: {provider: demo}
  judgment: {provider: demo}
  memory: {provider: demo}
`, appToken, slackAPI, address, database)
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sqlite(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "myao.db") }

// startProcess starts a starter in an empty directory, and ends it with the test.
func startProcess(t *testing.T, env []string, args ...string) *bundle {
	t.Helper()
	w := &bundle{t: t, cmd: exec.Command(os.Args[0], args...), stopped: make(chan error, 1), log: &logbook{}}
	w.cmd.Dir = t.TempDir()
	w.cmd.Env = append(append(os.Environ(), "MYAO_TEST_MAIN=1"), env...)
	w.cmd.Stdout, w.cmd.Stderr = w.log, w.log
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { w.stopped <- w.cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the starter said\n%s", w.log)
		}
	})
	return w
}

// start runs a starter, and returns when it listens.
func start(t *testing.T, temporalAddress, database, slackAPI, appToken string) *bundle {
	t.Helper()
	address := testserver.FreeAddress(t)
	w := startProcess(t, []string{"TEMPORAL_ADDRESS=" + temporalAddress}, "--config", configuration(t, address, database, slackAPI, appToken))
	w.address = address
	w.await("the starter to listen", func() bool {
		status, _ := w.get("/livez")
		return status == http.StatusOK
	})
	return w
}

func (w *bundle) await(what string, done func() bool) {
	w.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(60 * time.Second); !done(); <-tick.C {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (w *bundle) get(path string) (int, string) { return w.do(http.MethodGet, path) }

func (w *bundle) do(method, path string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.address+path, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Error(err)
	}
	return resp.StatusCode, string(body)
}

// missing returns what /readyz reports as missing: the first word of each line.
func (w *bundle) missing() []string {
	status, body := w.get("/readyz")
	if status == http.StatusOK {
		return nil
	}
	var names []string
	for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
		name, why, _ := strings.Cut(line, ": ")
		if why == "" {
			name = "no reason: " + line
		}
		names = append(names, name)
	}
	return names
}

// stop ends the starter with the signal of an operator.
func (w *bundle) stop() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := <-w.stopped; err != nil {
		w.t.Errorf("ended with %v", err)
	}
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	good := configuration(t, "127.0.0.1:0", sqlite(t), "http://"+nowhere+"/api/", "")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"help", []string{"-h"}, 0, []string{"--config=FILE"}},
		{"unknown flag", []string{"--port=80"}, 2, []string{"--port"}},
		{"unknown command", []string{"--config", good, "fly"}, 2, []string{"unexpected argument fly"}},
		{"no file", []string{"--config", filepath.Join(t.TempDir(), "none.yaml")}, 1, []string{"none.yaml"}},
		{"two faults", []string{"--config", configuration(t, "127.0.0.1:0", "mysql:x", "ftp://slack", "")}, 1, []string{"database.url", "slack.api_url"}},
		{"a database that is away", []string{"--config", configuration(t, "127.0.0.1:0", "postgres://nobody@"+nowhere+"/none", "http://"+nowhere+"/api/", ""), "usage"}, 1, []string{"connection refused"}},
		{"an address in use", []string{"--config", configuration(t, busy.Addr().String(), sqlite(t), "http://"+nowhere+"/api/", "")}, 1, []string{"address already in use"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer // and what is asked for, as help is
			if status := run(t.Context(), c.args, &stderr, &stderr); status != c.status {
				t.Errorf("status %d, want %d\n%s", status, c.status, &stderr)
			}
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			for _, want := range c.says {
				if n := len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.Contains(l, want) })); n != 1 {
					t.Errorf("%d lines with %q, want 1:\n%s", n, want, &stderr)
				}
			}
		})
	}
}

func TestReadyzNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, slackAPI := newWorkspace(t)
	for _, c := range []struct {
		name                         string
		temporal, database, slackAPI string
		want                         []string
	}{
		{"everything", nowhere, "postgres://nobody@" + nowhere + "/none", "http://" + nowhere + "/api/", []string{"database", "temporal", "slack"}},
		{"the database", testserver.Temporal(t), "postgres://nobody@" + nowhere + "/none", slackAPI, []string{"database", "temporal"}}, // whose attributes come after it
		{"Temporal", nowhere, sqlite(t), slackAPI, []string{"temporal"}},
		{"Slack", testserver.Temporal(t), sqlite(t), "http://" + nowhere + "/api/", []string{"slack"}},
		{"nothing", testserver.Temporal(t), sqlite(t), slackAPI, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := start(t, c.temporal, c.database, c.slackAPI, "")
			w.await("what is there", func() bool { return slices.Equal(w.missing(), c.want) })
			status, body := w.get("/readyz")
			want := http.StatusServiceUnavailable
			if len(c.want) == 0 {
				want = http.StatusOK
			}
			if status != want {
				t.Errorf("status %d, want %d: %s", status, want, body)
			}
			if status, _ := w.get("/livez"); status != http.StatusOK {
				t.Errorf("/livez: status %d", status)
			}
			if len(c.want) > 0 && c.want[0] == "database" {
				if status, _ := w.do(http.MethodPost, "/slack/events"); status != http.StatusServiceUnavailable {
					t.Errorf("/slack/events without a database: status %d, want 503, so that Slack comes again", status)
				}
			}
			w.stop()
		})
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	_, slackAPI := newWorkspace(t)
	w := start(t, testserver.Temporal(t), sqlite(t), slackAPI, "")
	w.await("the starter to be ready", func() bool { return w.missing() == nil })
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/livez", 200}, {http.MethodHead, "/livez", 200}, {http.MethodGet, "/readyz", 200}, {http.MethodGet, "/metrics", 200},
		{http.MethodPost, "/slack/events", 401}, {http.MethodPost, "/slack/interactions", 401}, {http.MethodPost, "/slack/commands", 401}, // unsigned
		{http.MethodGet, "/slack/events", 405}, {http.MethodPut, "/slack/interactions", 405}, {http.MethodDelete, "/slack/commands", 405},
		{http.MethodPost, "/livez", 405}, {http.MethodPost, "/readyz", 405}, {http.MethodPost, "/metrics", 405},
		{http.MethodGet, "/", 404}, {http.MethodGet, "/slack", 404}, {http.MethodPost, "/slack/events/x", 404}, {http.MethodGet, "/debug/pprof/", 404},
	} {
		if status, body := w.do(c.method, c.path); status != c.want {
			t.Errorf("%s %s: status %d, want %d: %s", c.method, c.path, status, c.want, body)
		}
	}
	_, metrics := w.get("/metrics")
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "myao_"} {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("/metrics has no %s", name)
		}
	}
	w.stop()
}

func TestSocketModeHasNoSlackRoutes(t *testing.T) {
	t.Parallel()
	team, slackAPI := newWorkspace(t)
	w := start(t, testserver.Temporal(t), sqlite(t), slackAPI, "xapp-1")
	w.await("the starter to be ready, its socket included", func() bool { return w.missing() == nil })
	for _, path := range []string{"/slack/events", "/slack/interactions", "/slack/commands"} {
		if status, _ := w.do(http.MethodPost, path); status != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, status)
		}
	}
	// An event by the socket is stored and acknowledged.
	alice := team.AddUser("alice")
	general := team.AddChannel(workspace.Public, "general", team.Bot().UserID, alice.ID)
	team.Say(general, alice.ID, "hello?")
	if err := team.AwaitDeliveries(t.Context()); err != nil {
		t.Errorf("the event was not acknowledged: %v", err)
	}
	if d := team.Deliveries(); len(d) == 0 || d[len(d)-1].Err != "" {
		t.Errorf("deliveries: %+v", d)
	}
	w.stop()
}

// A request in progress when the starter stops is answered, with the database still open.
func TestARequestOutlivesTheSignalToStop(t *testing.T) {
	t.Parallel()
	team, slackAPI := newWorkspace(t)
	w := start(t, testserver.Temporal(t), sqlite(t), slackAPI, "")
	w.await("the starter to be ready", func() bool { return w.missing() == nil })
	alice := team.AddUser("alice")
	general := team.AddChannel(workspace.Public, "general", team.Bot().UserID, alice.ID)
	body := fmt.Sprintf(`{"type":"event_callback","event_id":"Ev1","team_id":%q,"event":{"type":"message","channel":%q,"channel_type":"channel","user":%q,"text":"hello?","ts":"%d.000100"}}`,
		team.Team(), general, alice.ID, time.Now().Unix())
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	header := team.Sign([]byte(body), time.Now())
	header.Set("Host", w.address)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Expect", "100-continue") // the answer comes when the handler begins to read
	var request bytes.Buffer
	_, _ = request.WriteString("POST /slack/events HTTP/1.1\r\n")
	_ = header.Write(&request)
	_, _ = request.WriteString("\r\n")
	if _, err := conn.Write(request.Bytes()); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	if resp, err := http.ReadResponse(answers, nil); err != nil || resp.StatusCode != http.StatusContinue {
		t.Fatalf("got %+v, %v; want to be asked for the body", resp, err)
	}
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.await("the starter to refuse new connections", func() bool {
		conn, err := net.Dial("tcp", w.address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	<-time.After(500 * time.Millisecond) // for whatever might end too early: nothing shows that from outside
	sent := time.Now()
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	late := time.Since(sent) > 2*time.Second // an event has two and a half seconds
	if resp.StatusCode != http.StatusOK && !(late && resp.StatusCode == http.StatusServiceUnavailable) {
		t.Errorf("status %d, want 200", resp.StatusCode)
	}
	if err := <-w.stopped; err != nil {
		t.Errorf("ended with %v", err)
	}
}

// docs/configuration.md says that each command's help has examples.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, kong.Name("starter"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range parser.Model.Leaves(true) {
		// In an image the program is /starter.
		if example := regexp.MustCompile(`(?m)^ +/?` + c.FullPath() + `\b`); !example.MatchString(c.Detail) {
			t.Errorf("%s --help has no example: %q", c.FullPath(), c.Detail)
		}
	}
}

// The examples in the help can be typed as they are.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, kong.Name("starter"))
	if err != nil {
		t.Fatal(err)
	}
	var (
		line  = regexp.MustCompile(`(?m)^ +/?starter\b(.*)$`)
		after = regexp.MustCompile(`  .*| [|<>] .*`) // what is said of it, and what is the shell's
		word  = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
		quote = strings.NewReplacer(`"`, "", `'`, "")
	)
	for _, c := range parser.Model.Leaves(true) {
		for _, example := range line.FindAllStringSubmatch(c.Detail, -1) {
			args := word.FindAllString(after.ReplaceAllString(example[1], ""), -1)
			for i := range args {
				args[i] = quote.Replace(args[i])
			}
			parsed, err := parser.Parse(args)
			if err != nil {
				t.Errorf("%s: %v", example[0], err)
			} else if got := parsed.Selected().FullPath(); got != c.FullPath() {
				t.Errorf("%s is %s, want %s", example[0], got, c.FullPath())
			}
		}
	}
}
