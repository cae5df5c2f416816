package store

import (
	"gorm.io/gorm"
)

// condition is a part of a WHERE clause.
type condition struct {
	sql  string
	args []any
}

func where(sql string, args ...any) condition { return condition{sql, args} }

func (c condition) apply(db *gorm.DB) *gorm.DB {
	if c.sql == "" {
		return db
	}
	return db.Where(c.sql, c.args...)
}
