package store

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// MCPTool is a tool that an MCP server has listed.
type MCPTool struct {
	TeamID string // of the workspace whose own server it is; empty for the servers of all
	// Server is its name in the configuration. The table has TEAM/SERVER for a workspace's own.
	Server string `gorm:"primaryKey"`
	// Tool is its name at its server, Name that for models.
	Tool        string `gorm:"primaryKey"`
	Name        string
	Description string
	Schema      string // of its input, JSON
	Annotations string // JSON
	// Reads is set if its server says now that it only reads.
	Reads bool
	// Act is set if it acts. Only AllowTools ends that.
	Act bool
	// Fingerprint is that of Description, Schema and Annotations, Allowed the one that was allowed.
	Fingerprint, Allowed string
	SeenUS               int64
	// Gone is set if the last listing lacks it.
	Gone bool
}

// TableName implements gorm's schema.Tabler.
func (MCPTool) TableName() string { return "mcp_tools" }

// unqualified is rows with the server's name in the configuration.
func unqualified(rows []MCPTool) []MCPTool {
	for i, r := range rows {
		rows[i].Server = strings.TrimPrefix(r.Server, inTeamOnly(r.TeamID, ""))
	}
	return rows
}

// MCPTools returns what the servers of a workspace have listed, or with team empty those that are configured for all,
// in order of server and tool.
func (s *Store) MCPTools(ctx context.Context, team string) ([]MCPTool, error) {
	var rows []MCPTool
	if err := s.db.WithContext(ctx).Where("team_id = ?", team).Order("server, tool").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read tools of MCP servers: %w", err)
	}
	return unqualified(rows), nil
}

// RememberTools saves what a server has listed: merge makes the rows of those that were known. A tool that
// acts stays one that acts, also if two programs save at once. SeenUS is set. team is as for MCPTools.
func (s *Store) RememberTools(ctx context.Context, team, server string,
	merge func(known []MCPTool) []MCPTool) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var known []MCPTool
		if err := s.locked(tx).Where("server = ?", inTeamOnly(team, server)).Order("tool").Find(&known).
			Error; err != nil {
			return err
		}
		for _, row := range merge(unqualified(known)) {
			row.TeamID, row.Server = team, inTeamOnly(team, server)
			if !row.Gone {
				row.SeenUS = s.nowMicros()
			}
			set := clause.AssignmentColumns([]string{"name", "description", "schema", "annotations", "reads",
				"fingerprint", "allowed", "seen_us", "gone"})
			set = append(set, clause.Assignment{Column: clause.Column{Name: "act"},
				Value: gorm.Expr("mcp_tools.act OR excluded.act")})
			if err := tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "server"}, {Name: "tool"}},
				DoUpdates: set}).Create(&row).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remember tools of %s: %w", server, err)
	}
	return nil
}

// AllowTools takes the tools of a server as they are listed now, all or one, and returns those that
// it changed. What they say of themselves counts from now on. team is as for MCPTools.
func (s *Store) AllowTools(ctx context.Context, team, server, tool string) (changed []MCPTool, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		q := s.locked(tx).Where("server = ? AND NOT gone", inTeamOnly(team, server))
		if tool != "" {
			q = q.Where("tool = ? OR name = ?", tool, tool)
		}
		var rows []MCPTool
		if err := q.Order("tool").Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == 0 {
			return ErrNotFound
		}
		for _, row := range rows {
			if row.Allowed == row.Fingerprint && row.Act == !row.Reads {
				continue
			}
			row.Allowed, row.Act = row.Fingerprint, !row.Reads
			if err := tx.Model(&MCPTool{}).Where("server = ? AND tool = ?", row.Server, row.Tool).
				Updates(map[string]any{"allowed": row.Allowed, "act": row.Act}).Error; err != nil {
				return err
			}
			changed = append(changed, row)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("allow tools of %s: %w", server, err)
	}
	return unqualified(changed), nil
}
