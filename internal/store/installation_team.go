package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// InstallationTeam is a workspace to which an organisation has granted its installation, or had.
type InstallationTeam struct {
	Team         string    `json:"team"`
	Installation string    `json:"installation"`
	Name         string    `json:"name,omitempty"`
	Granted      bool      `json:"granted"`
	Changed      time.Time `json:"changed_at"` // when it was granted or withdrawn, as Slack says
}

type installationTeamRow struct {
	TeamID         string `gorm:"primaryKey"`
	InstallationID string
	Name           string
	Granted        bool
	ChangedUS      int64
}

func (installationTeamRow) TableName() string { return "installation_teams" }

func (r installationTeamRow) team() InstallationTeam {
	return InstallationTeam{r.TeamID, r.InstallationID, r.Name, r.Granted, instant(r.ChangedUS)}
}

// GrantTeam records that an organisation has granted its installation to a workspace, at a time of Slack's, and reports
// whether that is news. An empty name leaves the known one. The workspace's channels are read for what was missed.
func (s *Store) GrantTeam(ctx context.Context, installation, team, name string, at time.Time) (bool, error) {
	return s.grant(ctx, installationTeamRow{team, installation, name, true, micros(at)})
}

// WithdrawTeam records that the organisation has withdrawn it, as GrantTeam does. Of both in one of Slack's seconds,
// this counts.
func (s *Store) WithdrawTeam(ctx context.Context, installation, team string, at time.Time) (bool, error) {
	return s.grant(ctx, installationTeamRow{team, installation, "", false, micros(at)})
}

func (s *Store) grant(ctx context.Context, row installationTeamRow) (news bool, err error) {
	newer := "installation_teams.changed_us < excluded.changed_us"
	if !row.Granted {
		newer = "(" + newer + " OR installation_teams.changed_us = excluded.changed_us AND installation_teams.granted)"
	}
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		set := clause.AssignmentColumns([]string{"installation_id", "granted", "changed_us"})
		set = append(set, clause.Assignment{Column: clause.Column{Name: "name"},
			Value: gorm.Expr("CASE WHEN excluded.name = '' THEN installation_teams.name ELSE excluded.name END")})
		put := tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "team_id"}}, DoUpdates: set,
			Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: newer}}}}).Create(&row)
		if news = put.RowsAffected > 0; put.Error != nil || !news {
			return put.Error
		}
		if row.Granted {
			if err := beginGaps(tx, row.TeamID); err != nil {
				return err
			}
		}
		return tx.Model(&installationRow{}).Where("id = ?", row.InstallationID).Update("changed_us", s.nowMicros()).Error
	})
	if err != nil {
		return false, fmt.Errorf("save whether workspace %s is granted: %w", row.TeamID, err)
	}
	return news, nil
}

// TeamsOf is the workspaces to which an installation was ever granted, in order of id.
func (s *Store) TeamsOf(ctx context.Context, installation string) ([]InstallationTeam, error) {
	teams, err := teamsOf(s.db.WithContext(ctx), installation)
	if err != nil {
		return nil, fmt.Errorf("read workspaces of %s: %w", installation, err)
	}
	return teams, nil
}

func teamsOf(db *gorm.DB, installation string) ([]InstallationTeam, error) {
	var rows []installationTeamRow
	err := db.Where("installation_id = ?", installation).Order("team_id").Find(&rows).Error
	return mapRows(rows, installationTeamRow.team), err
}

type allowedRow struct {
	ID        string `gorm:"primaryKey"`
	AllowedBy string
	AllowedUS int64
}

func (allowedRow) TableName() string { return "allowed_workspaces" }

// Allowance says that a workspace or organisation may install the app.
type Allowance struct {
	ID string    `json:"id"`
	By string    `json:"by"` // cli:NAME
	At time.Time `json:"at"`
}

// AllowWorkspace lets a workspace or organisation install the app. Who allowed it first stays.
func (s *Store) AllowWorkspace(ctx context.Context, id, by string) error {
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).
		Create(&allowedRow{id, by, s.nowMicros()}).Error; err != nil {
		return fmt.Errorf("allow workspace %s: %w", id, err)
	}
	return nil
}

// Disallow takes that back, or returns ErrNotFound. An installation stays.
func (s *Store) Disallow(ctx context.Context, id string) error {
	gone := s.db.WithContext(ctx).Where("id = ?", id).Delete(&allowedRow{})
	if gone.Error == nil && gone.RowsAffected == 0 {
		gone.Error = ErrNotFound
	}
	if gone.Error != nil {
		return fmt.Errorf("disallow workspace %s: %w", id, gone.Error)
	}
	return nil
}

// Allowed reports whether one of a workspace and its organisation was allowed. Either may be empty.
func (s *Store) Allowed(ctx context.Context, team, organisation string) (bool, error) {
	var n int64
	if err := s.db.WithContext(ctx).Model(&allowedRow{}).Where("id IN ?", []string{team, organisation}).Count(&n).
		Error; err != nil {
		return false, fmt.Errorf("read whether workspace %s is allowed: %w", team, err)
	}
	return n > 0, nil
}

// AllowedWorkspaces is those that were allowed, in order of id.
func (s *Store) AllowedWorkspaces(ctx context.Context) ([]Allowance, error) {
	var rows []allowedRow
	if err := s.db.WithContext(ctx).Order("id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read allowed workspaces: %w", err)
	}
	return mapRows(rows, func(r allowedRow) Allowance {
		return Allowance{r.ID, r.AllowedBy, instant(r.AllowedUS)}
	}), nil
}
