package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"myao/internal/config"
	"myao/internal/llm/tap"
	"myao/internal/operate/launch"
	"myao/internal/operate/operator"
	"myao/internal/runtime/codec"
	"myao/internal/runtime/freeport"
	"myao/internal/slack/manifest"
	"myao/internal/slack/oauth"
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
	dir    string
	config string // the file
	// hookSecret signs events for the hook demo.
	hookSecret string
	settings   config.Config
	ports      ports
	calls      tap.Tap
	say        func(format string, args ...any)
	server     client.Client
	namespace  string
	worker     *child
	tickets    func() ([]desk.Ticket, error) // nil without a desk
	minds      []*inspector.Inspector        // one of each workspace
	db         *store.Store                  // nil until the starter has made the database
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
	temporalPath, err := findTemporal(o.bin)
	if err != nil {
		return err
	}
	if s.ports, err = choosePorts(o.temporalPort); err != nil {
		return err
	}
	thinks, own := chooseModel(os.Getenv), newSecrets()
	s.hookSecret = own.Hook
	s.config = filepath.Join(s.dir, "config.yaml")
	if err := writeConfig(s.config, s.dir, listener.Addr().String(), s.ports.door, o, thinks,
		own); err != nil {
		return err
	}
	if s.settings, err = config.Load(s.config, os.LookupEnv); err != nil {
		return err
	}
	keys, err := codec.New(s.settings.Encryption)
	if err != nil {
		return err
	}
	s.server, err = client.NewLazyClient(client.Options{HostPort: s.ports.temporal, Namespace: namespace,
		DataConverter: keys.DataConverter(), FailureConverter: keys.FailureConverter(),
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("make a Temporal client: %w", err)
	}
	defer s.server.Close()
	s.worker = s.child("worker", filepath.Join(o.bin, "worker"), "--config", s.config)
	s.worker.isUp, s.worker.env = polling(s.server), append(s.worker.env, tapOf(tapListener))
	s.tickets = func() ([]desk.Ticket, error) { return desk.Read(tickets(s.dir)) }
	door := "http://" + s.ports.door
	app := workspace.NewSlack(workspace.SlackConfig{ClientSecret: own.Client, InstallURL: door + oauth.InstallPath})
	c := workspace.Config{AppToken: own.App, SigningSecret: own.Signing, EventsURL: door + manifest.EventsPath,
		TemporalUI: "http://" + s.ports.ui}
	first, second := c, c
	first.BotToken, second.Team, second.Name = own.Token, secondTeam, "Acme"
	defer s.addWorkspace(app.Add, first, o.quiet).Close()
	defer s.addWorkspace(app.Add, second, o.quiet).Close()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveHTTP(ctx, listener, s.handler(app, keys)) })
	group.Go(func() error { return serveHTTP(ctx, tapListener, &s.calls) })
	group.Go(func() error {
		<-ctx.Done()
		s.say("stopping …")
		return nil
	})
	s.say("Starting Temporal, worker and starter: a few seconds; logs are in %s", s.dir)
	run := func(c *child) { group.Go(func() error { return c.supervise(ctx) }) }
	run(s.temporal(temporalPath, listener.Addr().String()))
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
	return s.openMinds(ctx)
}

// addWorkspace adds a workspace with a mind. quiet is in seconds.
func (s *system) addWorkspace(
	add func(workspace.Config) *workspace.Workspace, c workspace.Config, quiet int,
) *workspace.Workspace {
	mind := &inspector.Inspector{Config: s.settings, WebUI: workflowsOf(c.TemporalUI, s.namespace), Worker: s.worker,
		Model: &s.calls, Tickets: s.tickets, Clock: time.Now}
	c.Namespace, c.Mind = s.namespace, mind.Handler()
	w := newWorkspace(add, c, quiet)
	mind.Team, mind.Faults = w.Team(), w.Misbehaving
	s.minds = append(s.minds, mind)
	return w
}

// codecPath begins the paths of the codec server, which decrypts payloads for Temporal's Web UI and its CLI.
const codecPath = "/codec"

