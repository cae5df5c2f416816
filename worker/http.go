package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/launch"
	"myao/internal/pause"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/web"
)

// listenAgain is how long it is until an address that somebody else has is tried again.
const listenAgain = 10 * time.Second

// health is what the worker says of itself by HTTP: it answers before there is a database.
type health struct {
	launch.Program
	slack    *slack.Client
	temporal client.Client

	store   atomic.Pointer[store.Store]
	polling atomic.Bool
	fatal   atomic.Pointer[string] // why it polls no more
}

// serve answers until the context ends. The worker works without it, too: another one on
// the same machine may have the address.
func (h *health) serve(ctx context.Context, again time.Duration) error {
	address := h.Config.Worker.Address
	if address == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	for told := false; err != nil; listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address) {
		if !told {
			h.Logger.Error("the worker works, but answers no probes and no scrapes; trying again", "error", err, "every", again.String())
			told = true
		}
		if !pause.For(ctx, again) {
			return nil
		}
	}
	h.Logger.Info("worker listens", "address", listener.Addr().String())
	mux := http.NewServeMux()
	web.RegisterProbes(mux, h.Telemetry.Registry, h.DatabaseReady(&h.store), h.hasTemporal, launch.SlackReady(h.slack))
	return web.Serve(ctx, web.NewServer(mux, web.DefaultLimits(), h.Logger), listener)
}

func (h *health) hasTemporal(ctx context.Context) error {
	if why := h.fatal.Load(); why != nil {
		return fmt.Errorf("temporal: worker stopped polling: %s", *why)
	}
	if _, err := h.temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("temporal: %w", err)
	}
	if !h.polling.Load() {
		return errors.New("temporal: the worker does not poll yet")
	}
	return nil
}
