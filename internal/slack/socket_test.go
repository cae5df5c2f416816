package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"myao/internal/runtime/timeout"
)

// socketServer is Slack's side of Socket Mode. It opens connections; each is a channel of what to send.
// Acknowledgements arrive on acks.
type socketServer struct {
	*httptest.Server
	conns chan *websocket.Conn
	acks  chan string
	along chan string // what came along with acknowledgements
	pongs chan struct{}

	mu          sync.Mutex
	open        answer
	tokens      []string
	connections int // that the app has, by what Slack says; 0 is 1
}

func newSocketServer(t *testing.T) *socketServer {
	t.Helper()
	s := &socketServer{conns: make(chan *websocket.Conn, 8), acks: make(chan string, 64), along: make(chan string, 64), pongs: make(chan struct{}, 64)}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/apps.connections.open", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.tokens = append(s.tokens, r.Header.Get("Authorization"))
		open := s.open
		s.mu.Unlock()
		if open != nil {
			open(w, nil)
			return
		}
		fmt.Fprintf(w, `{"ok":true,"url":"ws%s/link/?ticket=t"}`, strings.TrimPrefix(s.URL, "http"))
	})
	mux.HandleFunc("/link/", func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		s.mu.Lock()
		connections := max(s.connections, 1)
		s.mu.Unlock()
		send(conn, fmt.Sprintf(`{"type":"hello","num_connections":%d,"connection_info":{"app_id":"A1"},"debug_info":{}}`, connections))
		conn.SetPongHandler(func(string) error { s.pongs <- struct{}{}; return nil })
		s.conns <- conn
		for {
			_, message, err := conn.ReadMessage()
			if err != nil {
				return
			}
			var ack struct {
				EnvelopeID string          `json:"envelope_id"`
				Payload    json.RawMessage `json:"payload"`
			}
			if json.Unmarshal(message, &ack) == nil {
				s.acks <- ack.EnvelopeID
				if ack.Payload != nil {
					s.along <- string(ack.Payload)
				}
			}
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s
}

// answers sets the answer of apps.connections.open; nil is a new connection.
func (s *socketServer) answers(a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = a
}

func send(conn *websocket.Conn, message string) {
	_ = conn.WriteMessage(websocket.TextMessage, []byte(message))
}

func next[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatalf("no %s in a minute", what)
		panic("unreachable")
	}
}

// listen runs Listen until the test ends, and checks that it stops cleanly.
func listen(t *testing.T, s *Socket, handle func(context.Context, []byte) error) {
	t.Helper()
	listenTo(t, s, bodies(handle))
}

// bodies returns a Handle that sees only bodies, and answers nothing.
func bodies(handle func(context.Context, []byte) error) Handle {
	return func(ctx context.Context, d Delivery) (json.RawMessage, error) { return nil, handle(ctx, d.Body) }
}

func listenTo(t *testing.T, s *Socket, handle Handle) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Listen(ctx, handle) }()
	t.Cleanup(func() {
		cancel()
		if err := next(t, done, "end of Listen"); err != nil {
			t.Errorf("Listen: %v", err)
		}
		if s.Connected() {
			t.Error("still connected")
		}
	})
}

