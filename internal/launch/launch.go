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
	"time"

	"myao/internal/config"
	"myao/internal/store"
)

// Program is a started program's surroundings.
type Program struct {
	Config config.Config
	Logger *slog.Logger
	// Args are the arguments behind the flags.
	Args []string
}

// Exit is an error with the status that the program ends with.
type Exit struct {
	Status int
	Err    error
}

func (e *Exit) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Exit) Unwrap() error { return e.Err }

// Load reads flags and configuration. An error is an *Exit: status 2 for flags
// that are not understood, 1 for a wrong configuration, 0 for a call for help.
func Load(name string, args []string, stderr io.Writer) (Program, error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("config", "config.yaml", "the configuration `FILE`")
	if err := flags.Parse(args); err != nil {
		status := 2
		if errors.Is(err, flag.ErrHelp) {
			status = 0
		}
		return Program{}, &Exit{Status: status, Err: err}
	}
	c, err := config.Load(*path, os.LookupEnv)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return Program{}, &Exit{Status: 1, Err: err}
	}
	logger := slog.New(slog.NewJSONHandler(stderr, nil)).With("program", name)
	return Program{Config: c, Logger: logger, Args: flags.Args()}, nil
}

// Store opens the database and brings its tables up to date. It tries until the
// context ends: a database that is started after the program is no fault.
func (p Program) Store(ctx context.Context) (*store.Store, error) {
	for wait := time.Second; ; wait = min(2*wait, 10*time.Second) {
		s, err := p.openStore(ctx)
		if err == nil {
			return s, nil
		}
		p.Logger.Error("database not ready; trying again", "error", err, "in", wait.String())
		if err := Pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (p Program) openStore(ctx context.Context) (*store.Store, error) {
	s, err := store.Open(ctx, p.Config.Database.URL)
	if err != nil {
		return nil, err
	}
	applied, err := s.Migrate(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if len(applied) > 0 {
		p.Logger.Info("database migrated", "applied", applied)
	}
	return s, nil
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
