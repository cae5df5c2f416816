package store

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// condition is a part of a WHERE clause.
type condition struct {
	sql  string
	args []any
}

func where(sql string, args ...any) condition { return condition{sql, args} }

// whereNamed is where with parameters that have names, as @team.
func whereNamed(sql string, values map[string]any) condition {
	if sql == "" {
		return condition{}
	}
	return where("?", clause.NamedExpr{SQL: sql, Vars: []any{values}})
}

// and and or join two conditions, neither of them empty.
func (c condition) and(d condition) condition {
	return where("("+c.sql+") AND ("+d.sql+")", slices.Concat(c.args, d.args)...)
}

func (c condition) or(d condition) condition {
	return where(c.sql+" OR "+d.sql, slices.Concat(c.args, d.args)...)
}

func (c condition) apply(db *gorm.DB) *gorm.DB {
	if c.sql == "" {
		return db
	}
	return db.Where("("+c.sql+")", c.args...)
}
