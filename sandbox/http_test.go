package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, fault string }{
		{"127.0.0.1:0", ""}, {"localhost:0", ""},
		{"0.0.0.0:0", "loopback only"}, {":0", "loopback only"}, {"192.0.2.1:0", "loopback only"}, {"example.com:0", "loopback only"}, {"127.0.0.1", "must be HOST:PORT"},
	} {
		l, err := listenOnLoopback(t.Context(), c.address)
		if err == nil {
			_ = l.Close()
		}
		if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: %v", c.address, err)
		}
	}
}

// The page's event streams never end on their own and must not delay the sandbox's end.
func TestStreamsEndWithTheSandbox(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"a stream":        func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a stuck handler": func(http.ResponseWriter, *http.Request) { <-t.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := listenOnLoopback(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			asked, over, read := make(chan struct{}), make(chan error, 1), make(chan error, 1)
			go func() {
				over <- serveHTTP(ctx, listener, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					rw.WriteHeader(http.StatusOK)
					_ = http.NewResponseController(rw).Flush()
					close(asked)
					handler(rw, r)
				}))
			}()
			go func() {
				answer, err := http.Get("http://" + listener.Addr().String())
				if err == nil {
					_, err = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
				read <- err
			}()
			<-asked
			stop()
			for what, ended := range map[string]chan error{"the server": over, "the stream": read} {
				select {
				case err := <-ended:
					if err != nil && what == "the server" {
						t.Errorf("%s ended with %v", what, err)
					}
				case <-time.After(time.Minute):
					t.Fatalf("%s does not end", what)
				}
			}
		})
	}
	taken, err := listenOnLoopback(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = taken.Close()
	if err := serveHTTP(t.Context(), taken, http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("on a closed listener: %v", err)
	}
}
