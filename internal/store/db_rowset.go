package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// rowset passes rows as one argument of a statement, so that its text, and so its plan, is the same
// for one row and for hundreds.
type rowset struct {
	// columns are the columns of the rows, without an auto-increment column.
	columns []string
	// sql is a table q of the rows, in order, with one gorm placeholder.
	sql string
	// arg is the placeholder's value: the rows as a JSON array.
	arg string
}

// table is the rows as an argument in a FROM.
func (r rowset) table() clause.Expr { return clause.Expr{SQL: r.sql, Vars: []any{r.arg}} }

// newRowset reads the columns of T as gorm does. T's json keys are the columns' names.
func newRowset[T any](db *gorm.DB, rows []T) (rowset, error) {
	var set rowset
	model := &gorm.Statement{DB: db}
	if err := model.Parse(new(T)); err != nil {
		return set, err
	}
	var typed, picked []string
	for _, f := range model.Schema.Fields {
		if f.AutoIncrement {
			continue
		}
		kind := map[schema.DataType]string{schema.Int: "BIGINT", schema.Bool: "BOOLEAN",
			schema.String: "TEXT"}[f.DataType]
		set.columns = append(set.columns, f.DBName)
		typed = append(typed, f.DBName+" "+kind)
		picked = append(picked, "value->>'"+f.DBName+"' AS "+f.DBName)
	}
	if db.Name() == "postgres" {
		set.sql = "json_to_recordset(?) AS q(" + strings.Join(typed, ", ") + ")"
	} else {
		set.sql = "(SELECT " + strings.Join(picked, ", ") + " FROM json_each(?)) q"
	}
	arg, err := json.Marshal(rows)
	set.arg = string(arg)
	return set, err
}

// insertNew inserts the rows that do not exist yet, in order. It returns those with only their key
// columns set.
func insertNew[T schema.Tabler](tx *gorm.DB, rows []T, key ...string) (inserted []T, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	set, err := newRowset(tx, rows)
	if err != nil {
		return nil, err
	}
	columns := strings.Join(set.columns, ", ")
	// SQLite would read ON CONFLICT as a join's condition if there were no WHERE.
	err = tx.Raw(fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE TRUE ON CONFLICT DO NOTHING RETURNING %s",
		rows[0].TableName(), columns, columns, set.sql, strings.Join(key, ", ")), set.arg).Scan(&inserted).Error
	return inserted, err
}
