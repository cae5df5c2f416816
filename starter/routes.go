package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.temporal.io/sdk/client"

	"myao/internal/ingest"
	"myao/internal/web"
)

func (s *starter) routes() http.Handler {
	mux := http.NewServeMux()
	if s.socket == nil {
		mux.Handle("POST /slack/events", s.open((*ingest.Door).Events))
		mux.Handle("POST /slack/interactions", s.open((*ingest.Door).Interactions))
		mux.Handle("POST /slack/commands", s.open((*ingest.Door).Commands))
	}
	web.Probes(mux, s.metrics, s.missing)
	return mux
}

// open leads to the door, once there is one. Until then Slack is asked to come again.
func (s *starter) open(handler func(*ingest.Door) http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		door := s.door.Load()
		if door == nil {
			w.Header().Set("Connection", "close") // the body is not read
			http.Error(w, "the database is not there yet", http.StatusServiceUnavailable)
			return
		}
		handler(door).ServeHTTP(w, r)
	})
}

// missing is what the starter needs and has not.
func (s *starter) missing(ctx context.Context) (missing []error) {
	if db := s.store.Load(); db == nil {
		missing = append(missing, errors.New("database: not open yet"))
	} else if err := db.Ping(ctx); err != nil {
		missing = append(missing, fmt.Errorf("database: %w", err))
	}
	if _, err := s.temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		missing = append(missing, fmt.Errorf("temporal: %w", err))
	} else if !s.registered.Load() {
		missing = append(missing, errors.New("temporal: search attributes not registered yet"))
	}
	if _, err := s.slack.Identity(ctx); err != nil {
		missing = append(missing, fmt.Errorf("slack: %w", err))
	}
	if s.socket != nil && !s.socket.Connected() {
		missing = append(missing, errors.New("slack: Socket Mode is not connected"))
	}
	return missing
}
