package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// sockets are the connections of Socket Mode. Events go out as envelopes; the app
// acknowledges each by its envelope_id (docs.slack.dev/apis/events-api/using-socket-mode).
type sockets struct {
	w        *Workspace
	upgrader websocket.Upgrader

	mu      sync.Mutex
	tickets map[string]bool
	open    []*socket
	ever    bool
	next    int
	wg      sync.WaitGroup
}

type socket struct {
	conn *websocket.Conn
	gone chan struct{} // closed with the connection

	mu   sync.Mutex             // guards writes and acks
	acks map[string]chan []byte // by envelope_id; receives the acknowledgement's payload
}

const (
	// Slack refuses an eleventh connection (docs.slack.dev/apis/events-api/using-socket-mode).
	maxSockets = 10
	pingEvery  = 5 * time.Second
	// writeTimeout is how long a client may not read. It is generous: whoever writes may stall as well.
	writeTimeout = time.Minute
)

var errNoSocket = errors.New("no open socket")

func newSockets(w *Workspace) *sockets {
	return &sockets{
		w: w, ever: w.cfg.SocketMode, tickets: map[string]bool{},
		// Do not check the origin, which clients set to https://api.slack.com. The ticket
		// decides who may connect.
		upgrader: websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }},
	}
}

// used reports whether events go by socket. They do from the first connection on.
func (s *sockets) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ever
}

// openSocket returns a URL that is valid for one connection
// (docs.slack.dev/reference/methods/apps.connections.open).
func (c *call) openSocket() (reply, error) {
	ticket := rand.Text() // only this keeps other sites' pages from connecting
	c.socket.mu.Lock()
	defer c.socket.mu.Unlock()
	c.socket.tickets[ticket] = true
	return reply{"url": "ws://" + c.host + "/socket?ticket=" + ticket}, nil
}

func (s *sockets) serve(rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	ticket := r.URL.Query().Get("ticket")
	allowed := s.tickets[ticket] && len(s.open) < maxSockets && s.w.ctx.Err() == nil
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !allowed {
		http.Error(rw, "ticket used or unknown", http.StatusForbidden)
		return
	}
	conn, err := s.upgrader.Upgrade(rw, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	k := &socket{conn: conn, gone: make(chan struct{}), acks: map[string]chan []byte{}}
	s.mu.Lock()
	s.open, s.ever = append(s.open, k), true
	n := len(s.open)
	s.mu.Unlock()
	hello := map[string]any{
		"type": "hello", "num_connections": n, "connection_info": map[string]string{"app_id": s.w.bot.AppID},
		"debug_info": map[string]any{"host": "sandbox", "approximate_connection_time": 18060},
	}
	s.wg.Go(func() { k.keepAlive(hello) })
	k.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.open {
		if o == k {
			s.open = append(s.open[:i:i], s.open[i+1:]...)
			break
		}
	}
}

// keepAlive says hello and then pings, because clients give up a silent connection.
func (k *socket) keepAlive(hello any) {
	defer k.conn.Close()
	if k.write(hello) != nil {
		return
	}
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if k.conn.WriteControl(websocket.PingMessage, []byte("still here"), time.Now().Add(writeTimeout)) != nil {
				return
			}
		case <-k.gone:
			return
		}
	}
}

// read reads acknowledgements until the connection ends.
func (k *socket) read() {
	defer close(k.gone)
	for {
		_, raw, err := k.conn.ReadMessage()
		if err != nil {
			return
		}
		var ack struct {
			EnvelopeID string          `json:"envelope_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(raw, &ack) != nil {
			continue
		}
		k.mu.Lock()
		if done := k.acks[ack.EnvelopeID]; done != nil {
			done <- ack.Payload
			delete(k.acks, ack.EnvelopeID)
		}
		k.mu.Unlock()
	}
}

func (k *socket) write(v any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	return k.conn.WriteJSON(v)
}

// deliver sends an event over one of the connections and waits for its acknowledgement.
func (s *sockets) deliver(ctx context.Context, e Event, retry int, reason string) error {
	_, err := s.send(ctx, "events_api", e.Body, map[string]any{
		"accepts_response_payload": false, "retry_attempt": retry, "retry_reason": reason,
	})
	return err
}

// send sends an envelope over one of the connections and returns the payload of its
// acknowledgement.
func (s *sockets) send(ctx context.Context, kind string, payload []byte, more map[string]any) ([]byte, error) {
	s.mu.Lock()
	if len(s.open) == 0 {
		s.mu.Unlock()
		return nil, errNoSocket
	}
	s.next++
	k := s.open[s.next%len(s.open)]
	s.mu.Unlock()
	s.w.mu.Lock()
	id := s.w.nextID("envelope-")
	s.w.mu.Unlock()

	acked := make(chan []byte, 1)
	k.mu.Lock()
	k.acks[id] = acked
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.acks, id)
	}()
	envelope := map[string]any{"type": kind, "envelope_id": id, "payload": json.RawMessage(payload)}
	maps.Copy(envelope, more)
	if err := k.write(envelope); err != nil {
		return nil, err
	}
	select {
	case answer := <-acked:
		return answer, nil
	case <-k.gone:
		return nil, errors.New("socket closed before the acknowledgement")
	case <-time.After(s.w.cfg.AckTimeout):
		return nil, errors.New("no acknowledgement in time")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// DisconnectSockets asks all clients to reconnect and then closes their connections. The
// reasons are warning, refresh_requested and link_disabled
// (docs.slack.dev/apis/events-api/using-socket-mode).
func (w *Workspace) DisconnectSockets(reason string) {
	w.socket.mu.Lock()
	open := append([]*socket(nil), w.socket.open...)
	w.socket.mu.Unlock()
	for _, k := range open {
		k.write(map[string]any{"type": "disconnect", "reason": reason,
			"debug_info": map[string]string{"host": "sandbox"}})
		k.conn.Close()
	}
}

func (s *sockets) close() {
	s.w.DisconnectSockets("link_disabled")
	s.wg.Wait()
}
