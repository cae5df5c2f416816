package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"myao/internal/config"
	"myao/internal/intake/door"
	"myao/internal/runtime/temporal"
	"myao/internal/runtime/web"
	"myao/internal/slack"
	"myao/internal/slack/manifest"
)

func (s *starter) routes() http.Handler {
	mux := http.NewServeMux()
	if s.socket == nil {
		mux.Handle("POST "+manifest.EventsPath, s.open((*door.Door).Events))
		mux.Handle("POST "+manifest.InteractionsPath, s.open((*door.Door).Interactions))
		mux.Handle("POST "+manifest.CommandsPath, s.open((*door.Door).Commands))
	}
	mux.Handle("POST "+config.HooksPath+"{name}", s.open((*door.Door).Hook))
	if s.Config.Slack.Installable() {
		s.workspaces.OAuth().Register(mux)
	}
	web.RegisterProbes(mux, s.metrics, s.DatabaseReady(&s.store), s.hasTemporal, s.workspaces.Known,
		s.workspaces.Taken, s.hasSocket)
	return mux
}

// open passes requests to the door. Until there is one, it answers 503, and Slack tries again.
func (s *starter) open(handler func(*door.Door) http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		door := s.door.Load()
		if door == nil {
			if slack.CheckHeaders(r.Header, time.Now()) == nil {
				s.heart.Missed("a request came before the database was ready") // one gap at most, however many come
			}
			w.Header().Set("Connection", "close") // the body is not read
			http.Error(w, "the database is not ready yet", http.StatusServiceUnavailable)
			return
		}
		handler(door).ServeHTTP(w, r)
	})
}

func (s *starter) hasTemporal(ctx context.Context) error {
	if err := temporal.Ready(ctx, s.temporal); err != nil {
		return err
	}
	if !s.registered.Load() {
		return errors.New("temporal: search attributes not registered yet")
	}
	return nil
}

// hasSocket returns an error while Socket Mode is not connected. Without Socket Mode it returns nil.
func (s *starter) hasSocket(ctx context.Context) error {
	if s.socket == nil {
		return nil
	}
	return s.socket.Ready(ctx)
}
