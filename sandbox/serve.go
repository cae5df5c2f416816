package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"myao/internal/config"
	"myao/internal/manifest"
	"myao/internal/sandbox"
)

type options struct {
	address      string
	temporalPort int
	bin          string
}

// readyWithin is how long everything may take to be up, on a slow machine.
const readyWithin = 2 * time.Minute

// serve runs everything until the context ends. What it writes goes to a
// directory of its own, which goes with it.
func serve(ctx context.Context, o options, stdout io.Writer) (err error) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(stdout, format+"\n", args...) }
	dir, err := os.MkdirTemp("", "myao-sandbox-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	listener, err := listenOnLoopback(ctx, o.address)
	if err != nil {
		return err
	}
	temporalPath, err := findTemporal(o.bin)
	if err != nil {
		return err
	}
	ports, err := choosePorts(o.temporalPort)
	if err != nil {
		return err
	}
	own := secrets{Token: "xoxb-" + rand.Text(), Signing: rand.Text()}
	w := newWorkspace(ports, own)
	defer w.Close()
	provider, err := writeConfig(filepath.Join(dir, "config.yaml"), dir, listener.Addr().String(), ports.door, own)
	if err != nil {
		return err
	}

	group, ctx := errgroup.WithContext(ctx)
	server := &http.Server{Handler: w.Handler(), ReadHeaderTimeout: 5 * time.Second}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the page: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		say("stopping …")
		return server.Close() // the page's event streams never end by themselves
	})
	child := func(name, path string, args ...string) {
		c := child{name: name, path: path, args: args, log: filepath.Join(dir, name+".log"), say: say, env: []string{
			"TEMPORAL_ADDRESS=" + ports.temporal, "TEMPORAL_NAMESPACE=" + namespace,
		}}
		group.Go(func() error { return c.supervise(ctx) })
	}
	say("starting Temporal, worker and starter; logs are in %s", dir)
	config := filepath.Join(dir, "config.yaml")
	host, port, _ := net.SplitHostPort(ports.temporal)
	_, uiPort, _ := net.SplitHostPort(ports.ui)
	child("temporal", temporalPath, "server", "start-dev", "--ip", host, "--port", port,
		"--ui-ip", host, "--ui-port", uiPort, "--log-level", "error",
		"--namespace", namespace, "--db-filename", filepath.Join(dir, "temporal.db"),
		"--dynamic-config-value", "matching.enableFairness=true")
	group.Go(func() error {
		if err := awaitTemporal(ctx, ports.temporal); err != nil {
			return err
		}
		child("worker", filepath.Join(o.bin, "worker"), "--config", config)
		child("starter", filepath.Join(o.bin, "starter"), "--config", config)
		if err := awaitReady(ctx, "http://"+ports.door+"/readyz"); err != nil {
			return err
		}
		say("\n  chat with the bot      http://%s/\n  Temporal's Web UI      http://%s/\n  model                  %s\n\nStop with Ctrl-C.",
			listener.Addr(), ports.ui, provider)
		return nil
	})
	return group.Wait()
}

func listenOnLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--address %q: want HOST:PORT", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--address %q: the sandbox has no passwords and listens on loopback only, such as 127.0.0.1:8700", address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen (choose another with --address): %w", err)
	}
	return l, nil
}

func findTemporal(bin string) (string, error) {
	if path, err := exec.LookPath("temporal"); err == nil {
		return path, nil
	}
	path := filepath.Join(bin, "temporal")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the program temporal is neither in PATH nor in %s; `make temporal` builds it", bin)
	}
	return path, nil
}

// ports are the addresses on this machine that the parts find each other by.
type ports struct{ temporal, ui, door string }

func choosePorts(temporal int) (ports, error) {
	pick := func(wanted int) (string, error) {
		for _, p := range []int{wanted, 0} {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p)))
			if err == nil {
				return l.Addr().String(), l.Close()
			}
		}
		return "", errors.New("no free port on 127.0.0.1")
	}
	var p ports
	var err error
	if p.temporal, err = pick(temporal); err != nil {
		return p, err
	}
	ui := 0
	if temporal > 0 {
		ui = temporal + 1000
	}
	if p.ui, err = pick(ui); err != nil {
		return p, err
	}
	p.door, err = pick(0)
	return p, err
}

// namespace is the sandbox's own: a worker that somebody runs beside it, on
// Temporal's usual port, is not given the sandbox's work.
const namespace = "sandbox"

// secrets are drawn anew for each run: other programs on this machine, web pages
// among them, can reach the sandbox's ports, too.
type secrets struct{ Token, Signing string }

func newWorkspace(p ports, s secrets) *sandbox.Workspace {
	w := sandbox.New(sandbox.Config{
		BotToken: s.Token, SigningSecret: s.Signing, EventsURL: "http://" + p.door + "/slack/events",
		Scopes:     manifest.Names(manifest.Scopes(config.Default())),
		TemporalUI: "http://" + p.ui, Namespace: namespace, Logger: slog.New(slog.DiscardHandler),
		RetryAfter: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second},
		Hint: fmt.Sprintf("Mention @myao and it answers at once. Otherwise it waits until it has been quiet for %d seconds, and makes up its mind.",
			quietSeconds),
	})
	bot := w.Bot().UserID
	var people []string
	for _, name := range []string{"alice", "bob", "carol"} {
		people = append(people, w.AddUser(name).ID)
	}
	everybody := append([]string{bot}, people...)
	w.AddChannel(sandbox.Public, "general", everybody...)
	w.AddChannel(sandbox.Public, "random", everybody...)
	w.AddChannel(sandbox.Private, "secret-plans", bot, people[0], people[1])
	for _, id := range people {
		w.AddChannel(sandbox.DM, "", id)
	}
	return w
}

func awaitTemporal(ctx context.Context, address string) error {
	c, err := client.NewLazyClient(client.Options{HostPort: address, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer c.Close()
	return poll(ctx, "Temporal", func(ctx context.Context) bool {
		_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
		return err == nil
	})
}

func awaitReady(ctx context.Context, url string) error {
	return poll(ctx, "the starter", func(ctx context.Context) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// poll waits until done holds, for as long as readyWithin.
func poll(ctx context.Context, what string, done func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !done(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready within %s", what, readyWithin)
		case <-tick.C:
		}
	}
	return nil
}
