package slack

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"myao/internal/runtime/timeout"
)

// inboxSize is how many requests wait for their turn. While it is full nothing is read, not even pings.
const inboxSize = 100

// listener is what all connections of one Listen share.
type listener struct {
	handle Handle
	aside  *sync.WaitGroup // handlers that run concurrently with the events
	inbox  chan request
	outbox chan acknowledgement
}

// request is an envelope of Slack's.
type request struct {
	kind, envelope string
	payload        json.RawMessage
	answers        bool // the acknowledgement may carry an answer
}

// acknowledgement is what a request is answered with.
type acknowledgement struct {
	Envelope string          `json:"envelope_id"`
	Payload  json.RawMessage `json:"payload,omitempty"`
}

// serve receives by a connection until that ends, and closes it.
func (s *Socket) serve(ctx context.Context, l listener, conn *websocket.Conn) {
	ctx, stop := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	var lasting <-chan time.Time // fires when the door counts as open again
	if s.reopening.failed > 1 {
		lasting = s.reopening.after(lastingTime)
	} else {
		s.open(true)
	}
	s.log.Info("socket mode connected")
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	writing.Go(func() {
		for {
			select {
			case a := <-l.outbox:
				_ = conn.SetWriteDeadline(time.Now().Add(defaultTimeout))
				if err := conn.WriteJSON(a); err != nil {
					s.log.Warn("socket mode acknowledgement not sent; the event will come again", "envelope",
						a.Envelope)
					stop()
				}
			case <-lasting:
				s.open(true)
			case <-ctx.Done():
				return
			}
		}
	})
	conn.SetReadLimit(maxFrame)
	alive := func() { _ = conn.SetReadDeadline(time.Now().Add(s.config.Ping)) }
	conn.SetPingHandler(func(data string) error {
		alive()
		_ = conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
		return nil
	})
	for alive(); ; {
		_, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		o, ok := parseObject(message)
		switch kind := o.text("type"); {
		case ok && kind == "hello":
			s.logHello(o)
		case ok && kind == "disconnect":
			s.reopening.reason = o.text("reason")
			return
		case !ok || o.text("envelope_id") == "":
			s.log.Warn("socket mode message not understood", "bytes", len(message))
		default:
			select {
			case l.inbox <- request{kind, o.text("envelope_id"), o["payload"], o.flag("accepts_response_payload")}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// logHello logs how many connections Slack counts. Those whose end Slack has not noticed yet count, and
// Slack sends deliveries to them, too.
func (s *Socket) logHello(hello object) {
	var connections int
	_ = json.Unmarshal(hello["num_connections"], &connections)
	s.log.Info("socket mode greeted by Slack", "connections", connections)
	if connections >= MaxConnections {
		s.log.Warn("Slack counts as many connections as an app may have; it sends each delivery to one of them; "+
			"if that connection is gone, an event arrives late, and a command or click is lost",
			"connections", connections, "limit", MaxConnections)
	}
}

// accept handles a request and acknowledges it. A request of another kind is acknowledged without
// effect, since resending it would not help.
func (s *Socket) accept(ctx context.Context, l listener, r request) {
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

func (s *Socket) handle(ctx context.Context, l listener, r request) {
	own, cancel := timeout.After(context.WithoutCancel(ctx), handleTimeout)
	defer cancel()
	answer, err := l.handle(own, Delivery{Kind: r.kind, Body: r.payload})
	if err != nil {
		s.log.Error("delivery not taken", "type", r.kind, "envelope", r.envelope, "error", err)
		return
	}
	s.acknowledge(ctx, l, r, answer)
}

// acknowledge does not wait until the acknowledgement is sent: without a connection that takes long.
func (s *Socket) acknowledge(ctx context.Context, l listener, r request, answer json.RawMessage) {
	a := acknowledgement{Envelope: r.envelope}
	if r.answers && len(answer) < maxAnswerSent {
		a.Payload = answer
	} else if r.answers {
		s.log.Warn("the answer to a delivery is longer than Slack takes", "type", logName(r.kind), "bytes", len(answer))
	}
	l.aside.Go(func() {
		select {
		case l.outbox <- a:
		case <-ctx.Done():
			s.log.Warn("socket mode acknowledgement not sent; an event will come again", "envelope", r.envelope)
		}
	})
}

// maxAnswerSent bounds an answer. Slack drops acknowledgements of 20 KB or more without a word.
const maxAnswerSent = 19_000
