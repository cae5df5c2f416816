package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"myao/internal/operate/launch"
	"myao/test/startertest"
	"myao/test/testserver"
)

// TestMain runs the starter itself in a process that a test has started.
func TestMain(m *testing.M) {
	if startertest.IsProcess() {
		launch.Main(func(ctx context.Context, args []string, stderr io.Writer) int {
			return Run(ctx, args, os.Stdin, os.Stdout, stderr)
		})
		return
	}
	testserver.Main(m)
}

// run is Run with nobody who types.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return Run(ctx, args, strings.NewReader(""), stdout, stderr)
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	good := startertest.Configuration(t, "127.0.0.1:0", startertest.SQLite(t), "http://"+startertest.Nowhere+"/api/", "")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"help", []string{"-h"}, 0, []string{"--config=FILE"}},
		{"unknown flag", []string{"--port=80"}, 2, []string{"--port"}},
		{"unknown command", []string{"--config", good, "fly"}, 2, []string{"unexpected argument fly"}},
		{"no file", []string{"--config", filepath.Join(t.TempDir(), "none.yaml")}, 1, []string{"none.yaml"}},
		{"two faults", []string{"--config", startertest.Configuration(t, "127.0.0.1:0", "mysql:x", "ftp://slack", "")}, 1, []string{"database.url", "slack.api_url"}},
		{"a database that is away", []string{"--config", startertest.Configuration(t, "127.0.0.1:0", "postgres://nobody@"+startertest.Nowhere+"/none", "http://"+startertest.Nowhere+"/api/", ""), "usage"}, 1, []string{"connection refused"}},
		{"an address in use", []string{"--config", startertest.Configuration(t, busy.Addr().String(), startertest.SQLite(t), "http://"+startertest.Nowhere+"/api/", "")}, 1, []string{"address already in use"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer // and what is asked for, as help is
			if status := run(t.Context(), c.args, &stderr, &stderr); status != c.status {
				t.Errorf("status %d, want %d\n%s", status, c.status, &stderr)
			}
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			for _, want := range c.says {
				if n := len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.Contains(l, want) })); n != 1 {
					t.Errorf("%d lines with %q, want 1:\n%s", n, want, &stderr)
				}
			}
		})
	}
}

// Each command runs, and its help has examples, as docs/configuration.md says.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, kong.Name("starter"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range parser.Model.Leaves(true) {
		if _, ok := c.Target.Addr().Interface().(command); !ok {
			t.Errorf("%s does not run", c.FullPath())
		}
		// In an image the program is /starter.
		if example := regexp.MustCompile(`(?m)^ +/?` + c.FullPath() + `\b`); !example.MatchString(c.Detail) {
			t.Errorf("%s --help has no example: %q", c.FullPath(), c.Detail)
		}
	}
}

// The examples in the help can be typed as they are.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, kong.Name("starter"))
	if err != nil {
		t.Fatal(err)
	}
	var (
		line  = regexp.MustCompile(`(?m)^ +/?starter\b(.*)$`)
		after = regexp.MustCompile(`  .*| [|<>] .*`) // what is said of it, and what is the shell's
		word  = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
		quote = strings.NewReplacer(`"`, "", `'`, "")
	)
	for _, c := range parser.Model.Leaves(true) {
		for _, example := range line.FindAllStringSubmatch(c.Detail, -1) {
			args := word.FindAllString(after.ReplaceAllString(example[1], ""), -1)
			for i := range args {
				args[i] = quote.Replace(args[i])
			}
			parsed, err := parser.Parse(args)
			if err != nil {
				t.Errorf("%s: %v", example[0], err)
			} else if got := parsed.Selected().FullPath(); got != c.FullPath() {
				t.Errorf("%s is %s, want %s", example[0], got, c.FullPath())
			}
		}
	}
}
