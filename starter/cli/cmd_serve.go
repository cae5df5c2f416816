package cli

// serveCommand runs the door and the relay. It is the default command.
type serveCommand struct{}

// Help implements kong's Help.
func (serveCommand) Help() string {
	return `It ends within 30 seconds after a SIGTERM or Ctrl-C.

Examples:
  starter
  starter serve --config /etc/myao/config.yaml`
}
