package serve

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"myao/internal/config"
	"myao/internal/intake/door"
	"myao/internal/intake/record"
	"myao/internal/operate/launch"
	"myao/internal/runtime/timeout"
	"myao/internal/runtime/web"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
	"myao/test/startertest"
	"myao/test/storetest"
)

// patient are limits that no test reaches, and shortLimit is one that a test waits for.
var patient = web.Limits{Header: time.Hour, Read: time.Hour, Write: time.Hour, Idle: time.Hour, HeaderBytes: 4 << 10}

const shortLimit = 500 * time.Millisecond

// dripInterval is how often a slow client sends a byte. It is shorter than shortLimit, so that silence
// does not end the connection.
const dripInterval = 20 * time.Millisecond

type noRelay struct{}

func (noRelay) Notify(...store.Target) {}

// httpBundle is a starter's HTTP server with a real door behind it.
type httpBundle struct {
	t       *testing.T
	address string
	n       int
}

// open has the door's own limits extended: the machine may stand still.
func open(t *testing.T, l web.Limits) *httpBundle {
	t.Helper()
	return openIn(timeout.Extend(t.Context()), t, l)
}

// openIn opens the door, whose requests come in a context.
func openIn(ctx context.Context, t *testing.T, l web.Limits) *httpBundle {
	t.Helper()
	ctx = context.WithoutCancel(ctx)
	_, api := startertest.Workspace(t)
	db := storetest.Open(t)
	logger := slog.New(slog.DiscardHandler)
	s := &starter{
		Program: launch.Program{Config: config.Config{Slack: config.Slack{SigningSecret: "shh", BotToken: "xoxb-1", APIURL: api}}, Logger: logger},
		metrics: prometheus.NewRegistry(),
	}
	s.workspaces, _ = workspaces.New(s.Config, time.Now, logger, s.metrics) // it has no keys
	s.metrics.MustRegister(collectors.NewGoCollector())
	s.door.Store(&door.Door{
		Of: func(ctx context.Context, team, _ string) (*door.Workspace, slack.Identity, error) {
			w, err := s.workspaces.Of(ctx, team)
			if err != nil {
				return nil, slack.Identity{}, err
			}
			directory := &channels.Directory{Store: db, Slack: w.Slack, Config: w.Config, Clock: time.Now, Logger: logger}
			return &door.Workspace{
				Store: db, Recorder: &record.Recorder{Store: db, Directory: directory}, Slack: w.Slack, Directory: directory, Config: w.Config, Relay: noRelay{},
			}, w.Own, nil
		},
		SigningSecret: "shh", Clock: time.Now, Logger: logger, Metrics: door.NewMetrics(s.metrics),
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := s.server(l)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return &httpBundle{t: t, address: listener.Addr().String()}
}

// signature returns the header lines of a request that Slack signs now.
func signature(body string) string {
	ts := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, []byte("shh"))
	_, _ = io.WriteString(mac, "v0:"+ts+":"+body)
	return "X-Slack-Request-Timestamp: " + ts + "\r\nX-Slack-Signature: v0=" + hex.EncodeToString(mac.Sum(nil)) + "\r\n"
}

const head = "POST /slack/events HTTP/1.1\r\nHost: myao\r\n"

// slack sends an event as Slack does, which must be acknowledged.
func (f *httpBundle) slack() {
	f.t.Helper()
	f.n++
	body := fmt.Sprintf(`{"type":"event_callback","team_id":"T0SANDBOX","event_id":"Ev%d","event":{"type":"message","channel":"C1","user":"U1","ts":"100.%06d","text":"hello"}}`, f.n, f.n)
	conn := f.dial()
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = fmt.Fprintf(conn, "%s%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", head, signature(body), len(body), body)
	if status := readStatus(conn); status != http.StatusOK {
		f.t.Errorf("Slack is answered %d", status)
	}
}

func (f *httpBundle) dial() net.Conn {
	f.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(f.t.Context(), "tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	return conn
}

// readStatus reads the status of an answer, or 0 for none.
func readStatus(conn net.Conn) int {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}

// writeSlowly writes a byte at a time until the other side closes the connection.
func writeSlowly(conn net.Conn, format string, args ...any) {
	for range time.Tick(dripInterval) {
		if _, err := fmt.Fprintf(conn, format, args...); err != nil {
			return
		}
	}
}

// Clients that are refused at once, and others for which a limit has to come. As long as none comes, they
// keep nobody else out.
func TestBadClients(t *testing.T) {
	t.Parallel()
	f := open(t, patient)
	body := strings.Repeat("x", 1000)
	slowBody := fmt.Sprintf("%s%sContent-Length: %d\r\n\r\n", head, signature(body), len(body))
	for _, c := range []struct {
		name string
		do   func(net.Conn)
		want int
	}{
		{"headers without end", func(conn net.Conn) {
			for _, err := io.WriteString(conn, head); err == nil; _, err = io.WriteString(conn, "X-Filler: "+body+"\r\n") {
			}
		}, http.StatusRequestHeaderFieldsTooLarge},
		{"a body that ends early", func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "%s%sContent-Length: %d\r\n\r\n%s", head, signature(body), len(body)+1, body)
			_ = conn.(*net.TCPConn).CloseWrite()
		}, http.StatusBadRequest},
		{"unsigned, a huge body announced", func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n", head, int64(1)<<40)
		}, http.StatusUnauthorized},
		{"unsigned, a small body announced", func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "%sContent-Length: 1000\r\n\r\n", head)
		}, http.StatusUnauthorized},
		{"unsigned, a slow body in chunks", func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "%sTransfer-Encoding: chunked\r\n\r\n", head)
			writeSlowly(conn, "1\r\nx\r\n")
		}, http.StatusUnauthorized},
		{"unsigned, asks first", func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "%sContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", head)
		}, http.StatusUnauthorized},
	} {
		conn := f.dial()
		did := make(chan struct{})
		go func() { defer close(did); c.do(conn) }()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if status := readStatus(conn); status != c.want {
			t.Errorf("%s: answered %d, want %d", c.name, status, c.want)
		}
		_ = conn.Close()
		<-did
	}
	for i := range 500 {
		conn := f.dial()
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, []string{"", head, slowBody, "GET /livez HTTP/1.1\r\nHost: myao\r\n\r\n"}[i%4])
	}
	f.slack()
}

