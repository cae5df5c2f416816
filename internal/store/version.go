package store

import (
	"context"
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

// Version reads which migrations the database has. It changes nothing.
func (s *Store) Version(ctx context.Context) (Version, error) {
	provider, err := s.migrator()
	if err != nil {
		return Version{}, fmt.Errorf("read version of database: %w", err)
	}
	done, err := s.migrated(ctx)
	if err != nil {
		return Version{}, fmt.Errorf("read version of database: %w", err)
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

// migrated is the numbers of the migrations that the database has. goose's own query would create
// its table if it is missing.
func (s *Store) migrated(ctx context.Context) (done map[int64]bool, err error) {
	there := `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = '` + goose.DefaultTablename + `'`
	if s.sqlite != "" {
		there = `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = '` + goose.DefaultTablename + `'`
	}
	var tables int
	if err := s.pool.QueryRowContext(ctx, there).Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	rows, err := s.pool.QueryContext(ctx, `SELECT DISTINCT version_id FROM `+goose.DefaultTablename+` WHERE is_applied AND version_id > 0`)
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
