// Command starter is Temporal's client side: the door through which Slack's
// events come in, and the relay that carries them to the conversations. Any
// number of starters may run against one Temporal namespace and one database.
package main

import (
	"context"
	"io"

	"myao/internal/launch"
)

func main() { launch.Main(run) }

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	return launch.Run(ctx, "starter", args, stderr, serve)
}