// config is that of a socket for which no stop of the machine is too long.
func (s *socketServer) config(log *bytes.Buffer) SocketConfig {
	c := SocketConfig{AppToken: "xapp-1-secret", APIURL: s.URL + "/api/", HTTPClient: patient, Ping: time.Hour}
	if log != nil {
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	return c
}

func (s *socketServer) socket() *Socket {
	return NewSocket(s.config(nil))
}

func events(id, payload string) string {
	return fmt.Sprintf(`{"type":"events_api","envelope_id":%q,"payload":%s,"accepts_response_payload":false,"retry_attempt":0,"retry_reason":""}`, id, payload)
}

func TestSocketDeliversPayloads(t *testing.T) {
	t.Parallel()
	server := newSocketServer(t)
	socket := server.socket()
	bodies := make(chan string, 8)
	listen(t, socket, func(_ context.Context, body []byte) error { bodies <- string(body); return nil })
	conn := next(t, server.conns, "connection")

	for i, payload := range []string{
		envelope(`{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100"}`),
		// What the library cannot parse arrives all the same.
		envelope(`{"type":"never_seen","x":1}`),
		envelope(`{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","blocks":[{"type":7}]}`),
		envelope(`null`),
	} {
		id := fmt.Sprintf("E%d", i)
		send(conn, events(id, payload))
		if got := next(t, bodies, "body"); got != payload {
			t.Errorf("%s: got %s", id, got)
		}
		if got := next(t, server.acks, "acknowledgement"); got != id {
			t.Errorf("acknowledged %s, want %s", got, id)
		}
	}
	if !socket.Connected() {
		t.Error("not connected")
	}

	// What is no event is acknowledged and goes no further; noise is passed over.
	send(conn, `noise`)
	send(conn, `{"type":"never_seen"}`)
	for _, request := range []string{
		events("E10", `7`),
		events("E11", `null`),
		`{"type":"interactive","envelope_id":"E12","payload":[]}`,
		`{"type":"slash_commands","envelope_id":"E13"}`,
		`{"type":"never_seen","envelope_id":"E14","payload":{}}`,
	} {
		send(conn, request)
		if got := next(t, server.acks, "acknowledgement"); !strings.Contains(request, `"`+got+`"`) {
			t.Errorf("acknowledged %s after %s", got, request)
		}
	}
	select {
	case body := <-bodies:
		t.Errorf("handed on %s", body)
	default:
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.tokens[0] != "Bearer xapp-1-secret" {
		t.Errorf("token %q", server.tokens[0])
	}
}

func TestSocketAcknowledgesOnlyHandledEvents(t *testing.T) {
	t.Parallel()
	server := newSocketServer(t)
	stored := make(chan struct{})
	var tries int
	listen(t, server.socket(), func(context.Context, []byte) error {
		if tries++; tries == 1 {
			return errors.New("database is locked")
		}
		<-stored
		return nil
	})
	conn := next(t, server.conns, "connection")
	payload := envelope(`{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100"}`)
	send(conn, events("E1", payload))
	send(conn, events("E2", payload))
	select {
	case got := <-server.acks:
		t.Fatalf("%s acknowledged before it was stored", got)
	case <-time.After(100 * time.Millisecond):
	}
	close(stored)
	if got := next(t, server.acks, "acknowledgement"); got != "E2" {
		t.Errorf("acknowledged %s, want E2", got)
	}
}

func TestSocketReconnects(t *testing.T) {
	t.Parallel()
	server := newSocketServer(t)
	bodies := make(chan string, 8)
	socket := server.socket()
	listen(t, socket, func(_ context.Context, body []byte) error { bodies <- string(body); return nil })
	payload := envelope(`{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100"}`)

	session := func(is func(id int64) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !is(socket.Session()); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("still session %d", socket.Session())
			}
		}
	}
	first := next(t, server.conns, "connection")
	session(func(id int64) bool { return id == 1 })
	replaced := time.Now()
	send(first, `{"type":"disconnect","reason":"refresh_requested","debug_info":{}}`)
	second := next(t, server.conns, "connection after a disconnect")
	if got := socket.Session(); got != 1 && time.Since(replaced) < maxReconnect {
		t.Errorf("session %d after a connection was replaced, want 1", got)
	}
	failed := make(chan struct{}, 64)
	server.answers(func(w http.ResponseWriter, _ url.Values) {
		failed <- struct{}{}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	_ = second.UnderlyingConn().Close() // a connection that breaks, while Slack is out of order
	next(t, failed, "first try")
	next(t, failed, "second try")
	if got := socket.Session(); got != 1 && time.Since(replaced) < maxReconnect {
		t.Errorf("session %d after a short time without a connection, want 1", got)
	}
	socket.mu.Lock()
	socket.lost = time.Now().Add(-maxReconnect) // as after a long time
	socket.mu.Unlock()
	session(func(id int64) bool { return id == 0 })
	server.answers(nil)
	conn := next(t, server.conns, "connection after an outage")
	session(func(id int64) bool { return id > 1 })
	send(conn, events("E1", payload))
	next(t, bodies, "body")
	if got := next(t, server.acks, "acknowledgement"); got != "E1" {
		t.Errorf("acknowledged %s", got)
	}
}

// What was received before a connection broke is handled, although it cannot be acknowledged before there
// is another. The library has room for twenty acknowledgements and fifty events. If handling waited for
// the acknowledgement, the library would stop and never reconnect.
func TestSocketHandlesWithoutAConnection(t *testing.T) {
	t.Parallel()
	const came = 40
	server := newSocketServer(t)
	socket := server.socket()
	begun, stored, taken := make(chan struct{}, came), make(chan struct{}), make(chan struct{}, came)
	listen(t, socket, func(context.Context, []byte) error {
		begun <- struct{}{}
		<-stored
		taken <- struct{}{}
		return nil
	})
	conn := next(t, server.conns, "connection")
	for i := range came {
		send(conn, events(fmt.Sprintf("E%d", i), envelope(`{"type":"message"}`)))
	}
	// A pong shows that what came before it has been read. The socket leaves one out that it cannot send at once.
	for ponged, tries := false, 0; !ponged; tries++ {
		if err := conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Minute)); err != nil || tries == 20 {
			t.Fatalf("no pong after %d pings, %v", tries, err)
		}
		select {
		case <-server.pongs:
			ponged = true
		case <-time.After(5 * time.Second):
		}
	}
	next(t, begun, "event that is being stored")

	tries := make(chan struct{}, 64)
	server.answers(func(w http.ResponseWriter, _ url.Values) {
		w.WriteHeader(http.StatusServiceUnavailable)
		tries <- struct{}{}
	})
	_ = conn.Close()
	next(t, tries, "try to connect again")
	close(stored)
	for range came - 2 { // two may have been on their way within the library, and been dropped
		next(t, taken, "event taken while there is no connection")
	}
	server.answers(nil)
	next(t, server.conns, "second connection")
	for range came - 2 {
		next(t, server.acks, "acknowledgement")
	}
}