// handler serves Slack, and the codec server beside it.
func (s *system) handler(app *workspace.Slack, keys *codec.Codec) http.Handler {
	_, port, _ := net.SplitHostPort(s.ports.ui)
	mux := http.NewServeMux()
	mux.Handle("/", app.Handler())
	mux.Handle(codecPath+"/", codec.Server{Codec: keys, Local: true, Logger: slog.New(slog.DiscardHandler),
		Origins: []string{"http://" + s.ports.ui, "http://localhost:" + port}}.Handler())
	return mux
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
  export TEMPORAL_CODEC_ENDPOINT=http://%s%s
  starter() { "%s" "$@" --config "%s"; }
  event() { curl -H "X-Signature: $(printf %%s "$1" | openssl dgst -sha256 -hmac %s | sed 's/.* //')" -d "$1" \
    http://%s%sdemo; }

Stop with Ctrl-C.`, page, s.ports.ui, model, s.ports.temporal, namespace, page, codecPath,
		filepath.Join(bin, "starter"), s.config, s.hookSecret, s.ports.door, config.HooksPath)
}

func (s *system) child(name, path string, args ...string) *child {
	return &child{name: name, path: path, args: args, log: filepath.Join(s.dir, name+".log"), say: s.say, env: []string{
		"TEMPORAL_ADDRESS=" + s.ports.temporal, "TEMPORAL_NAMESPACE=" + namespace,
	}}
}

// temporal is Temporal's dev server. Its Web UI has the codec server at the address of the page.
func (s *system) temporal(path, page string) *child {
	host, port, _ := net.SplitHostPort(s.ports.temporal)
	_, uiPort, _ := net.SplitHostPort(s.ports.ui)
	c := s.child("temporal", path, "server", "start-dev", "--ip", host, "--port", port,
		"--ui-ip", host, "--ui-port", uiPort, "--ui-codec-endpoint", "http://"+page+codecPath, "--log-level", "error",
		"--namespace", namespace, "--db-filename", filepath.Join(s.dir, "temporal.db"),
		"--dynamic-config-value", "matching.enableFairness=true")
	// Temporal fails to start with an OpenTelemetry exporter that it does not know, and it knows
	// fewer than our programs.
	c.hiddenPrefixes = []string{"OTEL_"}
	return c
}

// openMinds lets the pages show the bot's state. Call it once the starter is ready: the starter
// migrates the database and registers the search attributes.
func (s *system) openMinds(ctx context.Context) (err error) {
	if s.db, err = (launch.Program{Config: s.settings}).OpenStore(ctx); err != nil {
		return err
	}
	conversations, err := operator.Open(ctx, s.server, s.namespace, s.db)
	if err != nil {
		return err
	}
	for _, mind := range s.minds {
		mind.Open(conversations)
	}
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
// Socket Mode, but whoever knew the token would receive all events instead of the bot. Key encrypts the tokens of
// workspaces that install the app, and what Temporal stores.
type secrets struct{ Token, App, Signing, Client, Key, Hook string }

// newSecrets makes secrets in Slack's format, so that starter doctor accepts them.
func newSecrets() secrets {
	signing, key := make([]byte, 16), make([]byte, 32)
	_, _ = rand.Read(signing) // cannot fail
	_, _ = rand.Read(key)
	return secrets{Token: "xoxb-" + rand.Text(), App: "xapp-" + rand.Text(), Signing: hex.EncodeToString(signing),
		Client: rand.Text(), Hook: rand.Text(), Key: base64.StdEncoding.EncodeToString(key)}
}

// secondTeam is the workspace that has not installed the app.
const secondTeam = "T0ACME"

// generalID is the id of #general in each workspace, which the configuration names before there is one.
const generalID = "C0000004"

// newWorkspace adds the workspace that c describes, and fills it with people and channels. quiet is in seconds.
func newWorkspace(
	add func(workspace.Config) *workspace.Workspace, c workspace.Config, quiet int,
) *workspace.Workspace {
	names := [4]string{"alice", "bob", "carol", "gil"}
	channels := [3]string{"general", "random", "secret-plans"}
	if c.Team == secondTeam {
		names, channels = [4]string{"dora", "emil", "fumi", "hana"}, [3]string{"general", "kitchen", "board"}
	}
	c.Scopes = manifest.Names(manifest.Scopes(config.Default()))
	c.RetryAfter = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
	c.Hint = fmt.Sprintf("Mention @myao and it answers at once. Otherwise it waits for %d seconds of quiet, then "+
		"decides whether to answer.", quiet)
	w := add(c)
	bot := w.Bot().UserID
	var people []string
	for i, zone := range []string{"Europe/Berlin", "America/New_York", "Asia/Tokyo"} {
		u := person(names[i])
		u.Zone = zone
		people = append(people, w.AddUserAs(u).ID)
	}
	everybody := append([]string{bot}, people...)
	if id := w.AddChannel(workspace.Public, channels[0], everybody...); id != generalID {
		panic("sandbox: #general is " + id + ", and the configuration names " + generalID)
	}
	w.AddChannel(workspace.Public, channels[1], everybody...)
	w.AddChannel(workspace.Private, channels[2], bot, people[0], people[1])
	// A guest is in no channel, so that the others have everything remembered.
	guest := person(names[3])
	guest.Display, guest.Guest, guest.Zone = guest.Name+" (guest)", true, "Europe/London"
	people = append(people, w.AddUserAs(guest).ID)
	for _, id := range people {
		w.AddChannel(workspace.DM, "", id)
	}
	return w
}

func person(name string) workspace.User {
	return workspace.User{Name: name, Display: name, RealName: strings.ToUpper(name[:1]) + name[1:]}
}
