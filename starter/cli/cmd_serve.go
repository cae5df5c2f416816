package cli

import (
	"context"

	"myao/internal/operate/launch"
	"myao/starter/serve"
)

// serveCommand runs the door and the relay. It is the default command.
type serveCommand struct{}

// Help implements kong's Help.
func (serveCommand) Help() string {
	return `It ends within 30 seconds after a SIGTERM or Ctrl-C.

Examples:
  starter
  starter serve --config /etc/myao/config.yaml`
}

func (serveCommand) run(ctx context.Context, p *program) error {
	return ended(launch.Start(ctx, "starter", p.path, p.stderr, serve.Run))
}