func TestSocketLogsConnectionCount(t *testing.T) {
	t.Parallel()
	for connections, warned := range map[int]bool{2: false, MaxConnections: true} {
		server := newSocketServer(t)
		server.connections = connections
		var log bytes.Buffer
		socket := NewSocket(server.config(&log))
		go func() {
			send(<-server.conns, events("e1", `{"type":"event_callback"}`)) // comes behind the greeting
		}()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := socket.Listen(ctx, bodies(func(context.Context, []byte) error { cancel(); return nil })); err != nil {
			t.Error(err)
		}
		if got := log.String(); !strings.Contains(got, fmt.Sprintf("connections=%d", connections)) || strings.Contains(got, "limit=") != warned {
			t.Errorf("Slack counts %d connections; logged:\n%s", connections, got)
		}
	}
}

// A door that Slack closes at once is not opened again at once, and does not count as open. The pauses grow, and one
// connection that lasts ends them.
func TestSocketThatDoesNotStayOpen(t *testing.T) {
	t.Parallel()
	for reason, says := range map[string]string{
		reasonTooMany: "other programs use this app-level token", reasonDisabled: "turned off in the app's settings",
		reasonRefresh: "did not last", reasonWarning: "did not last", "": "did not last", "new_in_2027": "did not last",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			server := newSocketServer(t)
			var log bytes.Buffer
			socket := NewSocket(server.config(&log))
			waits := make(chan time.Duration)
			// No connection lasts here, however long the machine stops.
			now := time.Now()
			socket.reopening.now = func() time.Time { return now }
			socket.reopening.after = func(time.Duration) <-chan time.Time { return nil }
			socket.reopening.jitter = func() float64 { return 0.5 }
			socket.reopening.wait = func(ctx context.Context, d time.Duration) bool {
				select {
				case waits <- d:
				case <-ctx.Done():
				}
				return ctx.Err() == nil
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			taken := make(chan struct{}, 1)
			go func() {
				ended <- socket.Listen(ctx, bodies(func(context.Context, []byte) error { taken <- struct{}{}; return nil }))
			}()
			goodbye := func() {
				t.Helper()
				conn := next(t, server.conns, "connection")
				if reason != "" {
					send(conn, `{"type":"disconnect","reason":"`+reason+`","debug_info":{"host":"wss-111.slack.com"}}`)
				}
				_ = conn.Close()
			}
			goodbye()
			var got []time.Duration
			if reason == reasonRefresh || reason == reasonWarning { // one is as usual
				got = append(got, 0)
				goodbye()
			}
			for len(got) < 6 {
				got = append(got, next(t, waits, "pause"))
				goodbye()
			}
			want := []time.Duration{750 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 6 * time.Second, 11250 * time.Millisecond, 11250 * time.Millisecond}
			switch reason {
			case reasonDisabled:
				want = slices.Repeat([]time.Duration{11250 * time.Millisecond}, 6)
			case reasonRefresh, reasonWarning:
				want[0] = 0
			}
			if !slices.Equal(got, want) {
				t.Errorf("waited %s, want %s", got, want)
			}
			next(t, waits, "pause")
			send(next(t, server.conns, "connection"), events("E1", `{"type":"event_callback"}`))
			next(t, taken, "event")
			socket.mu.Lock()
			if socket.lost.IsZero() || socket.connected.Load() {
				t.Error("a connection that may not last counts as open")
			}
			socket.mu.Unlock()
			cancel()
			if err := next(t, ended, "end"); err != nil {
				t.Error(err)
			}
			if text := log.String(); !strings.Contains(text, says) || !strings.Contains(text, "reason="+cmp.Or(reason, "(none)")) {
				t.Errorf("logged:\n%s", text)
			}
		})
	}
}

// One connection that lasts ends the pauses.
func TestPausesEnd(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := &reopening{jitter: func() float64 { return 0 }, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)}
	for i, c := range []struct{ lasted, want time.Duration }{
		{time.Second, 500 * time.Millisecond}, {time.Second, time.Second}, {9 * time.Second, 2 * time.Second}, {lastingTime, 0}, {time.Second, 500 * time.Millisecond},
	} {
		r.opened, r.reason = now.Add(-c.lasted), reasonTooMany
		if got := r.pause(); got != c.want {
			t.Errorf("connection %d: %s, want %s", i, got, c.want)
		}
	}
}

