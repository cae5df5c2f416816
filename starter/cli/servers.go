package cli

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
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

// serverFlag is the flag of commands about MCP servers.
type serverFlag struct {
	Team teamID `placeholder:"ID" help:"The id of a workspace, T…, that has servers of its own. Without it, the servers of all."`
}

func (t serverFlag) team() string { return string(t.Team) }

// ofServers opens the database, and resolves the configuration for the workspace that --team names. team is whose
// servers' tools are stored: empty for those of all.
func (p *program) ofServers(ctx context.Context) (db *store.Store, team string, err error) {
	if db, err = p.database(ctx); err != nil || p.team == "" {
		return db, "", err
	}
	if _, err := p.choose(ctx, db, ""); err != nil {
		return nil, "", err
	}
	if !reflect.DeepEqual(p.Config.MCP.Servers, p.Config.Global().MCP.Servers) {
		team = p.team
	}
	return db, team, nil
}

// servers is ofServers with a client of the MCP servers, which the caller must close.
func (p *program) servers(ctx context.Context) (db *store.Store, client *mcp.Client, team string, err error) {
	db, team, err = p.ofServers(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	return db, mcp.New(mcp.Options{
		Servers: p.Config.MCP.Servers, Store: db, Material: func(s string) string { return s }, Clock: time.Now,
		Logger: slog.New(slog.DiscardHandler), // the output says what is wrong
		Team:   team,
	}), team, nil
}
