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
	web.Probes(mux, s.metrics, s.hasDatabase, s.hasTemporal, s.hasSlack)
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

func (s *starter) hasDatabase(ctx context.Context) error {
	db := s.store.Load()
	if db == nil {
		return errors.New("database: not open yet")
	}
	if err := db.Writable(ctx); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

func (s *starter) hasTemporal(ctx context.Context) error {
	if _, err := s.temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("temporal: %w", err)
	}
	if !s.registered.Load() {
		return errors.New("temporal: search attributes not registered yet")
	}
	return nil
}

func (s *starter) hasSlack(ctx context.Context) error {
	var unknown, unconnected error
	if _, err := s.slack.Identity(ctx); err != nil {
		unknown = fmt.Errorf("slack: %w", err)
	}
	if s.socket != nil && !s.socket.Connected() {
		unconnected = errors.New("slack: Socket Mode is not connected")
	}
	return errors.Join(unknown, unconnected)
}
