package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"myao/internal/answer/mcp"
	"myao/internal/config"
)

// serverTimeout bounds the check of an MCP server, whose program may have to start.
const serverTimeout = 25 * time.Second

// servers are the checks of the MCP servers.
func (e *examination) servers() (checks []check) {
	for _, name := range slices.Sorted(maps.Keys(e.Config.MCP.Servers)) {
		checks = append(checks, check{name: "mcp " + name, timeout: serverTimeout,
			run: func(ctx context.Context) Finding { return e.mcpServer(ctx, name) }})
	}
	return checks
}

// mcpServer asks a server for its tools, and remembers nothing of the answer.
func (e *examination) mcpServer(ctx context.Context, name string) Finding {
	server := e.Config.MCP.Servers[name]
	client := mcp.New(mcp.Options{Servers: map[string]config.MCPServer{name: server}, Clock: e.Clock,
		Logger: slog.New(slog.DiscardHandler)})
	defer client.Close()
	usable, out, err := client.Ask(ctx, name)
	switch {
	case err != nil:
		return Finding{Status: Warn, Message: fmt.Sprintf("no tools from it: %v", err),
			Fix: fmt.Sprintf("check mcp.servers.%s: its tools fail until it answers; it is asked again when one is "+
				"needed", name)}
	case len(server.Channels) == 0:
		return Finding{Status: Warn, Message: fmt.Sprintf("it has %d tools, and they are used nowhere", usable),
			Fix: fmt.Sprintf("list channels, or all, in mcp.servers.%s.channels", name)}
	case len(out) > 0:
		return Finding{Status: Warn, Message: fmt.Sprintf("%d of its tools can be used, %d cannot", usable, len(out)),
			Fix: "starter tools list says why"}
	}
	return Finding{Status: OK, Message: fmt.Sprintf("it has %d tools", usable)}
}
