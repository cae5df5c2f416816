// Package launch is what the starter and the worker do alike before their own
// work begins: read the flags and the configuration, open the log, and reach
// the database, however long that takes.
package launch

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	"myao/internal/config"
	"myao/internal/store"
	"myao/internal/telemetry"
)

// Program is a started program's surroundings.
type Program struct {
	Config config.Config
	Logger *slog.Logger
	// Telemetry is what the program tells of itself besides its log; nil for a command.
	Telemetry *telemetry.Telemetry

	// opening is what opening the database is at, in words, for as long as it takes; nil for a command.
	opening *atomic.Value
}

// Main runs a program until it ends by itself or is told to stop (SIGINT, SIGTERM),
// and ends the process with its status.
func Main(run func(ctx context.Context, args []string, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(status)
}

// Run reads the flag --config and the configuration, and serves: for a program that
// has no commands. It returns the exit status: 2 for arguments that are not
// understood, else Start's.
func Run(ctx context.Context, name string, args []string, stderr io.Writer, serve func(context.Context, Program) error) int {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("config", "config.yaml", "the configuration `FILE`")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case *path == "": // as where a variable of the shell is not set
		_, _ = fmt.Fprintf(stderr, "%s: --config is given and empty\n", name)
		return 2
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(stderr, "%s: unexpected argument %q: there are none but --config FILE\n", name, flags.Arg(0))
		return 2
	}
	return Start(ctx, name, *path, stderr, serve)
}

// Start reads the configuration and serves. It returns the exit status: 1 for a wrong
// configuration, with a line for each fault, and for a program that could not go on;
// else 0.
func Start(ctx context.Context, name, path string, stderr io.Writer, serve func(context.Context, Program) error) int {
	p, ok := open(name, path, stderr, brokenTemplates)
	if !ok {
		return 1
	}
	if err := p.observed(ctx, name, serve); err != nil && ctx.Err() == nil {
		p.Logger.Error("stopped", "error", err)
		return 1
	}
	return 0
}

// flushFor is how long the last spans may take to be sent.
const flushFor = 5 * time.Second

// observed serves, and tells of it.
func (p Program) observed(ctx context.Context, name string, serve func(context.Context, Program) error) error {
	o := telemetry.Options{Program: name, Lookup: os.LookupEnv, Clock: time.Now, Logger: p.Logger}
	if build, ok := debug.ReadBuildInfo(); ok {
		o.Version, o.Revision = build.Main.Version, Revision(build)
	}
	t, err := telemetry.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushFor)
		defer cancel()
		if err := t.Close(ctx); err != nil {
			p.Logger.Warn("the last spans are not sent", "error", err)
		}
	}()
	p.Telemetry, p.opening = t, &atomic.Value{}
	return serve(ctx, p)
}

// Command is Start of something that is done and over: what goes wrong is told in
// one line, and of the log only what somebody should see. Templates are not tried: with a
// broken one, too, the bot can be muted.
func Command(ctx context.Context, name, path string, stderr io.Writer, do func(context.Context, Program) error) int {
	p, ok := open(name, path, stderr)
	if !ok {
		return 1
	}
	p.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := do(ctx, p); err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %s\n", name, strings.Join(strings.FieldsFunc(err.Error(), unicode.IsControl), " "))
		return 1
	}
	return 0
}

func open(name, path string, stderr io.Writer, checks ...config.Check) (Program, bool) {
	c, err := config.Load(path, os.LookupEnv, checks...)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return Program{}, false
	}
	return Program{Config: c, Logger: newLogger(c.Log, stderr).With("program", name)}, true
}

// openFor is how long the database may take to answer for the first time.
const openFor = 15 * time.Second

// Store opens the database and brings its tables up to date. It tries until the
// context ends: a database that is started after the program is no fault.
func (p Program) Store(ctx context.Context) (*store.Store, error) {
	var metrics *store.Metrics
	if p.Telemetry != nil {
		metrics = store.NewMetrics(p.Telemetry.Registry)
	}
	for wait := time.Second; ; wait = min(2*wait, 10*time.Second) {
		s, err := p.migrated(ctx)
		if err == nil {
			return s, s.Measure(metrics)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		p.at("")
		p.Logger.Error("database not ready; trying again", "error", err, "in", wait.String())
		if err := Pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// OpenStore opens the database as it is, for a command that is soon over: whoever only
// looks makes no database, and brings none up to date under the programs that run.
func (p Program) OpenStore(ctx context.Context) (*store.Store, error) {
	if path, ok := p.Config.Database.SQLitePath(); ok {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("open database: %w; the starter and the worker make it", err)
		}
	}
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	v, err := s.Version(ctx)
	if err == nil && len(v.Pending) > 0 {
		err = fmt.Errorf("the database lacks %s: a starter or worker of this version brings it up to date", strings.Join(v.Pending, ", "))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (p Program) open(ctx context.Context) (*store.Store, error) {
	// A server that does not answer at all is told of, too.
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	return store.Open(ctx, p.Config.Database.URL)
}

// migrated is one try of Store.
func (p Program) migrated(ctx context.Context) (*store.Store, error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	applied, err := s.MigrateWithProgress(ctx, store.Progress{
		Waiting: func() {
			p.Logger.Info("another program migrates the database; waiting")
			p.at("another program migrates it; waiting")
		},
		Applying: func(left []string) {
			p.Logger.Info("migrating the database", "migration", left[0], "pending", len(left))
			p.at(fmt.Sprintf("migrating it: %s, %d pending", left[0], len(left)))
		},
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if len(applied) > 0 {
		p.Logger.Info("database migrated", "applied", applied)
	}
	return s, nil
}

// at says what opening the database is at; nothing, if what is empty.
func (p Program) at(what string) {
	if p.opening != nil {
		p.opening.Store(what)
	}
}

// Pause waits, or returns early with the context's error.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
