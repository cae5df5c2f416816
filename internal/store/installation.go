package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// InstallationState says whether Slack takes an installation's token.
type InstallationState string

const (
	InstallationActive InstallationState = "active"
	// InstallationRevoked: Slack no longer takes the token.
	InstallationRevoked InstallationState = "revoked"
	// InstallationUninstalled: Slack has explained that by app_uninstalled.
	InstallationUninstalled InstallationState = "uninstalled"
	// InstallationRemoved: an operator has removed it.
	InstallationRemoved InstallationState = "removed"
)

// InstallationStates are all states, in the order in which they are told.
var InstallationStates = []InstallationState{InstallationActive, InstallationRevoked, InstallationUninstalled,
	InstallationRemoved}

// Installation is that of the app in a workspace, or in an organisation for the workspaces granted to it.
type Installation struct {
	ID string `json:"id"` // T… or E…
	// EnterpriseID is the organisation of a workspace; empty if it has none.
	EnterpriseID string `json:"enterprise_id,omitempty"`
	Name         string `json:"name"`
	AppID        string `json:"app_id"`
	BotUserID    string `json:"bot_user_id"`
	BotID        string `json:"bot_id,omitempty"`
	URL          string `json:"url,omitempty"` // of the workspace
	Scopes       string `json:"scopes"`        // with commas between them
	Tokens       `json:"-"`
	// Generation counts the installations, from 1.
	Generation int64 `json:"generation"`
	// InstalledBy is who installed it: slack:U….
	InstalledBy string    `json:"installed_by"`
	Installed   time.Time `json:"installed_at"`
	// Changed is when anything about it last changed, or whom it is granted to.
	Changed time.Time         `json:"changed_at"`
	State   InstallationState `json:"state"`
	// Cause of the state is app_uninstalled, tokens_revoked, a code of Slack's, or who removed it (cli:NAME); empty
	// while it is active.
	Cause string    `json:"cause,omitempty"`
	Ended time.Time `json:"ended_at,omitzero"`
	// Lease is who refreshes the token until Leased; empty for nobody.
	Lease  string    `json:"-"`
	Leased time.Time `json:"-"`
}

// Organisation reports whether it is that of an organisation as a whole.
func (i Installation) Organisation() bool { return strings.HasPrefix(i.ID, "E") }

// Enterprise is the id of the organisation that it is of, or that its workspace belongs to; empty if there is none.
func (i Installation) Enterprise() string {
	if i.Organisation() {
		return i.ID
	}
	return i.EnterpriseID
}

// Lost reports whether Slack does not take the token at a time, although nobody has uninstalled or removed the app: it
// was revoked, or it has ended and was not renewed. Somebody has to install the app again.
func (i Installation) Lost(at time.Time) bool {
	ended := !i.Expires.IsZero() && i.Expires.Before(at)
	return i.State == InstallationRevoked || i.State == InstallationActive && ended
}

// Tokens are an installation's, as they come: sealed. The store knows no key.
type Tokens struct {
	Token []byte
	// Refresh is empty for a token that does not end.
	Refresh []byte
	Expires time.Time // zero: it does not end
}

type installationRow struct {
	ID           string `gorm:"primaryKey"`
	EnterpriseID string
	Name         string
	AppID        string
	BotUserID    string
	BotID        string
	URL          string
	Scopes       string
	Token        []byte
	RefreshToken []byte
	ExpiresUS    *int64
	Generation   int64
	InstalledBy  string
	InstalledUS  int64
	ChangedUS    int64
	State        InstallationState
	Cause        string
	EndedUS      int64

	LeasedUntilUS int64
	Lease         string
}

func (installationRow) TableName() string { return "installations" }

func (r installationRow) installation() Installation {
	i := Installation{
		ID: r.ID, EnterpriseID: r.EnterpriseID, Name: r.Name, AppID: r.AppID, BotUserID: r.BotUserID, BotID: r.BotID,
		URL: r.URL, Scopes: r.Scopes, Tokens: Tokens{Token: r.Token, Refresh: r.RefreshToken},
		Generation: r.Generation, InstalledBy: r.InstalledBy, Installed: instant(r.InstalledUS),
		Changed: instant(r.ChangedUS), State: r.State, Cause: r.Cause, Ended: instantOrZero(r.EndedUS),
		Lease: r.Lease, Leased: instantOrZero(r.LeasedUntilUS),
	}
	if r.ExpiresUS != nil {
		i.Expires = instant(*r.ExpiresUS)
	}
	return i
}