func TestSocketReplacesASilentConnection(t *testing.T) {
	t.Parallel()
	server := newSocketServer(t)
	config := server.config(nil)
	config.Ping = 50 * time.Millisecond
	socket := NewSocket(config)
	listen(t, socket, func(context.Context, []byte) error { return nil })
	next(t, server.conns, "connection")
	next(t, server.conns, "second connection")
}

func TestSocketStopsWhenRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"invalid_auth", "not_allowed_token_type"} {
		server := newSocketServer(t)
		server.answers(says(`{"ok":false,"error":"` + code + `"}`))
		err := server.socket().Listen(t.Context(), bodies(func(context.Context, []byte) error { return nil }))
		if e := asError(t, err); e.Kind != Final || e.Code != code {
			t.Errorf("got %+v", e)
		}
	}
}

// An app-level token that has ended is told apart from a connection that fails.
func TestAppTokenEnded(t *testing.T) {
	t.Parallel()
	server := newSocketServer(t)
	server.answers(says(`{"ok":false,"error":"token_expired"}`))
	socket, waits := server.socket(), make(chan struct{})
	var log bytes.Buffer
	socket.log = slog.New(slog.NewTextHandler(&log, nil))
	socket.reopening.wait = func(ctx context.Context, _ time.Duration) bool {
		select {
		case waits <- struct{}{}:
		case <-ctx.Done():
		}
		return ctx.Err() == nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- socket.Listen(ctx, bodies(func(context.Context, []byte) error { return nil })) }()
	next(t, waits, "pause")
	err := socket.Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), "token_expired") || !strings.Contains(err.Error(), NewAppToken) {
		t.Errorf("%v", err)
	}
	next(t, waits, "second pause")
	server.answers(nil)
	go func() {
		for {
			select {
			case <-waits:
			case <-ctx.Done():
				return
			}
		}
	}()
	next(t, server.conns, "connection")
	cancel()
	if err := next(t, ended, "end of Listen"); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "no events arrive"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
}

func TestSocketFinishesHandling(t *testing.T) {
	t.Parallel()
	server := newSocketServer(t)
	ctx, cancel := context.WithCancel(timeout.Extend(t.Context()))
	begun, release, outcome := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	done := make(chan error, 1)
	go func() {
		done <- server.socket().Listen(ctx, bodies(func(ctx context.Context, _ []byte) error {
			close(begun)
			<-release
			outcome <- ctx.Err()
			return nil
		}))
	}()
	send(next(t, server.conns, "connection"), events("E1", envelope(`{"type":"message"}`)))
	next(t, begun, "handling")
	cancel()
	close(release)
	if err := next(t, outcome, "outcome"); err != nil {
		t.Errorf("the storing was cut off: %v", err)
	}
	if err := next(t, done, "end of Listen"); err != nil {
		t.Errorf("Listen: %v", err)
	}
}

// Commands and interactions run concurrently with events, and are answered with the acknowledgement.
func TestSocketAnswersRequests(t *testing.T) {
	t.Parallel()
	server := newSocketServer(t)
	release := make(chan struct{})
	listenTo(t, server.socket(), func(_ context.Context, d Delivery) (json.RawMessage, error) {
		switch d.Kind {
		case DeliveredCommand:
			<-release
			return Ephemeral(Answer{Text: "for " + string(d.Body)}), nil
		case DeliveredInteraction:
			return Ephemeral(Answer{Text: "is not taken"}), nil
		}
		return nil, nil
	})
	conn := next(t, server.conns, "connection")
	send(conn, `{"type":"slash_commands","envelope_id":"E1","accepts_response_payload":true,"payload":{"command":"/myao"}}`)
	// The library makes something of a shortcut only if it knows all of it.
	send(conn, `{"type":"interactive","envelope_id":"E2","accepts_response_payload":false,"payload":{"type":"message_action","message":7}}`)
	if got := next(t, server.acks, "acknowledgement"); got != "E2" {
		t.Errorf("acknowledged %s, want E2", got)
	}
	send(conn, events("E3", envelope(`{"type":"message"}`)))
	if got := next(t, server.acks, "acknowledgement"); got != "E3" {
		t.Errorf("acknowledged %s, want E3", got)
	}
	close(release)
	if got := next(t, server.acks, "acknowledgement"); got != "E1" {
		t.Errorf("acknowledged %s, want E1", got)
	}
	want := `{"replace_original":false,"response_type":"ephemeral","text":"for {\"command\":\"/myao\"}"}`
	if got := next(t, server.along, "answer"); got != want || len(server.along) > 0 {
		t.Errorf("answered %s, want %s", got, want)
	}
}
