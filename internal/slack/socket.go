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
	// handleTimeout bounds the storing of one event, so that one that hangs does not
	// stop those behind it. Slack has sent it again by then.
	handleTimeout = 10 * time.Second
	// defaultPing is how long a silent connection is taken for alive; Slack pings more often.
	defaultPing = 30 * time.Second
	// maxFrame bounds a message from the socket, in bytes.
	maxFrame = 8 << 20
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
	// Logger is told of connections and of what is not understood, never of what people
	// wrote; nil is silence.
	Logger *slog.Logger
	// Ping is after how long without a ping from Slack the connection is given up and made
	// anew; 0 means 30 seconds.
	Ping time.Duration
}

// Socket receives events over Socket Mode (docs.slack.dev/apis/events-api/using-socket-mode).
type Socket struct {
	config    SocketConfig
	log       *slog.Logger
	connected atomic.Bool
}

// NewSocket makes a socket. It makes no connection.
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

// api makes the calls by which connections are opened.
func (s *Socket) api() *slackapi.Client {
	return slackapi.New("", append(options(Config{APIURL: s.config.APIURL, HTTPClient: s.config.HTTPClient}),
		slackapi.OptionAppLevelToken(s.config.AppToken))...)
}

// Check asks for the address of a connection, and makes none: it tells whether Listen could
// (docs.slack.dev/reference/methods/apps.connections.open). Its errors are *Error.
func (s *Socket) Check(ctx context.Context) error {
	_, _, err := s.api().StartSocketModeContext(ctx)
	return (&Client{token: s.config.AppToken}).fail(openMethod, err)
}

// Delivery is what came by the socket.
type Delivery struct {
	// Kind is one of the kinds below.
	Kind string
	// Body is the payload: what an event's body is over HTTP, and of the others the object.
	Body []byte
}

// The kinds of delivery (docs.slack.dev/apis/events-api/using-socket-mode#events).
const (
	DeliveredEvent       = socketmode.RequestTypeEventsAPI
	DeliveredCommand     = socketmode.RequestTypeSlashCommands
	DeliveredInteraction = socketmode.RequestTypeInteractive
)

// Handle takes a delivery in. An answer goes along with the acknowledgement.
type Handle func(ctx context.Context, d Delivery) (answer json.RawMessage, err error)

// Listen receives until ctx ends, then returns nil. It gives handle the events, one at a
// time in the order of arrival, and acknowledges each to Slack when handle has returned
// nil; otherwise Slack delivers it again. Commands and interactions, which Slack delivers
// once, are handled side by side and hold up nothing. The context of handle outlasts ctx,
// so that what has begun to be stored is stored, and ends after 10 seconds. Lost
// connections are made anew; a token that Slack itself refuses ends Listen with an *Error
// of kind Final.
func (s *Socket) Listen(ctx context.Context, handle Handle) error {
	var aside sync.WaitGroup
	defer aside.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.connected.Store(false)

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
		s.connected.Store(false)
		if err := <-ended; ctx.Err() == nil {
			s.log.Warn("socket mode stopped; starting again", "error", classify(openMethod, err))
		}
	}
	if refusal, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return refusal
	}
	return nil
}

// connection is one connection, and what is done with what it brings.
type connection struct {
	client *socketmode.Client
	handle Handle
	aside  *sync.WaitGroup // of what is handled beside the events
}

// request is an envelope of Slack's.
type request struct {
	kind, envelope string
	payload        json.RawMessage
	answers        bool // it takes an answer along with the acknowledgement
}

// receive deals with one event of the library. It returns an error when there is no
// point in connecting again.
func (s *Socket) receive(ctx context.Context, l connection, event socketmode.Event) error {
	switch event.Type {
	case socketmode.EventTypeConnected:
		s.connected.Store(true)
		s.log.Info("socket mode connected")
	case socketmode.EventTypeHello:
		s.logHello(event.Request)
	case socketmode.EventTypeConnecting:
		s.connected.Store(false)
	case socketmode.EventTypeConnectionError:
		s.connected.Store(false)
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
		// The library parses events by type and gives up on one it does not know; the
		// envelope around it is all we need.
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

// logHello logs how many connections Slack takes the app to have. That may be more than there
// are: those whose end it has not seen yet count, and it sends to any of them.
func (s *Socket) logHello(hello *socketmode.Request) {
	if hello == nil {
		return
	}
	s.log.Info("socket mode greeted by Slack", "connections", hello.NumConnections)
	if hello.NumConnections >= maxConnections {
		s.log.Warn("Slack counts as many connections as an app may have; it sends each event, command and click to one of them, "+
			"and what goes to one that is gone comes late or, if a command or a click, never",
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

// accept hands a request on and acknowledges it. What is of no kind that is handed on,
// Slack is told to forget, since sending it again would not help.
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

// acknowledge does not wait until the acknowledgement is sent. While there is no connection
// that lasts, and what the library has to tell meanwhile must not wait behind it: it stops
// connecting when nobody takes that any more.
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
