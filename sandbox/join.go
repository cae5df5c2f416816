package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"myao/internal/config"
	"myao/internal/runtime/temporal"
	"myao/internal/slack/manifest"
	"myao/sandbox/desk"
	"myao/sandbox/workspace"
)

// joinCommand runs Slack and the worker, and joins them to a starter, a Temporal
// server and a database that run elsewhere, such as in docker-compose.yml.
const joinCommand = "join"

type joinOptions struct {
	config, bin, tickets string
	address              string // to listen on
	starter, ui          string // URLs
}

// runJoin runs the command join and returns its exit status.
func runJoin(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("sandbox join", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o joinOptions
	flags.StringVar(&o.config, "config", "config.yaml", "the configuration `FILE` of starter and worker")
	flags.StringVar(&o.bin, "bin", "/", "`DIR` of the program worker")
	flags.StringVar(&o.tickets, "tickets", "",
		"`FILE` of the ticket desk, as in the configuration; empty if it has none")
	flags.StringVar(&o.address, "address", "127.0.0.1:8700",
		"`HOST:PORT` of Slack and its page. It has no passwords: let only this machine reach it")
	flags.StringVar(&o.starter, "starter", "http://127.0.0.1:8080", "`URL` of the starter")
	flags.StringVar(&o.ui, "temporal-ui", "http://localhost:8233", "`URL` of Temporal's Web UI, for the browser")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "sandbox join: unexpected argument %q; it takes only flags\n", flags.Arg(0))
		return 2
	}
	if err := join(ctx, o, stdout); err != nil && ctx.Err() == nil {
		_, _ = fmt.Fprintf(stderr, "sandbox join: %v\n", err)
		return 1
	}
	return 0
}

// join runs until the context ends. It returns at once if the configuration names Slack itself.
func join(ctx context.Context, o joinOptions, stdout io.Writer) (err error) {
	s := &system{say: func(format string, args ...any) { _, _ = fmt.Fprintf(stdout, format+"\n", args...) },
		config: o.config}
	if s.settings, err = config.Load(o.config, os.LookupEnv); err != nil {
		return err
	}
	if s.settings.Slack.APIURL == config.Default().Slack.APIURL {
		s.say("The configuration has a real Slack workspace, so this one is not needed.")
		return nil
	}
	api, err := url.Parse(s.settings.Slack.APIURL)
	if err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "myao-sandbox-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	page, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.address)
	if err != nil {
		return err
	}
	tapListener, err := listenOnLoopback(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.namespace = temporal.Namespace()
	if s.server, err = temporal.NewClient(s.settings.Encryption, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	defer s.server.Close()
	s.worker = &child{
		name: "worker", path: filepath.Join(o.bin, "worker"), args: []string{"--config", o.config},
		log: filepath.Join(s.dir, "worker.log"), say: s.say,
		env: []string{"TEMPORAL_ADDRESS=" + temporal.Address(), "TEMPORAL_NAMESPACE=" + s.namespace,
			tapOf(tapListener)},
		isUp: polling(s.server),
	}
	if o.tickets != "" {
		s.tickets = func() ([]desk.Ticket, error) { return desk.Read(o.tickets) }
	}
	w := s.addWorkspace(workspace.New, workspace.Config{
		Host: api.Hostname(), BotToken: string(s.settings.Slack.BotToken), AppToken: newSecrets().App,
		SigningSecret: string(s.settings.Slack.SigningSecret),
		EventsURL:     strings.TrimRight(o.starter, "/") + manifest.EventsPath,
		TemporalUI:    o.ui,
	}, s.settings.Response.MinWaitSeconds)
	defer w.Close()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveHTTP(ctx, page, w.Handler()) })
	group.Go(func() error { return serveHTTP(ctx, tapListener, &s.calls) })
	group.Go(func() error { return s.worker.supervise(ctx) })
	group.Go(func() error {
		if err := awaitReady(ctx, strings.TrimRight(o.starter, "/")+"/readyz"); err != nil {
			return err
		}
		_, port, _ := net.SplitHostPort(page.Addr().String())
		s.say("Chat with the bot at http://localhost:%s/", port)
		return s.openMinds(ctx)
	})
	err = group.Wait()
	if s.db != nil {
		err = errors.Join(err, s.db.Close()) // only after all users of the database have ended
	}
	return err
}
