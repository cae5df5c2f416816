package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/store"
	"myao/test/testserver"
)

const valid = `
slack: {bot_token: xoxb-1, signing_secret: shh}
database: {url: "sqlite:unused.db"}
agents:
  response: {provider: demo}
  judgment: {provider: demo}
  memory: {provider: demo}
persona: {name: myao, system_prompt: "You are myao."}
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	t.Parallel()
	good := write(t, valid)
	for _, test := range []struct {
		name   string
		args   []string
		err    error // returned by serve
		status int
		served bool
		says   string
	}{
		{name: "good", args: []string{"--config", good}, served: true, says: `"program":"starter"`},
		{name: "one dash", args: []string{"-config=" + good}, served: true},
		{name: "serving fails", args: []string{"--config", good}, err: errors.New("port in use"), served: true, status: 1, says: "port in use"},
		{name: "help", args: []string{"--help"}, says: "-config FILE"},
		{name: "unknown flag", args: []string{"--verbose"}, status: 2, says: "-verbose"},
		{name: "an argument", args: []string{"--config", good, "doctor"}, status: 2, says: `"doctor"`},
		{name: "no file", args: []string{"--config", good + ".not"}, status: 1, says: "config.yaml.not"},
		{name: "not YAML", args: []string{"--config", write(t, "{")}, status: 1, says: "config.yaml"},
		{name: "a fault", args: []string{"--config", write(t, strings.Replace(valid, "demo", "oracle", 1))}, status: 1, says: "agents.response.provider"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			served := false
			status := Run(t.Context(), "starter", test.args, &stderr, func(_ context.Context, p Program) error {
				served = true
				if p.Config.Persona.Name != "myao" {
					t.Errorf("%+v", p.Config.Persona)
				}
				p.Logger.Info("serving")
				return test.err
			})
			if status != test.status || served != test.served || !strings.Contains(stderr.String(), test.says) {
				t.Errorf("status %d, want %d; served %v, want %v; got %q, want %q in it",
					status, test.status, served, test.served, stderr.String(), test.says)
			}
		})
	}
}

// A program reports the faults of templates together with all others, before it opens anything. A
// command ignores them.
func TestBrokenTemplatesAreFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"response.tmpl": "{{.Nobody}}", "judgment.tmpl": "{{if}}", "respond.tmpl": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	broken := valid + "templates_dir: " + dir + "\n"
	all := []string{
		"respond.tmpl: no prompt has this name", "judgment.tmpl: template: judgment.tmpl:1:", "response.tmpl: template: response.tmpl:1:",
	}
	for _, test := range []struct {
		name, text string
		before     string // the beginning of the line before theirs, or empty
		want       []string
		key        string
	}{
		{name: "of a judge of shadow", text: valid + "shadow: {judges: [{name: a, provider: demo, templates_dir: " + dir + "}]}\n", want: all, key: "shadow.judges[0]."},
		{name: "alone", text: broken, want: all},
		{name: "with another fault", text: strings.Replace(broken, "demo", "oracle", 1), before: "agents.response.provider", want: all},
		{name: "unknown language", text: broken + "language: fr\n", before: "language"},
		{name: "no directory", text: valid + "templates_dir: " + dir + "/not\n", before: "templates_dir"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, test.text)
			refused := func(context.Context, Program) error {
				t.Error("a refused program serves")
				return nil
			}
			run := func(context.Context, Program) error { return nil }
			var program, command bytes.Buffer
			if status := Start(t.Context(), "worker", path, &program, refused); status != 1 {
				t.Errorf("a program's status is %d", status)
			}
			if status := Command(t.Context(), "starter mute", path, &command, run); (status == 0) != (test.before == "") || strings.Contains(command.String(), ".tmpl") {
				t.Errorf("a command's status is %d; it says\n%s", status, command.String())
			}
			lines := strings.Split(strings.TrimSpace(program.String()), "\n")
			if test.before != "" {
				if !strings.HasPrefix(lines[0], test.before) {
					t.Errorf("got %s, want %s", lines[0], test.before)
				}
				lines = lines[1:]
			}
			if len(lines) != len(test.want) {
				t.Fatalf("got\n%s", program.String())
			}
			for i, want := range test.want {
				if !strings.HasPrefix(lines[i], fmt.Sprintf("%stemplates_dir = %q: ", test.key, dir)) || !strings.Contains(lines[i], want) {
					t.Errorf("got %s, want %s", lines[i], want)
				}
			}
		})
	}
}

// A program that is stopped has not failed, even if serve returns an error.
func TestRunIsStopped(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	status := Run(ctx, "worker", []string{"--config", write(t, valid)}, &stderr, func(ctx context.Context, _ Program) error {
		stop()
		return context.Cause(ctx)
	})
	if status != 0 || strings.Contains(stderr.String(), "stopped") {
		t.Errorf("status %d, %q", status, stderr.String())
	}
}

// journal is a log that may be read while it is written.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func program(url string, log io.Writer) Program {
	return Program{Config: config.Config{Database: config.Database{URL: url}}, Logger: slog.New(slog.NewTextHandler(log, nil))}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestStoreWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	obstacle := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil { // a file in place of the directory
		t.Fatal(err)
	}
	var log journal
	opened := make(chan error, 1)
	go func() {
		s, err := program("sqlite:"+filepath.Join(obstacle, "myao.db"), &log).Store(t.Context())
		if err == nil {
			_, _, err = s.BacklogSize(t.Context()) // needs the tables
			err = errors.Join(err, s.Close())
		}
		opened <- err
	}()
	await(t, "a log line about it", func() bool { return strings.Contains(log.String(), "database not ready") })
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "database migrated") {
		t.Errorf("the log does not mention the migration:\n%s", log.String())
	}
}

// The log and /readyz say that another program migrates, and then which migrations are pending.
func TestStoreReportsItsProgress(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "myao.db")
	unlock := testserver.LockSQLite(t, path+"-migrate")
	var log journal
	p := program("sqlite:"+path, &log)
	p.openStatus = &atomic.Value{}
	var opened atomic.Pointer[store.Store]
	ready := func() string {
		if err := p.DatabaseReady(&opened)(t.Context()); err != nil {
			return err.Error()
		}
		return ""
	}
	if got := ready(); got != "database: not open yet" {
		t.Errorf("at first: %q", got)
	}
	done := make(chan error, 1)
	go func() {
		s, err := p.Store(t.Context())
		opened.Store(s)
		done <- err
	}()
	await(t, "a log line about the other program", func() bool { return strings.Contains(log.String(), "another program migrates the database; waiting") })
	await(t, "the same in /readyz", func() bool { return ready() == "database: not open yet: another program migrates it; waiting" })
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if said := log.String(); !strings.Contains(said, `msg="migrating the database" migration=00001_schema.sql pending=`) {
		t.Errorf("the log says\n%s", said)
	}
	await(t, "/readyz to say nothing then", func() bool { return ready() == "" })
	_ = opened.Load().Close()
}

func TestStoreEndsWithItsContext(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a server that never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	logged := func(t *testing.T, log *journal) {
		await(t, "a log line about it", func() bool { return strings.Contains(log.String(), "database not ready") })
	}
	for _, c := range []struct {
		name, url string
		begun     func(*testing.T, *journal) // returns once it waits
	}{
		{"silent", "postgres://u:hunter2@" + silent.Addr().String() + "/db?sslmode=disable", func(t *testing.T, _ *journal) {
			if _, err := silent.Accept(); err != nil {
				t.Error(err)
			}
		}},
		{"refused", "postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable", logged},
		{"no URL", "postgres://u:hunter2@host:port/db", logged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log journal
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := program(c.url, &log).Store(ctx)
				ended <- err
			}()
			c.begun(t, &log)
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the context's error", err)
			}
			if said := log.String(); strings.Contains(said, "hunter2") {
				t.Errorf("the log says %q", said)
			}
		})
	}
}

// A command neither creates nor migrates a database.
func TestOpenStoreDoesNotChangeTheDatabase(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "data", "myao.db")
	p := Program{Config: config.Config{Database: config.Database{URL: "sqlite:" + file}}, Logger: slog.New(slog.DiscardHandler)}
	if _, err := p.OpenStore(t.Context()); err == nil || !strings.Contains(err.Error(), "start the starter or the worker to create it") {
		t.Errorf("no database: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was created: %v", err)
	}
	s, err := p.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := p.OpenStore(t.Context()); err == nil || !strings.Contains(err.Error(), "lacks 00001_schema.sql, ") {
		t.Errorf("without tables: %v", err)
	}
	if v, err := s.Version(t.Context()); err != nil || len(v.Applied) > 0 {
		t.Errorf("it was migrated: %+v, %v", v, err)
	}
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	opened, err := p.OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}
