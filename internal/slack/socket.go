package slack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	slackapi "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
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
	// maxConnections is how many connections an app may have open at once
	// (docs.slack.dev/apis/events-api/using-socket-mode#connections).
	maxConnections = 10
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
	connected atomic.Bool

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
	return s
}

// Connected reports whether a connection is open.
func (s *Socket) Connected() bool { return s.connected.Load() }

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

// Check asks Slack for the address of a connection, without connecting. It shows whether Listen could
// connect (docs.slack.dev/reference/methods/apps.connections.open). Its errors are *Error.
func (s *Socket) Check(ctx context.Context) error {
	_, _, err := s.api().StartSocketModeContext(ctx)
	return (&Client{token: s.config.AppToken}).fail(openMethod, err)
}

// Delivery is what Slack delivers by the socket.
type Delivery struct {
	// Kind is one of the constants below.
	Kind string
	// Body is the payload. Of an event it is the same as the body over HTTP.
	Body []byte
}

// The kinds of delivery (docs.slack.dev/apis/events-api/using-socket-mode#events).
const (
	DeliveredEvent       = socketmode.RequestTypeEventsAPI
	DeliveredCommand     = socketmode.RequestTypeSlashCommands
	DeliveredInteraction = socketmode.RequestTypeInteractive
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.open(false)

	api := s.api()
	for ctx.Err() == nil {
		client := socketmode.New(api,
			socketmode.OptionPingInterval(s.config.Ping),
			socketmode.OptionReadLimit(maxFrame),
			socketmode.OptionLog(log.New(io.Discard, "", 0)))
		l := connection{client: client, handle: handle, aside: &aside}
		run, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			defer stop()
			ended <- client.RunContext(run)
		}()
		for open := true; open; {
			select {
			case event := <-client.Events:
				if err := s.receive(run, l, event); err != nil {
					cancel(err)
				}
			case <-run.Done():
				open = false
			}
		}
		s.open(false)
		if err := <-ended; ctx.Err() == nil {
			s.log.Warn("socket mode stopped; starting again", "error", classify(openMethod, err))
		}
	}
	if refusal, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return refusal
	}
	return nil
}

// connection is one connection and the handler of its deliveries.
type connection struct {
	client *socketmode.Client
	handle Handle
	aside  *sync.WaitGroup // handlers that run concurrently with the events
}

// request is an envelope of Slack's.
type request struct {
	kind, envelope string
	payload        json.RawMessage
	answers        bool // the acknowledgement may carry an answer
}

// receive handles one event of the library. It returns an error if connecting again is pointless.
func (s *Socket) receive(ctx context.Context, l connection, event socketmode.Event) error {
	switch event.Type {
	case socketmode.EventTypeConnected:
		s.open(true)
		s.log.Info("socket mode connected")
	case socketmode.EventTypeHello:
		s.logHello(event.Request)
	case socketmode.EventTypeConnecting:
		s.open(false)
	case socketmode.EventTypeConnectionError:
		s.open(false)
		failed, ok := event.Data.(*slackapi.ConnectionErrorEvent)
		if !ok {
			return nil
		}
		e := classify(openMethod, failed.ErrorObj)
		if e != nil && e.Kind == Final {
			return e // Slack itself has refused
		}
		s.log.Warn("socket mode connection failed", "error", e, "next_try_in", failed.Backoff)
	case socketmode.EventTypeErrorWriteFailed:
		s.log.Warn("socket mode acknowledgement not sent; the event will come again")
	case socketmode.EventTypeErrorBadMessage:
		// The library parses events by type, and fails on a type that it does not know. We need only
		// the envelope.
		if bad, ok := event.Data.(*socketmode.ErrorBadMessage); ok {
			s.deliver(ctx, l, bad.Message)
		}
	default:
		if event.Request != nil && event.Request.EnvelopeID != "" {
			s.accept(ctx, l, request{event.Request.Type, event.Request.EnvelopeID, event.Request.Payload, event.Request.AcceptsResponsePayload})
		}
	}
	return nil
}

// logHello logs how many connections Slack counts. Those whose end Slack has not noticed yet count, and
// Slack sends deliveries to them, too.
func (s *Socket) logHello(hello *socketmode.Request) {
	if hello == nil {
		return
	}
	s.log.Info("socket mode greeted by Slack", "connections", hello.NumConnections)
	if hello.NumConnections >= maxConnections {
		s.log.Warn("Slack counts as many connections as an app may have; it sends each delivery to one of them; "+
			"if that connection is gone, an event arrives late, and a command or click is lost",
			"connections", hello.NumConnections, "limit", maxConnections)
	}
}

func (s *Socket) deliver(ctx context.Context, l connection, message []byte) {
	o, ok := parseObject(message)
	if !ok || o.text("envelope_id") == "" {
		s.log.Warn("socket mode message not understood", "bytes", len(message))
		return
	}
	s.accept(ctx, l, request{o.text("type"), o.text("envelope_id"), o["payload"], o.flag("accepts_response_payload")})
}

// accept handles a request and acknowledges it. A request of another kind is acknowledged without
// effect, since resending it would not help.
func (s *Socket) accept(ctx context.Context, l connection, r request) {
	_, readable := parseObject(r.payload)
	switch {
	case readable && r.kind == DeliveredEvent:
		s.handle(ctx, l, r)
	case readable && (r.kind == DeliveredCommand || r.kind == DeliveredInteraction):
		l.aside.Go(func() { s.handle(ctx, l, r) })
	default:
		s.log.Warn("socket mode request acknowledged without effect", "type", logName(r.kind), "envelope", r.envelope)
		s.acknowledge(ctx, l, r, nil)
	}
}

func (s *Socket) handle(ctx context.Context, l connection, r request) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleTimeout)
	defer cancel()
	answer, err := l.handle(own, Delivery{Kind: r.kind, Body: r.payload})
	if err != nil {
		s.log.Error("delivery not taken", "type", r.kind, "envelope", r.envelope, "error", err)
		return
	}
	s.acknowledge(ctx, l, r, answer)
}

// acknowledge does not wait until the acknowledgement is sent. Without a connection that takes long,
// and the library stops connecting if nobody receives its events meanwhile.
func (s *Socket) acknowledge(ctx context.Context, l connection, r request, answer json.RawMessage) {
	var payload any
	if answer != nil && r.answers {
		payload = answer
	}
	l.aside.Go(func() {
		if err := l.client.AckCtx(ctx, r.envelope, payload); err != nil {
			s.log.Warn("socket mode acknowledgement not sent; an event will come again", "envelope", r.envelope)
		}
	})
}
