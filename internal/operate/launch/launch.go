// Package launch has the common beginning of starter and worker: it reads the flags and the
// configuration, opens the log and telemetry, and waits for the database.
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
	"myao/internal/runtime/pause"
	"myao/internal/runtime/telemetry"
	"myao/internal/store"
)

// Program is what every part of a program needs: its configuration, log and telemetry.
type Program struct {
	Config config.Config
	Logger *slog.Logger
	// Telemetry has the program's metrics and traces; nil for a command.
	Telemetry *telemetry.Telemetry

	// openStatus says in words how far opening the database has got; nil for a command.
	openStatus *atomic.Value
}

// Main runs a program until it ends or gets SIGINT or SIGTERM, and exits with its status. All programs hold secrets, so
// it keeps them private first, before anything else is started.
func Main(run func(ctx context.Context, args []string, stderr io.Writer) int) {
	if err := keepPrivate(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "warning: other programs of this user can read this one's memory:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(status)
}

// Run is Start for a program without commands: it reads the flag --config first. It returns the exit
// status: 2 for wrong arguments, otherwise Start's.
func Run(ctx context.Context, name string, args []string, stderr io.Writer,
	serve func(context.Context, Program) error) int {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("config", "config.yaml", "the configuration `FILE`")
	version := flags.Bool("version", false, "print the version and end")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case *version:
		fmt.Println(Version())
		return 0
	case *path == "": // such as from an empty shell variable
		_, _ = fmt.Fprintf(stderr, "%s: --config is empty; it needs the path of a file\n", name)
		return 2
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(stderr, "%s: unexpected argument %q; only --config FILE is allowed\n", name, flags.Arg(0))
		return 2
	}
	return Start(ctx, name, *path, stderr, serve)
}

// Start reads the configuration and serves. It returns the exit status: 1 for a wrong configuration,
// which it reports with a line per fault, and for a program that failed; otherwise 0.
func Start(ctx context.Context, name, path string, stderr io.Writer, serve func(context.Context, Program) error) int {
	p, ok := load(name, path, stderr, checkTemplates)
	if !ok {
		return 1
	}
	if err := p.serveWithTelemetry(ctx, name, serve); err != nil && ctx.Err() == nil {
		p.Logger.Error("stopped", "error", err)
		return 1
	}
	return 0
}

// flushTimeout limits how long sending the last spans may take.
const flushTimeout = 5 * time.Second

// serveWithTelemetry serves with metrics and traces, and sends the last spans at the end.
func (p Program) serveWithTelemetry(ctx context.Context, name string,
	serve func(context.Context, Program) error) error {
	o := telemetry.Options{Program: name, Lookup: os.LookupEnv, Clock: time.Now, Logger: p.Logger}
	if build, ok := debug.ReadBuildInfo(); ok {
		o.Version, o.Revision = build.Main.Version, Revision(build)
	}
	t, err := telemetry.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := t.Close(ctx); err != nil {
			p.Logger.Warn("could not send the last spans", "error", err)
		}
	}()
	p.Telemetry, p.openStatus = t, &atomic.Value{}
	return serve(ctx, p)
}

// Command is Start for a command that ends. It reports an error in one line, and logs only warnings
// and errors. It does not check the templates, so a command such as mute works with a broken one.
func Command(ctx context.Context, name, path string, stderr io.Writer, do func(context.Context, Program) error) int {
	p, ok := load(name, path, stderr)
	if !ok {
		return 1
	}
	return p.command(ctx, name, stderr, do)
}

// JudgeCommand is Command for one that asks the judgment's model and nothing else: no secrets of Slack
// are needed, and templates are checked.
func JudgeCommand(ctx context.Context, name, path string, stderr io.Writer, judge config.Judge,
	do func(context.Context, Program) error) int {
	c, err := config.LoadJudge(path, os.LookupEnv, judge, checkTemplates)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	return Program{Config: c}.command(ctx, name, stderr, do)
}

