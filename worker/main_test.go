package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"myao/internal/runtime/freeport"
	"myao/test/testserver"
)

// TestMain runs the program itself in a process that a test has started.
func TestMain(m *testing.M) {
	if os.Getenv("MYAO_TEST_MAIN") != "" {
		main()
		return
	}
	testserver.Main(m)
}

// write writes a valid configuration with some replacements.
func write(t *testing.T, replace ...string) string {
	t.Helper()
	text := strings.NewReplacer(replace...).Replace(`
slack: {bot_token: xoxb-1, signing_secret: shh, api_url: "http://127.0.0.1:1/api/"}
worker: {address: "127.0.0.1:0"}
database: {url: "sqlite:` + filepath.Join(t.TempDir(), "myao.db") + `"}
agents:
  response: {provider: demo}
  judgment: {provider: demo}
  memory: {provider: demo}
`)
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"help", []string{"--help"}, 0, []string{"-config FILE"}},
		{"unknown flag", []string{"--verbose"}, 2, []string{"-verbose"}},
		{"an argument", []string{"--config", write(t), "serve"}, 2, []string{`unexpected argument "serve"`}},
		{"an empty file name", []string{"--config", ""}, 2, []string{"--config is empty"}},
		{"no file", []string{"--config", filepath.Join(t.TempDir(), "none.yaml")}, 1, []string{"none.yaml"}},
		{"a wrong configuration", []string{"--config", write(t, "provider: demo}", "provider: parrot}")}, 1,
			[]string{"agents.response.provider", "parrot", "agents.judgment.provider", "agents.memory.provider"}},
		{"a provider that cannot be created", []string{"--config", write(t, "response: {provider: demo}", "response: {provider: gemini}")}, 1, []string{"gemini"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			if status := run(t.Context(), c.args, &stderr); status != c.status {
				t.Errorf("status %d, want %d\n%s", status, c.status, &stderr)
			}
			for _, want := range c.says {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("says\n%s\nwithout %q", &stderr, want)
				}
			}
		})
	}
}

func TestAWrongConfigurationGetsALineForEachFault(t *testing.T) {
	t.Parallel()
	path := write(t, "xoxb-1", "", "provider: demo}", "provider: parrot}", "sqlite:", "mysql:")
	var stderr bytes.Buffer
	if status := run(t.Context(), []string{"--config", path}, &stderr); status != 1 {
		t.Errorf("status %d, want 1", status)
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	for _, key := range []string{"slack.bot_token", "database.url", "agents.response.provider", "agents.judgment.provider", "agents.memory.provider"} {
		n := 0
		for _, line := range lines {
			if strings.Contains(line, key) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d lines about %s, want 1:\n%s", n, key, &stderr)
		}
	}
	if len(lines) > 6 { // and a headline, perhaps
		t.Errorf("%d lines for five faults:\n%s", len(lines), &stderr)
	}
}

// The worker starts before Temporal, waits for it, and stops in order.
func TestAWorkerStartsBeforeTemporal(t *testing.T) {
	t.Parallel()
	port, err := freeport.Pick()
	if err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, write(t), fmt.Sprintf("TEMPORAL_ADDRESS=127.0.0.1:%d", port))
	p.until("Temporal not ready")
	testserver.StartTemporal(t, filepath.Join(t.TempDir(), "temporal.db"), port)
	p.until("worker runs")
	if err := p.stop(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// Without a database the worker waits, and can still be stopped.
func TestAWorkerThatWaitsForItsDatabaseCanBeStopped(t *testing.T) {
	t.Parallel()
	path := write(t, "sqlite:", "postgres://nobody@127.0.0.1:1/none?x=")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, said := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"--config", path}, said)
		_ = said.Close()
	}()
	for log := bufio.NewReader(read); ; {
		line, err := log.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "database not ready") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	cancel()
	if got := <-status; got != 0 {
		t.Errorf("status %d, want 0", got)
	}
}