// columns are a pair of tokens as columns. Bytes are never NULL.
func (t Tokens) columns() map[string]any {
	columns := map[string]any{"token": orEmpty(t.Token), "refresh_token": orEmpty(t.Refresh), "expires_us": nil}
	if !t.Expires.IsZero() {
		columns["expires_us"] = micros(t.Expires)
	}
	return columns
}

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// SaveInstallation saves that the app was installed, now, and returns the generation. An installation that is there is
// replaced, whatever its state: it is active, and nobody holds its lease. If it had ended, its workspaces' channels are
// read for what was missed. Of i it ignores Generation, the times but Expires, State, Cause, Ended and Lease.
func (s *Store) SaveInstallation(ctx context.Context, i Installation) (generation int64, err error) {
	now := s.nowMicros()
	row := installationRow{
		ID: i.ID, EnterpriseID: i.EnterpriseID, Name: i.Name, AppID: i.AppID, BotUserID: i.BotUserID, BotID: i.BotID,
		URL: i.URL, Scopes: i.Scopes, Token: orEmpty(i.Token), RefreshToken: orEmpty(i.Refresh), Generation: 1,
		InstalledBy: i.InstalledBy, InstalledUS: now, ChangedUS: now, State: InstallationActive,
	}
	if !i.Expires.IsZero() {
		row.ExpiresUS = new(micros(i.Expires))
	}
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var before []installationRow
		if err := s.locked(tx).Where("id = ?", i.ID).Find(&before).Error; err != nil {
			return err
		}
		set := clause.AssignmentColumns([]string{"enterprise_id", "name", "app_id", "bot_user_id", "bot_id", "url",
			"scopes", "token", "refresh_token", "expires_us", "installed_by", "installed_us", "changed_us", "state",
			"cause", "ended_us", "leased_until_us", "lease"})
		set = append(set, clause.Assignment{Column: clause.Column{Name: "generation"},
			Value: gorm.Expr("installations.generation + 1")})
		if err := tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: set},
			clause.Returning{Columns: []clause.Column{{Name: "generation"}}}).Create(&row).Error; err != nil {
			return err
		}
		generation = row.Generation
		if len(before) > 0 && before[0].State == InstallationActive {
			return nil
		}
		teams, err := teamsOf(tx, i.ID)
		if err != nil {
			return err
		}
		if !i.Organisation() {
			teams = append(teams, InstallationTeam{Team: i.ID, Granted: true})
		}
		for _, t := range teams {
			if !t.Granted {
				continue
			}
			if err := beginGaps(tx, t.Team); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("save installation %s: %w", i.ID, err)
	}
	return generation, nil
}

// Installation is that of a workspace or organisation, by its id, or ErrNotFound.
func (s *Store) Installation(ctx context.Context, id string) (Installation, error) {
	return s.oneInstallation(ctx, id, where("id = ?", id))
}

// InstallationOf is the installation for a workspace: its own, or that of the organisation which has granted it. An
// active one comes first, then its own. It returns ErrNotFound if there is none.
func (s *Store) InstallationOf(ctx context.Context, team string) (Installation, error) {
	return s.oneInstallation(ctx, team, where("id = ? OR id = (SELECT t.installation_id FROM installation_teams t "+
		"WHERE t.team_id = ? AND t.granted)", team, team))
}

func (s *Store) oneInstallation(ctx context.Context, id string, match condition) (Installation, error) {
	var rows []installationRow
	if err := match.apply(s.db.WithContext(ctx)).
		Order(clause.OrderBy{Expression: clause.Expr{Vars: []any{id},
			SQL: "CASE WHEN state = 'active' THEN 0 ELSE 1 END, CASE WHEN id = ? THEN 0 ELSE 1 END"}}).
		Limit(1).Find(&rows).Error; err != nil {
		return Installation{}, fmt.Errorf("read installation %s: %w", id, err)
	}
	if len(rows) == 0 {
		return Installation{}, fmt.Errorf("installation %s: %w", id, ErrNotFound)
	}
	return rows[0].installation(), nil
}

