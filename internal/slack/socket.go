package slack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
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
	refused   atomic.Int64
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

// Refused counts what was acknowledged without being handed on, because it is no event
// this package knows how to hand on.
func (s *Socket) Refused() int64 { return s.refused.Load() }

// Listen receives until ctx ends, then returns nil. It gives handle the body that the
// HTTP door would have got, one at a time in the order of arrival, and acknowledges it
// to Slack when handle has returned nil; otherwise Slack delivers it again. The context
// of handle outlasts ctx, so that what has begun to be stored is stored, and ends after
// 10 seconds. Lost connections are made anew; a token that Slack itself refuses ends
// Listen with an *Error of kind Final.
func (s *Socket) Listen(ctx context.Context, handle func(ctx context.Context, body []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.connected.Store(false)
	api := slackapi.New("", append(options(Config{APIURL: s.config.APIURL, HTTPClient: s.config.HTTPClient}),
		slackapi.OptionAppLevelToken(s.config.AppToken))...)

	for ctx.Err() == nil {
		client := socketmode.New(api,
			socketmode.OptionPingInterval(s.config.Ping),
			socketmode.OptionReadLimit(maxFrame),
			socketmode.OptionLog(log.New(io.Discard, "", 0)))
		run, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			defer stop()
			ended <- client.RunContext(run)
		}()
		for open := true; open; {
			select {
			case event := <-client.Events:
				if err := s.receive(run, client, event, handle); err != nil {
					cancel(err)
				}
			case <-run.Done():
				open = false
			}
		}
		s.connected.Store(false)
		if err := <-ended; ctx.Err() == nil {
			s.log.Warn("socket mode stopped; starting again", "error", Classify(openMethod, err))
		}
	}
	var refusal *Error
	if errors.As(context.Cause(ctx), &refusal) {
		return refusal
	}
	return nil
}

// receive deals with one event of the library. It returns an error when there is no
// point in connecting again.
func (s *Socket) receive(ctx context.Context, client *socketmode.Client, event socketmode.Event, handle func(context.Context, []byte) error) error {
	switch event.Type {
	case socketmode.EventTypeConnected:
		s.connected.Store(true)
		s.log.Info("socket mode connected")
	case socketmode.EventTypeConnecting:
		s.connected.Store(false)
	case socketmode.EventTypeConnectionError:
		s.connected.Store(false)
		failed, ok := event.Data.(*slackapi.ConnectionErrorEvent)
		if !ok {
			return nil
		}
		e := Classify(openMethod, failed.ErrorObj)
		if e != nil && e.Kind == Final && e.Status == http.StatusOK {
			return e // Slack itself has refused; another status may be a proxy's
		}
		s.log.Warn("socket mode connection failed", "error", e, "next_try_in", failed.Backoff)
	case socketmode.EventTypeErrorWriteFailed:
		s.log.Warn("socket mode acknowledgement not sent; the event will come again")
	case socketmode.EventTypeErrorBadMessage:
		// The library parses events by type and gives up on one it does not know; the
		// envelope around it is all we need.
		if bad, ok := event.Data.(*socketmode.ErrorBadMessage); ok {
			s.deliver(ctx, client, bad.Message, handle)
		}
	default:
		if event.Request != nil && event.Request.EnvelopeID != "" {
			s.accept(ctx, client, event.Request.Type, event.Request.EnvelopeID, event.Request.Payload, handle)
		}
	}
	return nil
}

func (s *Socket) deliver(ctx context.Context, client *socketmode.Client, message []byte, handle func(context.Context, []byte) error) {
	o, ok := parseObject(message)
	if !ok || o.text("envelope_id") == "" {
		s.log.Warn("socket mode message not understood", "bytes", len(message))
		return
	}
	s.accept(ctx, client, o.text("type"), o.text("envelope_id"), o["payload"], handle)
}

// accept hands an event on and acknowledges it. Whatever is no event, Slack is told to
// forget, since sending it again would not help.
func (s *Socket) accept(ctx context.Context, client *socketmode.Client, kind, envelope string, payload json.RawMessage, handle func(context.Context, []byte) error) {
	if _, ok := parseObject(payload); ok && kind == socketmode.RequestTypeEventsAPI {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleTimeout)
		defer cancel()
		if err := handle(own, payload); err != nil {
			s.log.Error("event not stored; it will come again", "envelope", envelope, "error", err)
			return
		}
	} else {
		s.refused.Add(1)
		s.log.Warn("socket mode request acknowledged without effect", "type", name(kind), "envelope", envelope)
	}
	if err := client.AckCtx(ctx, envelope, nil); err != nil {
		s.log.Warn("socket mode acknowledgement not sent; the event will come again", "envelope", envelope)
	}
}
