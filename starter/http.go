package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// limits bound what one client can take of the door. There is none on the number of
// connections: it would let a few clients keep Slack out.
type limits struct {
	// header is how long a request may take to begin: a new connection that says nothing
	// is closed after it, too.
	header time.Duration
	// read is how long it may take in all.
	read time.Duration
	// write is how long after its header it has to be answered, and the answer taken.
	write time.Duration
	// idle is how long a connection may wait for its next request.
	idle time.Duration
	// headerBytes is about how large a header may be. Slack's have less than 2 KiB.
	headerBytes int
}

// usual is the limits outside of tests. Slack itself gives up on an answer after three seconds.
func usual() limits {
	return limits{header: 5 * time.Second, read: 10 * time.Second, write: 15 * time.Second, idle: time.Minute, headerBytes: 32 << 10}
}

func (s *starter) server(l limits) *http.Server {
	return &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: l.header,
		ReadTimeout:       l.read,
		WriteTimeout:      l.write,
		IdleTimeout:       l.idle,
		MaxHeaderBytes:    l.headerBytes,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelWarn),
	}
}

// listen opens the door until the context ends.
func (s *starter) listen(ctx context.Context, listener net.Listener) error {
	s.Logger.Info("starter listens", "address", listener.Addr().String())
	return serveHTTP(ctx, s.server(usual()), listener)
}

// serveHTTP serves until the context ends, then lets requests finish.
func serveHTTP(ctx context.Context, server *http.Server, listener net.Listener) error {
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
		defer cancel()
		stopped <- server.Shutdown(stop)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	return <-stopped
}
