package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	slackapi "github.com/slack-go/slack"

	"myao/internal/runtime/pause"
)

const (
	openMethod = "apps.connections.open"
	// handleTimeout bounds the handling of one event, so that one that hangs does not stop the
	// events after it. Slack has resent it by then.
	handleTimeout = 10 * time.Second
	// defaultPing is how long a silent connection counts as alive. Slack pings more often.
	defaultPing = 30 * time.Second
	// maxFrame is the size limit of a message from the socket, in bytes.
	maxFrame = 8 << 20
	// maxReconnect is how long it may take to replace a connection, as Slack wants it every few hours.
	// After a longer time without a connection, deliveries may have been missed.
	maxReconnect = 5 * time.Second
	// MaxConnections is how many connections an app may have open at once
	// (docs.slack.dev/apis/events-api/using-socket-mode#connections).
	MaxConnections = 10
)

// SocketConfig is what a Socket needs.
type SocketConfig struct {
	// AppToken is the app-level token (xapp-…) with the scope connections:write.
	AppToken string
	// APIURL is the base of the Web API; https://slack.com/api/ if empty.
	APIURL string
	// HTTPClient opens connections; as in Config.
	HTTPClient *http.Client
	// Logger logs connections and deliveries that are not understood, never what people wrote; nil
	// logs nothing.
	Logger *slog.Logger
	// Ping is how long the connection may be without a ping from Slack before it is replaced; 0
	// means 30 seconds.
	Ping time.Duration
}

// Socket receives events over Socket Mode (docs.slack.dev/apis/events-api/using-socket-mode).
type Socket struct {
	config    SocketConfig
	log       *slog.Logger
	reopening *reopening
	connected atomic.Bool
	ended     atomic.Pointer[Error] // set while Slack no longer takes the token

	mu sync.Mutex
	// session counts the times without missed deliveries; 0 before the first.
	session int64
	lost    time.Time // when the connection ended; zero while there is one
}

// NewSocket makes a socket. It does not connect.
func NewSocket(c SocketConfig) *Socket {
	if c.Ping <= 0 {
		c.Ping = defaultPing
	}
	s := &Socket{config: c, log: c.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.reopening = &reopening{wait: pause.For, jitter: rand.Float64, now: time.Now, after: time.After, log: s.log}
	return s
}

// Connected reports whether a connection is open.
func (s *Socket) Connected() bool { return s.connected.Load() }

// NewAppToken says what to do about an app-level token that has ended. Slack renews those that rotate, and says to
// nobody how a program asks for it.
const NewAppToken = "set slack.app_token to a new app-level token that does not rotate (xapp-…), and restart the starters"

// Ready returns an error while no connection is open. It is a check of /readyz.
func (s *Socket) Ready(context.Context) error {
	ended := s.ended.Load()
	switch {
	case s.Connected():
		return nil
	case ended != nil:
		return fmt.Errorf("slack: the app-level token is not taken any more (%s): %s", ended.Code, NewAppToken)
	}
	return errors.New("slack: Socket Mode is not connected")
}

// Session returns 0 while deliveries may be missed: before the first connection, and when there has been none for
// more than five seconds. Otherwise it returns a number that is another one after each such time.
func (s *Socket) Session() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lasting()
}

func (s *Socket) lasting() int64 {
	if !s.lost.IsZero() && time.Since(s.lost) > maxReconnect {
		return 0
	}
	return s.session
}

// open notes that there is a connection, or that there is none.
func (s *Socket) open(connected bool) {
	s.connected.Store(connected)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !connected && s.lost.IsZero():
		s.lost = time.Now()
	case connected:
		if s.lasting() == 0 {
			s.session++
		}
		s.lost = time.Time{}
	}
}

// api returns a client that opens connections.
func (s *Socket) api() *slackapi.Client {
	return slackapi.New("", append(options(Config{APIURL: s.config.APIURL}, newTransport(s.config.HTTPClient)),
		slackapi.OptionAppLevelToken(s.config.AppToken))...)
}

