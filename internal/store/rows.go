package store

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// returningAll names all columns of the rows that a statement has written. Postgres would refuse a
// prepared statement that returns * once the next version's migration has added a column: "cached
// plan must not change result type".
func returningAll[T schema.Tabler](db *gorm.DB) (clause.Returning, error) {
	var named clause.Returning
	model := &gorm.Statement{DB: db}
	if err := model.Parse(new(T)); err != nil {
		return named, err
	}
	for _, name := range model.Schema.DBNames {
		named.Columns = append(named.Columns, clause.Column{Table: model.Schema.Table, Name: name})
	}
	return named, nil
}

// mapRows converts rows, in order.
func mapRows[R, T any](rows []R, stands func(R) T) []T {
	all := make([]T, len(rows))
	for i, r := range rows {
		all[i] = stands(r)
	}
	return all
}

// first is the first row, or the zero value if there is none.
func first[T any](rows []T) (row T) {
	if len(rows) > 0 {
		row = rows[0]
	}
	return row
}
