// Command worker runs the workflows of conversations and their activities. Any
// number of workers may run against one Temporal namespace and one database.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"myao/internal/launch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(status)
}

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	program, err := launch.Load("worker", args, stderr)
	if err == nil && len(program.Args) > 0 {
		_, _ = fmt.Fprintf(stderr, "worker: unexpected argument %q: there are none but --config FILE\n", program.Args[0])
		return 2
	}
	if err == nil {
		err = serve(ctx, program)
	}
	var exit *launch.Exit
	switch {
	case errors.As(err, &exit):
		return exit.Status
	case err != nil && ctx.Err() == nil:
		program.Logger.Error("stopped", "error", err)
		return 1
	}
	return 0
}
