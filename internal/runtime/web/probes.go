package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// readyTimeout bounds the checks of one request.
const readyTimeout = 3 * time.Second

// Check returns an error for something that the program needs and does not have, or nil. Joined
// errors become a line each.
type Check func(context.Context) error

// RegisterProbes registers the routes that every program has. GET /livez answers as long as the
// program runs. GET /readyz answers 200 when all checks pass, and otherwise 503 with a line for
// each error, in the order of the checks. GET /metrics serves the metrics.
func RegisterProbes(mux *http.ServeMux, metrics prometheus.Gatherer, checks ...Check) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := runChecks(ctx, checks); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
}

// runChecks runs the checks concurrently, so that one that hangs takes no time from the others.
func runChecks(ctx context.Context, checks []Check) error {
	errs := make([]error, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() { errs[i] = check(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
