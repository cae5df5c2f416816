package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A check that hangs is reported, and does not hide the others.
func TestReadyz(t *testing.T) {
	t.Parallel()
	passes := func(ctx context.Context) error { return ctx.Err() }
	hangs := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("temporal: %w", ctx.Err())
	}
	late := func(context.Context) error {
		time.Sleep(10 * time.Millisecond)
		return errors.Join(errors.New("database: locked"), errors.New("database: old"))
	}
	for _, c := range []struct {
		name   string
		checks []Check
		status int
		body   string
	}{
		{"no checks", nil, 200, "ready\n"},
		{"all pass", []Check{passes, passes}, 200, "ready\n"},
		{"the first hangs", []Check{hangs, passes}, 503, "temporal: context deadline exceeded\n"},
		{"in order", []Check{late, passes, hangs}, 503, "database: locked\ndatabase: old\ntemporal: context deadline exceeded\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			RegisterProbes(mux, prometheus.NewRegistry(), c.checks...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
		})
	}
}
