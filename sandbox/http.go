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
		return nil, fmt.Errorf("--address %q: want HOST:PORT", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--address %q: the sandbox has no passwords and listens on loopback only, such as 127.0.0.1:8700", address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen (choose another with --address): %w", err)
	}
	return l, nil
}

// closeWithin is how long requests may take to end with the sandbox.
const closeWithin = 2 * time.Second

// readHeaderWithin is how long a request may take to arrive. Only this machine can send any,
// and one that stands still for seconds shall not find its connections closed.
const readHeaderWithin = time.Minute

// serveHTTP answers until the context ends, and with it what never ends by itself: the
// page's event streams.
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
