package cli

import (
	"context"

	"myao/internal/config"
)

// configSchema prints a schema of the configuration.
type configSchema struct{}

// Help implements kong's Help.
func (*configSchema) Help() string {
	return `Editors that speak YAML's language server complete and explain the keys of a file that begins with
"# yaml-language-server: $schema=schema.json".

  starter config schema > schema.json`
}

func (*configSchema) run(_ context.Context, p *program) error {
	_, err := p.stdout.Write(config.Schema)
	return err
}
