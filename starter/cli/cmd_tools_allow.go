package cli

import (
	"context"
	"errors"
	"fmt"

	"myao/internal/answer/mcp"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

type toolsAllow struct {
	Server string `arg:"" help:"The server's name in mcp.servers."`
	Tool   string `arg:"" optional:"" help:"Only this tool, as the server names it."`
	serverFlag
}

// Help implements kong's Help.
func (toolsAllow) Help() string {
	return `What the tools say of themselves counts from now on: one that acted and says now that it only reads
becomes one that reads. Look first at what they say, with starter tools list --json.

  starter tools allow desk
  starter tools allow desk close_ticket`
}

func (c *toolsAllow) run(ctx context.Context, p *program) error {
	db, team, err := p.ofServers(ctx)
	if err != nil {
		return err
	}
	server, ok := p.Config.MCP.Servers[c.Server]
	if !ok {
		return fmt.Errorf("mcp.servers has no %q: %s", c.Server, serversOf(p))
	}
	changed, err := db.AllowTools(ctx, team, c.Server, c.Tool)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%s has no such tool: `starter tools list` shows what it has", c.Server)
	}
	if err != nil {
		return err
	}
	if len(changed) == 0 {
		_, err = fmt.Fprintln(p.stdout, "nothing to allow: it is as it was allowed")
		return err
	}
	for _, t := range changed {
		if _, err := fmt.Fprintf(p.stdout, "%s is allowed: %s\n", timeline.Plain(t.Tool),
			mcp.KindOf(t, server)); err != nil {
			return err
		}
	}
	return nil
}