// Check opens a connection for a moment, and returns how many the app has then, by what Slack says, with that one.
// It shows whether Listen could connect. Slack sends again what it delivers to the connection meanwhile, except for
// a command or a click (docs.slack.dev/apis/events-api/using-socket-mode). The errors of apps.connections.open are
// *Error.
func (s *Socket) Check(ctx context.Context) (connections int, err error) {
	conn, err := s.connect(ctx, s.api())
	if err != nil {
		return 0, Failure(openMethod, err, s.config.AppToken)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(defaultTimeout))
	for {
		var said struct {
			Type, Reason   string
			NumConnections int `json:"num_connections"`
		}
		switch err := conn.ReadJSON(&said); {
		case err != nil && connections == 0:
			return 0, fmt.Errorf("hear from Slack by the websocket: %w", err)
		case err != nil: // it stays open
			return connections, nil
		case said.Type == "disconnect" && said.Reason == reasonTooMany:
			return max(connections, MaxConnections), nil
		case said.Type == "disconnect" && said.Reason != reasonRefresh && said.Reason != reasonWarning:
			return 0, fmt.Errorf("ended by Slack at once: %s", logName(said.Reason))
		case said.Type == "hello":
			if connections = max(1, said.NumConnections); connections >= MaxConnections {
				return connections, nil
			}
			_ = conn.SetReadDeadline(time.Now().Add(goodbyeTime))
		}
	}
}

// goodbyeTime is how long Slack may take, after its greeting, to say that there are too many connections.
const goodbyeTime = 500 * time.Millisecond

// Delivery is what Slack delivers by the socket.
type Delivery struct {
	// Kind is one of the constants below.
	Kind string
	// Body is the payload. Of an event it is the same as the body over HTTP.
	Body []byte
}

// The kinds of delivery (docs.slack.dev/apis/events-api/using-socket-mode#events).
const (
	DeliveredEvent       = "events_api"
	DeliveredCommand     = "slash_commands"
	DeliveredInteraction = "interactive"
)

// Handle handles a delivery. The answer is sent with the acknowledgement.
type Handle func(ctx context.Context, d Delivery) (answer json.RawMessage, err error)

// Listen receives until ctx ends, then returns nil. It passes events to handle one at a time in the
// order of arrival. When handle returns nil, Listen acknowledges the event to Slack; otherwise Slack
// resends it. Slack does not resend commands and interactions; they are handled concurrently and
// delay nothing.
//
// The context of handle outlives ctx, so that a store that has begun can finish, and ends after 10
// seconds. Lost connections are replaced. If Slack refuses the token, Listen returns an *Error of
// kind Final.
func (s *Socket) Listen(ctx context.Context, handle Handle) error {
	var aside sync.WaitGroup
	defer aside.Wait()
	defer s.open(false)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := listener{handle: handle, aside: &aside, inbox: make(chan request, inboxSize),
		outbox: make(chan acknowledgement)}
	aside.Go(func() {
		for {
			select {
			case r := <-l.inbox:
				s.accept(ctx, l, r)
			case <-ctx.Done():
				return
			}
		}
	})
	api := s.api()
	for failed := 0; ctx.Err() == nil; {
		if !s.reopening.before(ctx) {
			break
		}
		conn, err := s.connect(ctx, api)
		switch e := classify(openMethod, err); {
		case ctx.Err() != nil:
		case e != nil && e.Kind == Final:
			return e // Slack itself has refused
		case e != nil:
			failed++
			d := max(e.RetryAfter, pauseAfter(failed, "", s.reopening.jitter()))
			if e.Ended() && s.ended.Swap(e) == nil {
				s.log.Error("no events arrive: Slack no longer takes the app-level token; " + NewAppToken)
			}
			s.log.Warn("socket mode connection failed", "error", e, "next_try_in", d)
			s.reopening.opened = time.Time{}
			s.reopening.wait(ctx, d)
			continue
		}
		if conn != nil {
			s.ended.Store(nil)
			failed, s.reopening.opened = 0, s.reopening.now()
			s.serve(ctx, l, conn)
			s.open(false)
		}
	}
	return nil
}

// connect opens a connection. Its errors are those of the call or of the websocket.
func (s *Socket) connect(ctx context.Context, api *slackapi.Client) (*websocket.Conn, error) {
	_, address, err := api.StartSocketModeContext(ctx)
	if err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment,
		HandshakeTimeout: newTransport(s.config.HTTPClient).client.Timeout}
	conn, resp, err := dialer.DialContext(ctx, address, http.Header{"Origin": {"https://api.slack.com"}})
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("open the websocket: %w", err)
	}
	return conn, nil
}
