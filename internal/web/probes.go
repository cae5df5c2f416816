package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// readyFor is how long the look for what is missing may take.
const readyFor = 3 * time.Second

// Probes adds to a mux what is asked of every program: GET /livez, which answers as long
// as the program runs; GET /readyz, 200 when nothing is missing, else 503 and a line for
// each thing that is; and GET /metrics.
func Probes(mux *http.ServeMux, metrics prometheus.Gatherer, missing func(context.Context) []error) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyFor)
		defer cancel()
		if err := errors.Join(missing(ctx)...); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
}
