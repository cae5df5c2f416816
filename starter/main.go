// Command starter is Temporal's client side: the door that receives Slack's events, the relay that
// signals conversations, the schedules, and the operator's commands. Any number of starters may
// share one Temporal namespace and one database.
package main

import (
	"context"
	"io"
	"os"

	"myao/internal/operate/launch"
	"myao/starter/cli"
)

func main() {
	launch.Main(func(ctx context.Context, args []string, stderr io.Writer) int {
		return cli.Run(ctx, args, os.Stdin, os.Stdout, stderr)
	})
}
