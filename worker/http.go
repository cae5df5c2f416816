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

	"myao/internal/operate/launch"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/temporal"
	"myao/internal/runtime/web"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
)

// listenRetryInterval is the time between two tries to listen on an address in use.
const listenRetryInterval = 10 * time.Second

// probeServer serves the worker's probes and metrics. It answers before there is a database.
type probeServer struct {
	launch.Program
	workspaces *workspaces.Workspaces
	temporal   client.Client

	store   atomic.Pointer[store.Store]
	polling atomic.Bool
	fatal   atomic.Pointer[string] // why the worker stopped polling
}

// serve answers until the context ends. The worker also works without it: another worker on the
// same machine may use the address.
func (h *probeServer) serve(ctx context.Context, retryInterval time.Duration) error {
	address := h.Config.Worker.Address
	if address == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	for logged := false; err != nil; listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address) {
		if !logged {
			h.Logger.Error("the worker runs, but answers no probes and no scrapes: its address cannot be used; "+
				"trying again", "error", err, "every", retryInterval.String())
			logged = true
		}
		if !pause.For(ctx, retryInterval) {
			return nil
		}
	}
	h.Logger.Info("worker listens", "address", listener.Addr().String())
	mux := http.NewServeMux()
	web.RegisterProbes(mux, h.Telemetry.Registry, h.DatabaseReady(&h.store), h.checkTemporal,
		h.workspaces.Known, h.workspaces.Taken)
	return web.Serve(ctx, web.NewServer(mux, web.DefaultLimits(), h.Logger), listener)
}

func (h *probeServer) checkTemporal(ctx context.Context) error {
	if message := h.fatal.Load(); message != nil {
		return fmt.Errorf("temporal: worker stopped polling: %s", *message)
	}
	if err := temporal.Ready(ctx, h.temporal); err != nil {
		return err
	}
	if !h.polling.Load() {
		return errors.New("temporal: the worker does not poll yet")
	}
	return nil
}
