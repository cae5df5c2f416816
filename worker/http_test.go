package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/config"
	"myao/internal/operate/launch"
	"myao/internal/runtime/telemetry"
	"myao/internal/slack/workspaces"
	"myao/test/testserver"
)

// safeBuffer is a log that can be read while it is written.
type safeBuffer struct {
	mu  sync.Mutex
	all strings.Builder
}

func (w *safeBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(p)
}

func (w *safeBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// A worker whose address is in use logs that once, and answers when it is free.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", testserver.FreeAddress(t)) // nobody takes it once it is free
	if err != nil {
		t.Fatal(err)
	}
	log := &safeBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	metrics, err := telemetry.Open(t.Context(), telemetry.Options{
		Program: "worker", Lookup: func(string) (string, bool) { return "", false }, Clock: time.Now, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	address := other.Addr().String()
	h := &probeServer{
		Program:  launch.Program{Config: config.Config{Worker: config.Worker{Address: address}}, Logger: logger, Telemetry: metrics},
		temporal: c,
	}
	h.workspaces, err = workspaces.New(config.Config{Slack: config.Slack{BotToken: "xoxb-1", APIURL: "http://127.0.0.1:1/api/"}}, time.Now, logger, metrics.Registry)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.serve(ctx, time.Millisecond) }()
	await := func(what string, done func() bool) {
		t.Helper()
		for late := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("timed out waiting for %s: %s", what, log)
			}
		}
	}
	await("the log line", func() bool { return strings.Contains(log.String(), "answers no probes") })
	_ = other.Close()
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	await("an answer", func() bool { status, _ := get("/livez"); return status == http.StatusOK })
	if n := strings.Count(log.String(), "answers no probes"); n != 1 {
		t.Errorf("%d log lines about the address, want 1", n)
	}
	status, body := get("/readyz")
	if lines := strings.Split(strings.TrimSpace(body), "\n"); status != http.StatusServiceUnavailable || len(lines) != 3 ||
		!strings.HasPrefix(lines[0], "database: ") || !strings.HasPrefix(lines[1], "temporal: ") || !strings.HasPrefix(lines[2], "slack: ") {
		t.Errorf("%d\n%s", status, body)
	}
	message := "no such namespace"
	h.fatal.Store(&message)
	if _, body := get("/readyz"); !strings.Contains(body, "worker stopped polling: no such namespace") {
		t.Error(body)
	}
	if _, body := get("/metrics"); !strings.Contains(body, `myao_build_info{program="worker"`) {
		t.Error(body)
	}
	stop()
	if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