func (p Program) command(ctx context.Context, name string, stderr io.Writer,
	do func(context.Context, Program) error) int {
	p.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := do(ctx, p); err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %s\n", name, strings.Join(strings.FieldsFunc(err.Error(), unicode.IsControl),
			" "))
		return 1
	}
	return 0
}

// load reads the configuration and opens the log. It reports faults to stderr and returns false.
func load(name, path string, stderr io.Writer, checks ...config.Check) (Program, bool) {
	c, err := config.Load(path, os.LookupEnv, checks...)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return Program{}, false
	}
	return Program{Config: c, Logger: newLogger(c.Log, stderr).With("program", name)}, true
}

// openTimeout limits how long one attempt to open the database may take.
const openTimeout = 15 * time.Second

// errUnmigrated is returned where a migration is pending that the program may not apply.
var errUnmigrated = errors.New("run starter migrate first, or set database.migrate to auto")

// Store opens the database and migrates it, or checks that it is migrated (database.migrate). It tries
// until the context ends, since the database may be started after the program.
func (p Program) Store(ctx context.Context) (*store.Store, error) {
	var metrics *store.Metrics
	if p.Telemetry != nil {
		metrics = store.NewMetrics(p.Telemetry.Registry)
	}
	for wait := time.Second; ; wait = min(2*wait, 10*time.Second) {
		s, err := p.openAndMigrate(ctx)
		if err == nil {
			return s, s.Measure(metrics)
		}
		if errors.Is(err, errUnmigrated) || errors.Is(err, store.ErrOldTables) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		p.setOpenStatus("")
		p.Logger.Error("database not ready; trying again", "error", err, "in", wait.String())
		if !pause.For(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}

// OpenStore opens the database for a command. It neither creates nor migrates one, because a command
// must not change the schema under running programs.
func (p Program) OpenStore(ctx context.Context) (*store.Store, error) {
	if path, ok := p.Config.Database.SQLitePath(); ok {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("open database: %w; start the starter or the worker to create it", err)
		}
	}
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkMigrated(ctx, s,
		errors.New("run starter migrate, or start a starter or worker of this version to migrate it")); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkMigrated returns an error with a remedy where migrations are pending.
func checkMigrated(ctx context.Context, s *store.Store, remedy error) error {
	v, err := s.Version(ctx)
	if err == nil && len(v.Pending) > 0 {
		err = fmt.Errorf("the database lacks %s; %w", strings.Join(v.Pending, ", "), remedy)
	}
	return err
}

// Migrate opens the database, which it may create, migrates it, and returns the names of the migrations
// that it applied.
func (p Program) Migrate(ctx context.Context, progress store.Progress) (applied []string, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.MigrateWithProgress(ctx, progress)
}

func (p Program) open(ctx context.Context) (*store.Store, error) {
	// Without a limit, a server that never answers would not be reported.
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	s, err := store.Open(ctx, p.Config.Database.URL)
	if err == nil {
		s.Withhold(p.Config.Withheld())
	}
	return s, err
}

// openAndMigrate is one attempt of Store.
func (p Program) openAndMigrate(ctx context.Context) (*store.Store, error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	if p.Config.Database.Migrate == config.MigrateCheck {
		if err := checkMigrated(ctx, s, errUnmigrated); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
	applied, err := s.MigrateWithProgress(ctx, store.Progress{
		Waiting: func() {
			p.Logger.Info("another program migrates the database; waiting")
			p.setOpenStatus("another program migrates it; waiting")
		},
		Applying: func(left []string) {
			p.Logger.Info("migrating the database", "migration", left[0], "pending", len(left))
			p.setOpenStatus(fmt.Sprintf("migrating it: %s, %d pending", left[0], len(left)))
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

// setOpenStatus says how far opening the database has got; empty for nothing to say.
func (p Program) setOpenStatus(status string) {
	if p.openStatus != nil {
		p.openStatus.Store(status)
	}
}
