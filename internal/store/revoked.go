package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"
)

type revokedRow struct {
	Token     string `gorm:"primaryKey"`
	TeamID    string
	Cause     string
	RevokedUS int64
}

func (revokedRow) TableName() string { return "revoked_tokens" }

// AppUninstalled is the cause of a revocation that Slack has explained: the app was uninstalled.
const AppUninstalled = "app_uninstalled"

// Revocation says that Slack no longer takes a token.
type Revocation struct {
	// Cause is AppUninstalled, tokens_revoked, or the code of a call that Slack refused.
	Cause string
	At    time.Time
	// Team is the workspace or organisation whose token it is; empty for that of slack.bot_token.
	Team string
}

// Revoke records that Slack no longer takes a token, which is given by its hash. If that is known, the
// time stays, and so does the cause, unless it is now known to be AppUninstalled.
func (s *Store) Revoke(ctx context.Context, token string, r Revocation) error {
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "token"}}, DoUpdates: clause.AssignmentColumns([]string{"cause"}),
		Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "excluded.cause = ?",
			Vars: []any{AppUninstalled}}}},
	}).Create(&revokedRow{Token: token, TeamID: r.Team, Cause: r.Cause, RevokedUS: micros(r.At)}).Error; err != nil {
		return fmt.Errorf("save that a token is revoked: %w", err)
	}
	return nil
}

// Revoked says since when and why Slack no longer takes a token; nil if it does.
func (s *Store) Revoked(ctx context.Context, token string) (*Revocation, error) {
	var rows []revokedRow
	if err := s.db.WithContext(ctx).Where("token = ?", token).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read whether a token is revoked: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &Revocation{Cause: rows[0].Cause, At: instant(rows[0].RevokedUS), Team: rows[0].TeamID}, nil
}

// Restore records that Slack takes a token again.
func (s *Store) Restore(ctx context.Context, token string) error {
	if err := s.db.WithContext(ctx).Where("token = ?", token).Delete(&revokedRow{}).Error; err != nil {
		return fmt.Errorf("save that a token is taken again: %w", err)
	}
	return nil
}