// What one client can use is limited in time.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		limit func(*web.Limits) *time.Duration
		want  int // the status, 0 for none
		do    func(net.Conn)
	}{
		{"says nothing", func(l *web.Limits) *time.Duration { return &l.Header }, 0, func(net.Conn) {}},
		{"a slow header", func(l *web.Limits) *time.Duration { return &l.Header }, http.StatusBadRequest, func(conn net.Conn) {
			_, _ = io.WriteString(conn, head)
			writeSlowly(conn, "X")
		}},
		{"a slow body", nil, http.StatusRequestTimeout, func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "%s%sContent-Length: 1000\r\n\r\n", head, signature("x"))
			writeSlowly(conn, "x")
		}},
		{"a slow body in chunks", nil, http.StatusRequestTimeout, func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "%s%sTransfer-Encoding: chunked\r\n\r\n", head, signature("x"))
			writeSlowly(conn, "1\r\nx\r\n")
		}},
		{"asked, and then idle", func(l *web.Limits) *time.Duration { return &l.Idle }, http.StatusOK, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: myao\r\n\r\n")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limits := patient
			if c.limit != nil { // the door itself bounds the time of a body
				*c.limit(&limits) = shortLimit
			}
			f := openIn(t.Context(), t, limits)
			began := time.Now()
			conn := f.dial()
			did := make(chan struct{})
			go func() { defer close(did); c.do(conn) }()
			_ = conn.SetReadDeadline(began.Add(time.Minute))
			// A header that has not begun when its time is over gets no answer.
			if status := readStatus(conn); status != c.want && !(c.name == "a slow header" && status == 0) {
				t.Errorf("answered %d, want %d", status, c.want)
			}
			if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
				t.Errorf("it was not closed: %v", err)
			}
			if took := time.Since(began); took < shortLimit {
				t.Errorf("it was ended after %v, before its limit", took)
			}
			_ = conn.Close()
			<-did
		})
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// A client that keeps sending requests but reads no answers is disconnected by the write timeout.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	limits := patient
	limits.Write = shortLimit
	conn := open(t, limits).dial()
	defer func() { _ = conn.Close() }()
	_ = conn.(*net.TCPConn).SetReadBuffer(1)
	_ = conn.SetWriteDeadline(time.Now().Add(3 * time.Minute))
	ask := []byte(strings.Repeat("GET /metrics HTTP/1.1\r\nHost: myao\r\n\r\n", 1000))
	for {
		if _, err := conn.Write(ask); err != nil {
			if isTimeout(err) {
				t.Errorf("the door waits for it: %v", err)
			}
			return
		}
	}
}

