// Package web is how the programs serve HTTP: within limits, until they are told to
// stop, and with what a load balancer and Prometheus ask all of them alike.
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

// Limits bound what one client can take of a server. There is none on the number of
// connections: it would let a few clients keep Slack out.
type Limits struct {
	// Header is how long a request may take to begin: a new connection that says nothing
	// is closed after it, too.
	Header time.Duration
	// Read is how long it may take in all.
	Read time.Duration
	// Write is how long after its header it has to be answered, and the answer taken.
	Write time.Duration
	// Idle is how long a connection may wait for its next request.
	Idle time.Duration
	// HeaderBytes is about how large a header may be. Slack's have less than 2 KiB.
	HeaderBytes int
}

// DefaultLimits is the limits outside of tests. Slack itself gives up on an answer after three seconds.
func DefaultLimits() Limits {
	return Limits{Header: 5 * time.Second, Read: 10 * time.Second, Write: 15 * time.Second, Idle: time.Minute, HeaderBytes: 32 << 10}
}

// NewServer makes a server of a handler.
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

// ShutdownTimeout is how long requests may take to end when a program is told to stop.
const ShutdownTimeout = 10 * time.Second

// Serve serves until the context ends, then lets requests finish.
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
