package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// PurgeWorkspace deletes everything that the database holds of a workspace, and then its installation. With the id of
// an organisation it does so with every workspace to which that one's installation was granted. A workspace that is
// still in use, as it has installed the app itself or by its organisation, stays; and so does keep, which the app
// serves without an installation.
//
// It returns ErrInUse if the installation is active, also if it becomes so meanwhile. It works in small transactions
// and tells step after each. It may be killed at any time, and goes on when it is repeated: the installation is there
// until all is gone.
func (s *Store) PurgeWorkspace(ctx context.Context, id, keep string, step SweepStep) error {
	err := s.purgeWorkspaces(ctx, id, keep, step)
	if err != nil {
		return fmt.Errorf("purge workspace %s: %w", id, err)
	}
	return nil
}

func (s *Store) purgeWorkspaces(ctx context.Context, id, keep string, step SweepStep) error {
	switch i, err := s.Installation(ctx, id); {
	case err == nil && i.State == InstallationActive:
		return ErrInUse
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	}
	teams, err := s.TeamsOf(ctx, id)
	if err != nil {
		return err
	}
	for _, t := range append(teams, InstallationTeam{Team: id}) {
		active, err := s.active(ctx, t.Team)
		if err != nil {
			return err
		}
		if active || t.Team == keep {
			continue
		}
		if err := (leaver{s.sweeper(ctx, step), t.Team}).all(); err != nil {
			return err
		}
	}
	return s.transaction(ctx, func(tx *gorm.DB) error {
		ended := tx.Where("id = ? AND state <> 'active'", id).Delete(&installationRow{})
		if ended.Error != nil {
			return ended.Error
		}
		gone := tx.Where("team_id = ? AND NOT granted", id)
		if ended.RowsAffected > 0 {
			gone = gone.Or("installation_id = ?", id)
		}
		return errors.Join(gone.Delete(&installationTeamRow{}).Error,
			// The words of hundreds of its messages are counted again.
			tx.Model(&searchState{}).Where("id = 1").Update("counted", 0).Error)
	})
}

// active reports whether there is an active installation for a workspace.
func (s *Store) active(ctx context.Context, team string) (bool, error) {
	i, err := s.InstallationOf(ctx, team)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return i.State == InstallationActive, err
}

// leaver is one run of PurgeWorkspace through a workspace.
type leaver struct {
	sweeper
	team string
}

// all goes through the tables until nothing more is found: what was under way may have written after a table was
// passed.
func (l leaver) all() error {
	changed, step := 1, l.step
	l.step = func(table string, seen, gone int) error {
		changed += gone
		if err := step(table, seen, gone); err != nil {
			return err
		}
		active, err := l.active(l.ctx, l.team)
		if err == nil && active {
			err = ErrInUse
		}
		return err
	}
	for changed > 0 {
		changed = 0
		for _, h := range holdings {
			leave := h.leave
			if leave == nil {
				leave = leaver.channels
			}
			if err := leave(l, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// channel deletes of one of the workspace's channels.
func (l leaver) channel(id string) purger {
	return purger{sweeper: l.sweeper, Conversation: chat.Conversation{Team: l.team, Channel: id}}
}

// channels deletes rows channel by channel, and those of the workspace itself.
func (l leaver) channels(h holding) error {
	ids, err := l.channelsIn(h.table, l.team)
	for _, id := range append(ids, "") {
		if err == nil {
			err = l.channel(id).rows(h)
		}
	}
	return err
}

// conversations deletes the rows that have the workflow id of one of the workspace's conversations, or its own
// (everywhere).
func (l leaver) conversations(h holding) error {
	for _, kind := range []string{"channel/", "thread/"} {
		path := kind + l.team
		for at := path; ; {
			var next []string
			if err := below("workflow_id", path).apply(l.db.Table(h.table)).Where("workflow_id > ?", at).
				Order("workflow_id").Limit(1).Pluck("workflow_id", &next).Error; err != nil {
				return err
			}
			if len(next) == 0 {
				break
			}
			at = next[0]
			id, _, _ := strings.Cut(strings.TrimPrefix(at, path+"/"), "/")
			if err := l.channel(id).conversations(h); err != nil {
				return err
			}
		}
	}
	return l.remove(l.channel("").part(h, where("workflow_id = ?", everywhere(l.team))), condition{})
}

// other leaves rows to those that they go with.
func (leaver) other(holding) error { return nil }

// rows deletes rows of a table without channels.
func (l leaver) rows(h holding) error {
	return l.remove(part{table: h.table, within: where("team_id = ?", l.team), by: h.key}, condition{})
}
