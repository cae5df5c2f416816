package store

import (
	"bytes"
	"encoding/json"

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

// marshalRow is json.Marshal that leaves it to whoever prints the JSON whether < and & are escaped.
func marshalRow(row any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(row)
	return b.Bytes(), err
}
