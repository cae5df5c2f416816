package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"myao/internal/config"
	"myao/internal/llm/tap"
	"myao/internal/operate/launch"
	"myao/internal/operate/operator"
	"myao/internal/runtime/freeport"
	"myao/internal/slack/manifest"
	"myao/internal/store"
	"myao/sandbox/desk"
	"myao/sandbox/inspector"
	"myao/sandbox/workspace"
)

type options struct {
	address      string
	temporalPort int
	bin          string
	quiet        int    // seconds of quiet after which the bot judges a conversation
	language     string // of what the bot says without a model, and of its prompts
}

// system is the running sandbox.
type system struct {
	dir       string
	config    string // the file
	settings  config.Config
	ports     ports
	say       func(format string, args ...any)
	server    client.Client
	namespace string
	worker    *child
	mind      *inspector.Inspector
	db        *store.Store // nil until the starter has made the database
}

// serve runs everything until the context ends. It writes only to a temporary directory, which
// it removes at the end.
func serve(ctx context.Context, o options, stdout io.Writer) (err error) {
	s := &system{namespace: namespace, say: func(format string, args ...any) {
		_, _ = fmt.Fprintf(stdout, format+"\n", args...)
	}}
	if s.dir, err = os.MkdirTemp("", "myao-sandbox-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	listener, err := listenOnLoopback(ctx, o.address)
	if err != nil {
		return err
	}
	tapListener, err := listenOnLoopback(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	var calls tap.Tap
	temporalPath, err := findTemporal(o.bin)
	if err != nil {
		return err
	}
	if s.ports, err = choosePorts(o.temporalPort); err != nil {
		return err
	}
	thinks, own := chooseModel(os.Getenv), newSecrets()
	s.config = filepath.Join(s.dir, "config.yaml")
	if err := writeConfig(s.config, s.dir, listener.Addr().String(), s.ports.door, o, thinks,
		own); err != nil {
		return err
	}
	if s.settings, err = config.Load(s.config, os.LookupEnv); err != nil {
		return err
	}
	s.server, err = client.NewLazyClient(client.Options{HostPort: s.ports.temporal, Namespace: namespace,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("make a Temporal client: %w", err)
	}
	defer s.server.Close()
	s.worker = s.child("worker", filepath.Join(o.bin, "worker"), "--config", s.config)
	s.worker.isUp, s.worker.env = polling(s.server), append(s.worker.env, tapOf(tapListener))
	s.mind = &inspector.Inspector{Config: s.settings, WebUI: workflowsOf("http://"+s.ports.ui, namespace),
		Worker: s.worker, Model: &calls, Clock: time.Now}
	s.mind.Tickets = func() ([]desk.Ticket, error) { return desk.Read(tickets(s.dir)) }
	w := newWorkspace(workspace.Config{
		BotToken: own.Token, AppToken: own.App, SigningSecret: own.Signing, EventsURL: "http://" + s.ports.door +
			manifest.EventsPath,
		TemporalUI: "http://" + s.ports.ui, Namespace: namespace, Mind: s.mind.Handler(),
	}, o.quiet)
	defer w.Close()
	s.mind.Team, s.mind.Faults = w.Team(), w.Misbehaving

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveHTTP(ctx, listener, w.Handler()) })
	group.Go(func() error { return serveHTTP(ctx, tapListener, &calls) })
	group.Go(func() error {
		<-ctx.Done()
		s.say("stopping …")
		return nil
	})
	s.say("Starting Temporal, worker and starter: a few seconds; logs are in %s", s.dir)
	run := func(c *child) { group.Go(func() error { return c.supervise(ctx) }) }
	run(s.temporal(temporalPath))
	group.Go(func() error {
		return s.start(ctx, run, o.bin, s.banner(listener.Addr().String(), thinks.says, o.bin))
	})
	err = group.Wait()
	if s.db != nil {
		err = errors.Join(err, s.db.Close()) // only after all users of the database have ended
	}
	return err
}

// start runs the worker and the starter once Temporal answers, and says so by a banner once they do.
func (s *system) start(ctx context.Context, run func(*child), bin, banner string) error {
	if err := awaitTemporal(ctx, s.server); err != nil {
		return err
	}
	run(s.worker)
	run(s.child("starter", filepath.Join(bin, "starter"), "--config", s.config))
	if err := awaitReady(ctx, "http://"+s.ports.door+"/readyz"); err != nil {
		return err
	}
	s.say("%s", banner)
	return s.openMind(ctx)
}

// tapOf is the variable by which a worker reports its calls of models to what serves the listener.
func tapOf(l net.Listener) string { return tap.Variable + "=http://" + l.Addr().String() }

// banner is what the sandbox prints once everything is ready: the addresses, and lines to
// paste into a terminal.
func (s *system) banner(page, model, bin string) string {
	return fmt.Sprintf(`
  chat with the bot      http://%s/
  Temporal's Web UI      http://%s/
  model                  %s

Paste these lines into another terminal; starter --help then lists the commands:

  export TEMPORAL_ADDRESS=%s
  export TEMPORAL_NAMESPACE=%s
  starter() { "%s" "$@" --config "%s"; }

Stop with Ctrl-C.`, page, s.ports.ui, model, s.ports.temporal, namespace, filepath.Join(bin, "starter"), s.config)
}

func (s *system) child(name, path string, args ...string) *child {
	return &child{name: name, path: path, args: args, log: filepath.Join(s.dir, name+".log"), say: s.say, env: []string{
		"TEMPORAL_ADDRESS=" + s.ports.temporal, "TEMPORAL_NAMESPACE=" + namespace,
	}}
}

func (s *system) temporal(path string) *child {
	host, port, _ := net.SplitHostPort(s.ports.temporal)
	_, uiPort, _ := net.SplitHostPort(s.ports.ui)
	c := s.child("temporal", path, "server", "start-dev", "--ip", host, "--port", port,
		"--ui-ip", host, "--ui-port", uiPort, "--log-level", "error",
		"--namespace", namespace, "--db-filename", filepath.Join(s.dir, "temporal.db"),
		"--dynamic-config-value", "matching.enableFairness=true")
	// Temporal fails to start with an OpenTelemetry exporter that it does not know, and it knows
	// fewer than our programs.
	c.hiddenPrefixes = []string{"OTEL_"}
	return c
}

// openMind lets the page show the bot's state. Call it once the starter is ready: the starter
// migrates the database and registers the search attributes.
func (s *system) openMind(ctx context.Context) (err error) {
	if s.db, err = (launch.Program{Config: s.settings}).OpenStore(ctx); err != nil {
		return err
	}
	conversations, err := operator.Open(ctx, s.server, s.namespace, s.db)
	if err != nil {
		return err
	}
	s.mind.Open(conversations)
	return nil
}

// tickets is the file of the ticket desk.
func tickets(dir string) string { return filepath.Join(dir, "tickets.jsonl") }

func findTemporal(bin string) (string, error) {
	if path, err := exec.LookPath("temporal"); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(filepath.Join(bin, "temporal")) // which is temporal.exe on Windows
	if err != nil {
		return "", fmt.Errorf("the program temporal is neither in PATH nor in %s; run `make temporal` to install it",
			bin)
	}
	return path, nil
}

// ports are the addresses, HOST:PORT, at which the programs reach each other.
type ports struct{ temporal, ui, door string }

// workflowsOf is the prefix of the Web UI's address of a workflow; an escaped workflow id follows.
func workflowsOf(ui, namespace string) string {
	return ui + "/namespaces/" + url.PathEscape(namespace) + "/workflows/"
}

// webUIAbove is the distance of the Web UI's port from Temporal's, as in Temporal's dev server.
const webUIAbove = 1000

func choosePorts(temporal int) (ports, error) {
	pick := func(wanted int) (string, error) {
		if wanted > 0 {
			if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(wanted))); err == nil {
				return l.Addr().String(), l.Close()
			}
		}
		port, err := freeport.Pick()
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
	}
	var p ports
	var err error
	if p.temporal, err = pick(temporal); err != nil {
		return p, err
	}
	ui := 0
	if temporal > 0 {
		ui = temporal + webUIAbove
	}
	if p.ui, err = pick(ui); err != nil {
		return p, err
	}
	p.door, err = pick(0)
	return p, err
}

