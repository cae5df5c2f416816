package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
)

const (
	// openTimeout bounds how long a session may take to open.
	openTimeout = 20 * time.Second
	// A server that has failed is asked again after minDistance, then twice as long each time.
	minDistance, maxDistance = time.Second, time.Minute
)

// errAway: the server does not answer, and nothing was sent to it.
var errAway = errors.New("it does not answer")

// server holds the session of one server. It is opened when it is needed, and closed when it is not.
type server struct {
	name   string
	config config.MCPServer
	client *sdk.Client
	logger *slog.Logger
	clock  func() time.Time
	idle   time.Duration

	// gate is held while a session is opened.
	gate chan struct{}
	// changed is set if the server says that its tools have changed.
	changed atomic.Bool
	// asking is set while its tools are listed for a reply.
	asking atomic.Bool

	mu       sync.Mutex
	session  *sdk.ClientSession // or nil
	opened   time.Time
	listed   time.Time // the session's last listing; zero: it has none
	used     int       // calls under way
	closing  *time.Timer
	failures int
	retryAt  time.Time
	closed   bool
}

func newServer(name string, c config.MCPServer, o Options) *server {
	s := &server{name: name, config: c, logger: o.Logger.With("server", name), clock: o.Clock, idle: o.Idle,
		gate: make(chan struct{}, 1)}
	s.client = sdk.NewClient(&sdk.Implementation{Name: "myao", Version: "1"}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{}, // it has no roots, samples nothing, asks nobody
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { s.changed.Store(true) },
	})
	return s
}

// use calls do with an open session. An error that wraps errAway means that do was not called.
func (s *server) use(ctx context.Context, do func(*sdk.ClientSession) error) error {
	session, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.release()
	err = do(session)
	if err != nil && !answered(err) && ctx.Err() == nil {
		s.drop(session, err)
	}
	return err
}

func (s *server) take(ctx context.Context) (*sdk.ClientSession, error) {
	select {
	case s.gate <- struct{}{}:
		defer func() { <-s.gate }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errAway, ctx.Err())
	}
	s.mu.Lock()
	session, wait, closed := s.session, s.retryAt.Sub(s.clock()), s.closed
	if session != nil {
		s.hold()
	}
	s.mu.Unlock()
	switch {
	case closed:
		return nil, fmt.Errorf("%w: the program ends", errAway)
	case session != nil:
		return session, nil
	case wait > 0:
		return nil, fmt.Errorf("%w: it has failed, and is asked again in %s", errAway, wait.Round(time.Second))
	}
	session, err := s.open(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			s.failed()
			s.logger.WarnContext(ctx, "MCP server does not answer", "error", s.plain(err))
		}
		return nil, fmt.Errorf("%w: %s", errAway, s.plain(err))
	}
	if s.closed {
		go func() { _ = session.Close() }()
		return nil, fmt.Errorf("%w: the program ends", errAway)
	}
	s.session, s.opened, s.listed = session, s.clock(), time.Time{}
	s.hold()
	go func() { s.drop(session, session.Wait()) }()
	return session, nil
}

func (s *server) open(ctx context.Context) (*sdk.ClientSession, error) {
	ctx, cancel := timeout.After(ctx, openTimeout)
	defer cancel()
	var t sdk.Transport
	if s.config.Command == "" {
		t = web(s.config)
	} else {
		t = &child{s.config, s.logger}
	}
	return s.client.Connect(ctx, t, nil)
}

// hold keeps the session open until release. s.mu is held.
func (s *server) hold() {
	s.used++
	if s.closing != nil {
		s.closing.Stop()
	}
}

func (s *server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used--; s.used > 0 || s.session == nil {
		return
	}
	session := s.session
	s.closing = time.AfterFunc(s.idle, func() {
		s.mu.Lock()
		ends := s.session == session && s.used == 0
		if ends {
			s.session = nil
		}
		s.mu.Unlock()
		if ends {
			_ = session.Close()
		}
	})
}

// drop takes a session out of use that does not work any more.
func (s *server) drop(session *sdk.ClientSession, err error) {
	s.mu.Lock()
	broken := s.session == session
	if broken {
		s.session = nil
		if s.clock().Sub(s.opened) > maxDistance {
			s.failures = 0
		}
		s.failed()
	}
	s.mu.Unlock()
	if broken {
		s.logger.Warn("session with MCP server has ended", "error", s.plain(err))
		go func() { _ = session.Close() }()
	}
}

// failed keeps the server from being asked for a while. s.mu is held.
func (s *server) failed() {
	distance := min(minDistance<<min(s.failures, 10), maxDistance)
	s.failures++
	s.retryAt = s.clock().Add(distance)
}

// worked ends the distance to the next attempt.
func (s *server) worked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures, s.retryAt = 0, time.Time{}
}

// close ends the session for good.
func (s *server) close() {
	s.mu.Lock()
	session := s.session
	s.session, s.closed = nil, true
	if s.closing != nil {
		s.closing.Stop()
	}
	s.mu.Unlock()
	if session != nil {
		_ = session.Close()
	}
}

// stale reports whether the server is to be asked for its tools.
func (s *server) stale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed.Load() || s.clock().Sub(s.listed) > s.idle
}

// list asks the server for its tools. out says why some of them cannot be used, by name.
func (s *server) list(ctx context.Context) (now []store.MCPTool, out map[string]string, err error) {
	out = map[string]string{}
	err = s.use(ctx, func(session *sdk.ClientSession) error {
		s.changed.Store(false)
		names, params := map[string]bool{}, &sdk.ListToolsParams{}
		for page := 0; ; page++ {
			found, err := session.ListTools(ctx, params)
			if err != nil {
				s.changed.Store(true)
				return err
			}
			for _, t := range found.Tools {
				if t == nil || names[t.Name] {
					continue
				}
				names[t.Name] = true
				row, err := listed(s.name, t)
				switch {
				case err != nil:
					out[cut(chat.Printable(t.Name), maxToolName)] = err.Error()
				case len(now) == maxTools:
					out[t.Name] = fmt.Sprintf("only the first %d tools are taken", maxTools)
				default:
					now = append(now, row)
				}
			}
			if found.NextCursor == "" || found.NextCursor == params.Cursor || page+1 == maxPages ||
				len(names) > 2*maxTools {
				break
			}
			params = &sdk.ListToolsParams{Cursor: found.NextCursor}
		}
		s.mu.Lock()
		s.listed = s.clock()
		s.mu.Unlock()
		return nil
	})
	return now, out, err
}

// answered reports whether an error is the server's answer, by the protocol.
func answered(err error) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && (e.Code > codeClosing || e.Code < codeRejected)
}

// The SDK's own errors of a connection have the codes from codeRejected to codeClosing.
const codeRejected, codeClosing = -32005, -32003

// plain is the text of an error for the log: without the address, which may hold a key, and without words
// of the server, which may quote what people said.
func (s *server) plain(err error) string {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && answered(err) {
		return fmt.Sprintf("it answers with the error %d", e.Code)
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err
	}
	if err == nil {
		return "it has ended"
	}
	text := err.Error()
	if s.config.URL != "" {
		text = strings.ReplaceAll(text, s.config.URL, "(its address)")
	}
	return cut(strings.Join(strings.FieldsFunc(text, unicode.IsControl), " "), 300)
}
