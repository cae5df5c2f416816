package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// Snapshot is what a judgment read, for the judges of shadow. It holds texts of people.
type Snapshot struct {
	Decision      string // key
	Team, Channel string
	// Messages are those in it; only their ts and revisions are kept. Notes are the ts of the messages
	// that asked for the notes in it.
	Messages []chat.Message
	Notes    []string
	Read     time.Time // when the judgment began to read
	Data     []byte
	// Attempts is how often it was leased, this time included.
	Attempts int
}

// maxSnapshotAge is how long a snapshot is kept. What no judge has been asked about by then, none is.
const maxSnapshotAge = 24 * time.Hour

type snapshotRow struct {
	Decision      string `gorm:"primaryKey"`
	TeamID        string
	ChannelID     string
	Messages      string
	Notes         string
	ReadUS        int64
	StoredUS      int64
	LeasedUntilUS int64
	LeasedBy      string
	Attempts      int
	Data          []byte
}

func (snapshotRow) TableName() string { return "snapshots" }

// SaveSnapshot saves a snapshot, once for each decision.
func (s *Store) SaveSnapshot(ctx context.Context, x Snapshot) error {
	revisions := make(map[string]string, len(x.Messages))
	for _, m := range x.Messages {
		revisions[m.TS] = m.Revision
	}
	messages, err := json.Marshal(revisions)
	if err != nil {
		return err
	}
	notes, err := json.Marshal(x.Notes)
	if err != nil {
		return err
	}
	row := snapshotRow{
		Decision: x.Decision, TeamID: x.Team, ChannelID: x.Channel, Messages: string(messages), Notes: string(notes),
		ReadUS: micros(x.Read), StoredUS: s.nowMicros(), Data: x.Data,
	}
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("save the snapshot of decision %s: %w", x.Decision, err)
	}
	return nil
}

// LeaseSnapshot leases the oldest snapshot that is still good and that nobody but by holds. It returns nil if
// there is none. It deletes those that it finds too old, and those that hold what was deleted,
// edited or forgotten meanwhile.
func (s *Store) LeaseSnapshot(ctx context.Context, by string, lease time.Duration) (*Snapshot, error) {
	for {
		row, err := s.leaseSnapshot(ctx, by, lease)
		if err != nil {
			return nil, fmt.Errorf("lease a snapshot: %w", err)
		}
		if row == nil {
			return nil, nil
		}
		good, err := s.isGood(ctx, *row)
		if err != nil {
			return nil, fmt.Errorf("check the snapshot of decision %s: %w", row.Decision, err)
		}
		if good {
			return &Snapshot{Decision: row.Decision, Team: row.TeamID, Channel: row.ChannelID,
				Read: instant(row.ReadUS), Data: row.Data, Attempts: row.Attempts}, nil
		}
		if err := s.DropSnapshot(ctx, row.Decision); err != nil {
			return nil, err
		}
	}
}

func (s *Store) leaseSnapshot(ctx context.Context, by string, lease time.Duration) (*snapshotRow, error) {
	db := s.db.WithContext(ctx)
	if err := db.Where("stored_us < ?", s.nowMicros()-maxSnapshotAge.Microseconds()).Delete(&snapshotRow{}).
		Error; err != nil {
		return nil, err
	}
	next := "SELECT decision FROM snapshots WHERE leased_until_us <= ? OR leased_by = ? ORDER BY stored_us LIMIT 1"
	if s.sqlite == "" {
		next += " FOR UPDATE SKIP LOCKED"
	}
	whole, err := returningAll[snapshotRow](db)
	if err != nil {
		return nil, err
	}
	var leased []snapshotRow
	err = db.Model(&leased).Clauses(whole).Where("decision IN ("+next+")", s.nowMicros(), by).
		Updates(map[string]any{"leased_until_us": micros(s.now().Add(lease)), "leased_by": by,
			"attempts": gorm.Expr("attempts + 1")}).Error
	if err != nil || len(leased) == 0 {
		return nil, err
	}
	return &leased[0], nil
}

// isGood reports whether nothing in a snapshot was deleted, edited or forgotten since it was read. What
// was forgotten may be in it by way of a memory of another channel, so that this counts in the whole workspace.
func (s *Store) isGood(ctx context.Context, row snapshotRow) (bool, error) {
	var revisions map[string]string
	var notes []string
	if err := json.Unmarshal([]byte(row.Messages), &revisions); err != nil {
		return false, err
	}
	if err := json.Unmarshal([]byte(row.Notes), &notes); err != nil {
		return false, err
	}
	ts := notes
	for one := range revisions {
		ts = append(ts, one)
	}
	db := s.db.WithContext(ctx)
	var rows []messageRow
	if err := db.Select("ts, revision, deleted").Where("team_id = ? AND channel_id = ? AND ts IN ?", row.TeamID,
		row.ChannelID, ts).Find(&rows).Error; err != nil {
		return false, err
	}
	found := 0
	for _, m := range rows {
		revision, shown := revisions[m.TS]
		if m.Deleted || shown && m.Revision != revision {
			return false, nil
		}
		if shown {
			found++
		}
	}
	if found < len(revisions) {
		return false, nil
	}
	since := row.ReadUS - maxClockSkew.Microseconds()
	var forgotten int64
	err := db.Raw(`SELECT (SELECT COUNT(*) FROM forgotten WHERE team_id = ? AND until_us >= ?) + (SELECT COUNT(*) FROM erased WHERE team_id = ? AND until_us >= ?)
		+ (SELECT COUNT(*) FROM orders WHERE team_id = ? AND channel_id = ? AND ordered_us >= ? AND kind = ?)`,
		row.TeamID, since, row.TeamID, since, row.TeamID, row.ChannelID, since, orderForgetNote).Scan(&forgotten).Error
	return forgotten == 0, err
}

// PutOffSnapshot lets nobody lease a snapshot for a while.
func (s *Store) PutOffSnapshot(ctx context.Context, decision string, pause time.Duration) error {
	err := s.db.WithContext(ctx).Model(&snapshotRow{}).Where("decision = ?", decision).
		Updates(map[string]any{"leased_until_us": micros(s.now().Add(pause)), "leased_by": ""}).Error
	if err != nil {
		return fmt.Errorf("put off the snapshot of decision %s: %w", decision, err)
	}
	return nil
}

// DropSnapshot deletes a snapshot.
func (s *Store) DropSnapshot(ctx context.Context, decision string) error {
	if err := s.db.WithContext(ctx).Where("decision = ?", decision).Delete(&snapshotRow{}).Error; err != nil {
		return fmt.Errorf("delete the snapshot of decision %s: %w", decision, err)
	}
	return nil
}

// CountSnapshots is how many snapshots wait for the judges of shadow.
func (s *Store) CountSnapshots(ctx context.Context, team string) (n int, err error) {
	var count int64
	if err := s.db.WithContext(ctx).Model(&snapshotRow{}).Where("team_id = ?", team).Count(&count).Error; err != nil {
		return 0, fmt.Errorf("count snapshots: %w", err)
	}
	return int(count), nil
}

// dropSnapshots deletes all snapshots of a workspace, because something in it is forgotten.
func dropSnapshots(tx *gorm.DB, team string) error {
	return tx.Where("team_id = ?", team).Delete(&snapshotRow{}).Error
}
