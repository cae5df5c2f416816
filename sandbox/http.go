package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

func listenOnLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--address %q: it must be HOST:PORT", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--address %q: the sandbox has no passwords and listens on loopback only, such as "+
			"127.0.0.1:8700", address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s (choose another address with --address): %w", address, err)
	}
	return l, nil
}

// closeWithin is how long requests may take to end when the sandbox stops.
const closeWithin = 2 * time.Second

// readHeaderWithin is how long a request's header may take. It is generous, because only this
// machine can send requests, and it may stall for seconds.
const readHeaderWithin = time.Minute

// serveHTTP serves until the context ends. The context also ends the page's event streams,
// which never end on their own.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: readHeaderWithin,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve HTTP on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if server.Shutdown(end) == nil {
		return nil
	}
	return server.Close()
}
