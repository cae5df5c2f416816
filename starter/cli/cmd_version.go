package cli

import (
	"context"
	"fmt"

	"myao/internal/operate/launch"
)

// versionCommand prints which release this is.
type versionCommand struct{}

// Help implements kong's Help.
func (*versionCommand) Help() string {
	return `The release and revision of the source, the version of Go, and the platform:

  starter version

The worker and the sandbox print the same with --version.`
}

func (*versionCommand) run(_ context.Context, p *program) error {
	_, err := fmt.Fprintln(p.stdout, launch.Version())
	return err
}