// namespace keeps the sandbox's workflows from a worker that somebody runs against Temporal's
// usual port.
const namespace = "sandbox"

// secrets are random in each run, because other programs and web pages on this machine can
// reach the sandbox's ports, too. App is the token for Socket Mode. The sandbox does not use
// Socket Mode, but whoever knew the token would receive all events instead of the bot.
type secrets struct{ Token, App, Signing string }

// newSecrets makes secrets in Slack's format, so that starter doctor accepts them.
func newSecrets() secrets {
	signing := make([]byte, 16)
	_, _ = rand.Read(signing) // cannot fail
	return secrets{Token: "xoxb-" + rand.Text(), App: "xapp-" + rand.Text(), Signing: hex.EncodeToString(signing)}
}

// newWorkspace fills the workspace that c describes with people and channels. quiet is in seconds.
func newWorkspace(c workspace.Config, quiet int) *workspace.Workspace {
	c.Scopes = manifest.Names(manifest.Scopes(config.Default()))
	c.RetryAfter = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
	c.Hint = fmt.Sprintf("Mention @myao and it answers at once. Otherwise it waits for %d seconds of quiet, then "+
		"decides whether to answer.", quiet)
	w := workspace.New(c)
	bot := w.Bot().UserID
	var people []string
	for _, u := range []workspace.User{
		{Name: "alice", Display: "alice", RealName: "Alice", Zone: "Europe/Berlin"},
		{Name: "bob", Display: "bob", RealName: "Bob", Zone: "America/New_York"},
		{Name: "carol", Display: "carol", RealName: "Carol", Zone: "Asia/Tokyo"},
	} {
		people = append(people, w.AddUserAs(u).ID)
	}
	everybody := append([]string{bot}, people...)
	w.AddChannel(workspace.Public, "general", everybody...)
	w.AddChannel(workspace.Public, "random", everybody...)
	w.AddChannel(workspace.Private, "secret-plans", bot, people[0], people[1])
	// A guest is in no channel, so that the others have everything remembered.
	people = append(people, w.AddUserAs(workspace.User{Name: "gil", Display: "gil (guest)", RealName: "Gil",
		Guest: true, Zone: "Europe/London"}).ID)
	for _, id := range people {
		w.AddChannel(workspace.DM, "", id)
	}
	return w
}
