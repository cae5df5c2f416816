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

// readyFor is how long the look for what is missing may take.
const readyFor = 3 * time.Second

// Check returns what a program needs in one respect and has not, or nil; joined errors
// are a line each.
type Check func(context.Context) error

// RegisterProbes adds to a mux what is asked of every program: GET /livez, which answers as long
// as the program runs; GET /readyz, 200 when nothing is missing, else 503 and a line for
// each thing that is, in the order of the checks; and GET /metrics.
func RegisterProbes(mux *http.ServeMux, metrics prometheus.Gatherer, checks ...Check) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyFor)
		defer cancel()
		if err := missing(ctx, checks); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
}

// missing makes the checks side by side: what hangs takes no time from the others.
func missing(ctx context.Context, checks []Check) error {
	errs := make([]error, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() { errs[i] = check(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
