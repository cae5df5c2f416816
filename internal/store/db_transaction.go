package store

import (
	"context"

	"gorm.io/gorm"
)

// transaction does all of do or nothing. Commits, and failed attempts to begin, are counted as
// statements, because SQLite waits for its lock at the beginning and finds a full disk at the
// commit.
func (s *Store) transaction(ctx context.Context, do func(tx *gorm.DB) error) error {
	begun, committing, at := false, false, s.now()
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		begun = true
		err := do(tx)
		committing, at = err == nil, s.now()
		return err
	})
	switch {
	case committing:
		s.metrics.statement("commit", err, s.now().Sub(at))
	case !begun:
		s.metrics.statement("begin", err, s.now().Sub(at))
	}
	return err
}
