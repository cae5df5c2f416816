// Command worker runs the workflows of conversations and their activities. Any
// number of workers may run against one Temporal namespace and one database.
package main

import (
	"context"
	"io"

	"myao/internal/operate/launch"
)

func main() { launch.Main(run) }

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	return launch.Run(ctx, "worker", args, stderr, serve)
}