// Installations is those after an id, in order of id, at most limit.
func (s *Store) Installations(ctx context.Context, after string, limit int) ([]Installation, error) {
	var rows []installationRow
	if err := s.db.WithContext(ctx).Where("id > ?", after).Order("id").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read installations: %w", err)
	}
	return mapRows(rows, installationRow.installation), nil
}

// installationsPage is how many installations EachInstallation reads at once.
const installationsPage = 100

// EachInstallation calls do with every installation, in order of id, until it returns an error.
func (s *Store) EachInstallation(ctx context.Context, do func(Installation) error) error {
	for after := ""; ; {
		rows, err := s.Installations(ctx, after, installationsPage)
		if err != nil {
			return err
		}
		for _, i := range rows {
			if err := do(i); err != nil {
				return err
			}
			after = i.ID
		}
		if len(rows) < installationsPage {
			return nil
		}
	}
}

// InstallationsChanged is those that have changed since a time, those that changed first first. Whoever polls asks from
// Settled before the last answer: clocks differ, and transactions take their time.
func (s *Store) InstallationsChanged(ctx context.Context, since time.Time) ([]Installation, error) {
	var rows []installationRow
	if err := s.db.WithContext(ctx).Where("changed_us >= ?", microsOrZero(since)).Order("changed_us, id").Find(&rows).
		Error; err != nil {
		return nil, fmt.Errorf("read installations that have changed: %w", err)
	}
	return mapRows(rows, installationRow.installation), nil
}

// EndInstallation records that Slack no longer takes an installation's token, or that an operator has removed it, and
// reports whether that is news. Slack says so late, twice, and in any order: what comes from before the installation
// says nothing about it, and what is known already stays. A state that explains more replaces one that explains less.
// Slack's times are whole seconds, so an installation in the second of at counts as older.
func (s *Store) EndInstallation(ctx context.Context, id string, at time.Time, state InstallationState,
	cause string) (bool, error) {
	const rank = "CASE %s WHEN 'active' THEN 0 WHEN 'revoked' THEN 1 WHEN 'uninstalled' THEN 2 ELSE 3 END"
	ended := s.db.WithContext(ctx).Model(&installationRow{}).
		Where("id = ? AND installed_us <= ? AND "+fmt.Sprintf(rank, "state")+" < "+fmt.Sprintf(rank, "CAST(? AS TEXT)"),
			id, micros(at)+time.Second.Microseconds()-1, string(state)).
		Updates(map[string]any{"state": state, "cause": cause, "lease": "", "leased_until_us": 0,
			"changed_us": s.nowMicros(),
			"ended_us":   gorm.Expr("CASE WHEN state = 'active' THEN CAST(? AS BIGINT) ELSE ended_us END", micros(at))})
	if ended.Error != nil {
		return false, fmt.Errorf("end installation %s: %w", id, ended.Error)
	}
	return ended.RowsAffected > 0, nil
}

// ExpiredInstallations is what to purge (PurgeWorkspace): the ids of installations that ended before a time, and of
// workspaces that an organisation withdrew before it; in order of id, at most limit.
func (s *Store) ExpiredInstallations(ctx context.Context, before time.Time, limit int) (ids []string, err error) {
	if err := s.db.WithContext(ctx).Raw(`
		SELECT id FROM installations WHERE state <> 'active' AND ended_us < ?
		UNION SELECT t.team_id FROM installation_teams t WHERE NOT t.granted AND t.changed_us < ?
			AND NOT EXISTS (SELECT 1 FROM installations i WHERE i.id = t.team_id)
		ORDER BY id LIMIT ?`, micros(before), micros(before), limit).Scan(&ids).Error; err != nil {
		return nil, fmt.Errorf("read expired installations: %w", err)
	}
	return ids, nil
}
