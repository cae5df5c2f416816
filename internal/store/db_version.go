package store

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/pressly/goose/v3"
)

// Version compares the database's migrations with this program's. Names are those of migration
// files, without their directory.
type Version struct {
	// Applied are the program's migrations that the database has.
	Applied []string
	// Pending are the migrations that Migrate would apply.
	Pending []string
	// Unknown are the numbers of migrations that a newer program has applied.
	Unknown []int64
}

// ErrOldTables says that the tables are of a version before the first release.
var ErrOldTables = errors.New("the database's tables are from before the first release, and nothing after revision " +
	"636b1535 can bring them up to date: " +
	"expected tables of this version, or none; set database.url to an empty database, or keep to that revision")

// Version reads which migrations the database has. It changes nothing. It returns ErrOldTables for a database that no
// migration can bring up to date.
func (s *Store) Version(ctx context.Context) (Version, error) {
	provider, err := s.migrator()
	if err != nil {
		return Version{}, fmt.Errorf("read version of database: %w", err)
	}
	done, err := s.migrated(ctx)
	if err != nil {
		return Version{}, fmt.Errorf("read version of database: %w", err)
	}
	if len(done) > 0 {
		if there, err := s.hasColumn(ctx, markerTable, markerColumn); err != nil {
			return Version{}, fmt.Errorf("read version of database: %w", err)
		} else if !there {
			return Version{}, ErrOldTables
		}
	}
	var v Version
	for _, source := range provider.ListSources() {
		if name := path.Base(source.Path); done[source.Version] {
			v.Applied = append(v.Applied, name)
		} else {
			v.Pending = append(v.Pending, name)
		}
		delete(done, source.Version)
	}
	for number := range done {
		v.Unknown = append(v.Unknown, number)
	}
	slices.Sort(v.Unknown)
	return v, nil
}

// Before the first release there were 46 migrations with the numbers that later ones have again. None of them made the
// column outbox.slot_us, and the first one of today does.
const (
	markerTable, markerColumn = "outbox", "slot_us"
)

// hasColumn reports whether a table exists and has a column.
func (s *Store) hasColumn(ctx context.Context, table, column string) (bool, error) {
	columns := "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = current_schema() AND table_name " +
		"= $1 AND column_name = $2"
	if s.sqlite != "" {
		columns = "SELECT COUNT(*) FROM pragma_table_info(?) WHERE name = ?"
	}
	var n int
	err := s.pool.QueryRowContext(ctx, columns, table, column).Scan(&n)
	return n > 0, err
}

// migrated is the numbers of the migrations that the database has. goose's own query would create
// its table if it is missing.
func (s *Store) migrated(ctx context.Context) (done map[int64]bool, err error) {
	if there, err := s.hasColumn(ctx, goose.DefaultTablename, "version_id"); err != nil || !there {
		return nil, err
	}
	rows, err := s.pool.QueryContext(ctx, `SELECT DISTINCT version_id FROM `+goose.DefaultTablename+
		` WHERE is_applied AND version_id > 0`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	done = map[int64]bool{}
	for rows.Next() {
		var number int64
		if err := rows.Scan(&number); err != nil {
			return nil, err
		}
		done[number] = true
	}
	return done, rows.Err()
}
