package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"myao/internal/store"
)

type toolsCall struct {
	Server string `arg:"" help:"The server's name in mcp.servers."`
	Tool   string `arg:"" help:"The tool, as the server names it."`
	Input  string `arg:"" help:"Its input, a JSON object."`
	serverFlag
}

// Help implements kong's Help.
func (toolsCall) Help() string {
	return `The call is made at once, whatever the kind of the tool, and nobody is asked. What a server says is not
checked: it is printed as it is, without control characters.

  starter tools call desk list_tickets '{}'`
}

// Validate implements kong's Validate.
func (c *toolsCall) Validate() error {
	var object map[string]any
	if err := json.Unmarshal([]byte(c.Input), &object); err != nil || object == nil {
		return errors.New("<input>: want a JSON object, such as {}")
	}
	return nil
}

func (c *toolsCall) run(ctx context.Context, p *program) error {
	db, client, team, err := p.servers(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	if _, ok := p.Config.MCP.Servers[c.Server]; !ok {
		return fmt.Errorf("mcp.servers has no %q: %s", c.Server, serversOf(p))
	}
	if _, err := client.Refresh(ctx, c.Server); err != nil {
		return err
	}
	known, err := db.MCPTools(ctx, team)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(known, func(t store.MCPTool) bool {
		return t.Server == c.Server && !t.Gone && (t.Tool == c.Tool || t.Name == c.Tool)
	})
	if i < 0 {
		return fmt.Errorf("%s has no tool %q that can be used: `starter tools list` shows what it has", c.Server,
			c.Tool)
	}
	result, err := client.Call(ctx, known[i], json.RawMessage(c.Input))
	if err != nil {
		return err
	}
	if result.Failed {
		return errors.New(result.Text)
	}
	if err := printPlain(p.stdout, result.Text); err != nil {
		return err
	}
	for _, f := range result.Files {
		if _, err := fmt.Fprintln(p.stdout, f); err != nil {
			return err
		}
	}
	return nil
}
