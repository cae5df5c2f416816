package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
)

// A check that hangs is reported, and does not hide the others. The check that ends the request runs beside it.
func TestReadyz(t *testing.T) {
	t.Parallel()
	var cancel context.CancelFunc // of the request
	passes := func(context.Context) error { return nil }
	ends := func(context.Context) error {
		cancel()
		return nil
	}
	hangs := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("temporal: %w", ctx.Err())
	}
	late := func(ctx context.Context) error {
		<-ctx.Done()
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
		{"the first hangs", []Check{hangs, ends}, 503, "temporal: context canceled\n"},
		{"in order", []Check{late, ends, hangs}, 503, "database: locked\ndatabase: old\ntemporal: context canceled\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in which the three seconds never pass before the request's end
				ctx, end := context.WithCancel(t.Context())
				cancel = end
				defer cancel()
				mux := http.NewServeMux()
				RegisterProbes(mux, prometheus.NewRegistry(), c.checks...)
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil))
				if w.Code != c.status || w.Body.String() != c.body {
					t.Errorf("%d %q, want %d %q", w.Code, w.Body, c.status, c.body)
				}
			})
		})
	}
}
