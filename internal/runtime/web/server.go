// Package web serves HTTP for the programs: with limits, a graceful shutdown, and the routes that
// load balancers and Prometheus use.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits bound what one client can use of a server. The number of connections has no limit:
// with one, a few clients could keep Slack out.
type Limits struct {
	// Header bounds the time until a request's header is complete. It also closes a new
	// connection that sends nothing.
	Header time.Duration
	// Read bounds the time until the whole request is read.
	Read time.Duration
	// Write bounds the time from the end of the header until the answer is written.
	Write time.Duration
	// Idle bounds the wait of a connection for its next request.
	Idle time.Duration
	// HeaderBytes bounds a header roughly. Slack's have less than 2 KiB.
	HeaderBytes int
}

// DefaultLimits are the limits in production. Slack gives up on an answer after three seconds.
func DefaultLimits() Limits {
	return Limits{Header: 5 * time.Second, Read: 10 * time.Second, Write: 15 * time.Second, Idle: time.Minute,
		HeaderBytes: 32 << 10}
}

// NewServer creates a server for a handler.
func NewServer(h http.Handler, l Limits, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: l.Header,
		ReadTimeout:       l.Read,
		WriteTimeout:      l.Write,
		IdleTimeout:       l.Idle,
		MaxHeaderBytes:    l.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// ShutdownTimeout is how long requests may run on when a program stops.
const ShutdownTimeout = 10 * time.Second

// Serve serves until the context ends. Requests may then run on for ShutdownTimeout.
func Serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownTimeout)
		defer cancel()
		stopped <- server.Shutdown(stop)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	return <-stopped
}
