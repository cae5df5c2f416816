package cli

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"myao/internal/answer/mcp"
	"myao/internal/store"
)

// serversOf names the servers of the configuration.
func serversOf(p *program) string {
	names := slices.Sorted(maps.Keys(p.Config.MCP.Servers))
	if len(names) == 0 {
		return "it has none"
	}
	return fmt.Sprintf("it has %q", names)
}

// servers opens the database and a client of the MCP servers, which the caller must close.
func (p *program) servers(ctx context.Context) (*store.Store, *mcp.Client, error) {
	db, err := p.database(ctx)
	if err != nil {
		return nil, nil, err
	}
	return db, mcp.New(mcp.Options{
		Servers: p.Config.MCP.Servers, Store: db, Material: func(s string) string { return s }, Clock: time.Now,
		Logger: slog.New(slog.DiscardHandler), // the output says what is wrong
	}), nil
}