// Slack sends its whole request at once and waits three seconds. No limit may be shorter, nor so
// long that it has no effect.
func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	s := &starter{Program: launch.Program{Logger: slog.New(slog.DiscardHandler)}, metrics: prometheus.NewRegistry()}
	server := s.server(web.DefaultLimits())
	for name, limit := range map[string]time.Duration{
		"header": server.ReadHeaderTimeout, "read": server.ReadTimeout, "write": server.WriteTimeout, "idle": server.IdleTimeout,
	} {
		if limit < 3*time.Second || limit > time.Minute {
			t.Errorf("%s: %v", name, limit)
		}
	}
	if server.ReadHeaderTimeout != 5*time.Second || server.ReadTimeout != 10*time.Second || server.WriteTimeout < server.ReadTimeout {
		t.Errorf("header %v, read %v, write %v", server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout)
	}
	if n := server.MaxHeaderBytes; n < 8<<10 || n > 64<<10 {
		t.Errorf("headers of %d bytes", n)
	}
}

func TestLoadAppID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answers []string // to bots.info, the last one for ever
		want    string
		warned  int
	}{
		{"told", []string{`{"ok":true,"bot":{"id":"BBOT","app_id":"A1"}}`}, "A1", 0},
		{"told later", []string{`{"ok":false,"error":"internal_error"}`, `{"ok":true,"bot":{"id":"BBOT","app_id":"A1"}}`}, "A1", 1},
		{"not allowed", []string{`{"ok":false,"error":"missing_scope"}`}, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began, asked := time.Now(), 0
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/auth.test") {
					_, _ = io.WriteString(w, `{"ok":true,"team_id":"T1","user_id":"UBOT","bot_id":"BBOT"}`)
					return
				}
				_, _ = io.WriteString(w, c.answers[min(asked, len(c.answers)-1)])
				asked++
			}))
			defer api.Close()
			log := &startertest.Log{}
			s := &starter{Program: launch.Program{Logger: slog.New(slog.NewTextHandler(log, nil))}}
			s.workspaces, _ = workspaces.New(config.Config{Slack: config.Slack{BotToken: "xoxb-1", APIURL: api.URL + "/"}}, time.Now, s.Logger, prometheus.NewRegistry()) // it has no keys
			if err := s.learnApp(t.Context()); err != nil {
				t.Error(err)
			}
			if w, err := s.workspaces.Of(t.Context(), ""); err != nil || w.Own.AppID != c.want {
				t.Errorf("%+v, %v, want app %q", w, err, c.want)
			}
			n := strings.Count(log.String(), "the app of the bot is not known yet")
			if n < c.warned || n > c.warned && time.Since(began) < 10*time.Second { // which a call has
				t.Errorf("warned %d times, want %d: %s", n, c.warned, log)
			}
		})
	}
}
