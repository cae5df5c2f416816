// Command sandbox runs all of myao on this machine without an account, a key or Docker: a
// Temporal dev server with its Web UI, worker and starter, a SQLite database, the demo model,
// and a Slack workspace with a page to chat in.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"myao/internal/chat"
	"myao/internal/operate/launch"
	"myao/sandbox/desk"
)

// deskCommand runs the ticket desk with the file that follows.
const deskCommand = "desk"

func main() {
	launch.Main(func(ctx context.Context, args []string, stderr io.Writer) int {
		return run(ctx, args, os.Stdout, stderr)
	})
}

// run runs the command and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[0] == deskCommand { // the worker runs it as the sandbox's configuration says
		if err := desk.Serve(ctx, args[1]); err != nil && ctx.Err() == nil {
			_, _ = fmt.Fprintf(stderr, "sandbox: ticket desk: %v\n", err)
			return 1
		}
		return 0
	}
	if len(args) > 0 && args[0] == joinCommand {
		return runJoin(ctx, args[1:], stdout, stderr)
	}
	flags := flag.NewFlagSet("sandbox", flag.ContinueOnError)
	flags.SetOutput(stderr)
	own, err := os.Executable()
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "sandbox: find this program: %v\n", err)
		return 1
	}
	var o options
	flags.StringVar(&o.address, "address", "127.0.0.1:8700",
		"`HOST:PORT` of the page, on loopback; port 0 takes a free one")
	flags.IntVar(&o.temporalPort, "temporal-port", 7233,
		"`PORT` of the Temporal server; its Web UI is a thousand above. If a port is taken, or with 0, a free one is "+
			"used")
	flags.StringVar(&o.bin, "bin", filepath.Dir(own),
		"`DIR` of the programs worker and starter, and of temporal unless it is in PATH")
	flags.IntVar(&o.quiet, "quiet", 4,
		"`SECONDS` of quiet after which the bot judges a conversation; more leaves you more time for orders")
	flags.StringVar(&o.language, "language", string(chat.English),
		"`LANGUAGE` of what the bot says without a model, and of its prompts: en or ja. The page is in English")
	version := flags.Bool("version", false, "print the version and end")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if *version {
		_, _ = fmt.Fprintln(stdout, launch.Version())
		return 0
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "sandbox: unexpected argument %q; sandbox takes only flags\n", flags.Arg(0))
		return 2
	}
	if most := 65535 - webUIAbove; o.temporalPort < 0 || o.temporalPort > most {
		_, _ = fmt.Fprintf(stderr, "sandbox: --temporal-port is %d; it must be from 0 to %d\n", o.temporalPort, most)
		return 2
	}
	if o.quiet < 2 || o.quiet > longestQuiet {
		_, _ = fmt.Fprintf(stderr, "sandbox: --quiet is %d; it must be from 2 to %d seconds\n", o.quiet, longestQuiet)
		return 2
	}
	if l := chat.Language(o.language); l != chat.English && l != chat.Japanese {
		_, _ = fmt.Fprintf(stderr, "sandbox: --language is %q; it must be en or ja\n", o.language)
		return 2
	}
	if err := serve(ctx, o, stdout); err != nil && ctx.Err() == nil {
		_, _ = fmt.Fprintf(stderr, "sandbox: %v\n", err)
		return 1
	}
	return 0
}
