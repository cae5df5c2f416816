package serve

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"myao/internal/operate/launch"
	"myao/sandbox/workspace"
	"myao/test/startertest"
	"myao/test/testserver"
)

// TestMain runs the starter itself in a process that a test has started.
func TestMain(m *testing.M) {
	if startertest.IsProcess() {
		launch.Main(func(ctx context.Context, args []string, stderr io.Writer) int {
			return launch.Run(ctx, "starter", args, stderr, Run)
		})
		return
	}
	testserver.Main(m)
}

func TestReadyzNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, slackAPI := startertest.Workspace(t)
	for _, c := range []struct {
		name                         string
		temporal, database, slackAPI string
		want                         []string
	}{
		{"everything", startertest.Nowhere, "postgres://nobody@" + startertest.Nowhere + "/none", "http://" + startertest.Nowhere + "/api/", []string{"database", "temporal", "slack"}},
		{"the database", testserver.Temporal(t), "postgres://nobody@" + startertest.Nowhere + "/none", slackAPI, []string{"database", "temporal"}}, // whose attributes come after it
		{"Temporal", startertest.Nowhere, startertest.SQLite(t), slackAPI, []string{"temporal"}},
		{"Slack", testserver.Temporal(t), startertest.SQLite(t), "http://" + startertest.Nowhere + "/api/", []string{"slack"}},
		{"nothing", testserver.Temporal(t), startertest.SQLite(t), slackAPI, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := startertest.Start(t, c.temporal, c.database, c.slackAPI, "")
			want := http.StatusServiceUnavailable
			if len(c.want) == 0 {
				want = http.StatusOK
			}
			w.Await("what is there", func() bool {
				status, missing := w.Readiness()
				return status == want && slices.Equal(missing, c.want)
			})
			if status, _ := w.Get("/livez"); status != http.StatusOK {
				t.Errorf("/livez: status %d", status)
			}
			if len(c.want) > 0 && c.want[0] == "database" {
				if status, _ := w.Do(http.MethodPost, "/slack/events"); status != http.StatusServiceUnavailable {
					t.Errorf("/slack/events without a database: status %d, want 503, so that Slack comes again", status)
				}
			}
			w.Stop()
		})
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	_, slackAPI := startertest.Workspace(t)
	w := startertest.Start(t, testserver.Temporal(t), startertest.SQLite(t), slackAPI, "")
	w.Await("the starter to be ready", func() bool { return w.Missing() == nil })
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/livez", 200}, {http.MethodHead, "/livez", 200}, {http.MethodGet, "/metrics", 200},
		{http.MethodPost, "/slack/events", 401}, {http.MethodPost, "/slack/interactions", 401}, {http.MethodPost, "/slack/commands", 401}, // unsigned
		{http.MethodGet, "/slack/events", 405}, {http.MethodPut, "/slack/interactions", 405}, {http.MethodDelete, "/slack/commands", 405},
		{http.MethodPost, "/livez", 405}, {http.MethodPost, "/readyz", 405}, {http.MethodPost, "/metrics", 405},
		{http.MethodGet, "/", 404}, {http.MethodGet, "/slack", 404}, {http.MethodPost, "/slack/events/x", 404}, {http.MethodGet, "/debug/pprof/", 404},
	} {
		if status, body := w.Do(c.method, c.path); status != c.want {
			t.Errorf("%s %s: status %d, want %d: %s", c.method, c.path, status, c.want, body)
		}
	}
	_, metrics := w.Get("/metrics")
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "myao_"} {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("/metrics has no %s", name)
		}
	}
	w.Stop()
}

func TestSocketModeHasNoSlackRoutes(t *testing.T) {
	t.Parallel()
	team, slackAPI := startertest.Workspace(t)
	w := startertest.Start(t, testserver.Temporal(t), startertest.SQLite(t), slackAPI, "xapp-1")
	w.Await("the starter to be ready, its socket included", func() bool { return w.Missing() == nil })
	for _, path := range []string{"/slack/events", "/slack/interactions", "/slack/commands"} {
		if status, _ := w.Do(http.MethodPost, path); status != http.StatusNotFound {
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
	w.Stop()
}

// A request in progress when the starter stops is answered, with the database still open.
func TestARequestOutlivesTheSignalToStop(t *testing.T) {
	t.Parallel()
	team, slackAPI := startertest.Workspace(t)
	w := startertest.Start(t, testserver.Temporal(t), startertest.SQLite(t), slackAPI, "")
	w.Await("the starter to be ready", func() bool { return w.Missing() == nil })
	alice := team.AddUser("alice")
	general := team.AddChannel(workspace.Public, "general", team.Bot().UserID, alice.ID)
	body := fmt.Sprintf(`{"type":"event_callback","event_id":"Ev1","team_id":%q,"event":{"type":"message","channel":%q,"channel_type":"channel","user":%q,"text":"hello?","ts":"%d.000100"}}`,
		team.Team(), general, alice.ID, time.Now().Unix())
	conn, err := net.Dial("tcp", w.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	header := team.Sign([]byte(body), time.Now())
	header.Set("Host", w.Address)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Expect", "100-continue") // the answer comes when the handler begins to read
	var request bytes.Buffer
	_, _ = request.WriteString("POST /slack/events HTTP/1.1\r\n")
	_ = header.Write(&request)
	_, _ = request.WriteString("\r\n")
	began := time.Now()
	if _, err := conn.Write(request.Bytes()); err != nil {
		t.Fatal(err)
	}
	late := func() bool { return time.Since(began) > 2*time.Second } // which a body has, and an event a bit more
	answers := bufio.NewReader(conn)
	if resp, err := http.ReadResponse(answers, nil); err != nil || resp.StatusCode != http.StatusContinue {
		t.Fatalf("got %+v, %v; want to be asked for the body", resp, err)
	}
	if err := w.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.Await("the starter to refuse new connections", func() bool {
		conn, err := net.Dial("tcp", w.Address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	<-time.After(500 * time.Millisecond) // for whatever might end too early: nothing shows that from outside
	_, err = io.WriteString(conn, body)
	status := 0
	if err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(answers, nil); err == nil {
			status = resp.StatusCode
			_ = resp.Body.Close()
		}
	}
	if status != http.StatusOK && !late() {
		t.Errorf("status %d, %v; want 200", status, err)
	}
	if err := <-w.Stopped; err != nil {
		t.Errorf("ended with %v", err)
	}
}
