package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"gorm.io/gorm"
)

// query is one of several that are put to the database together.
type query struct {
	// sql is a SELECT, with gorm's placeholders for args; its columns are named like
	// the json keys of what it is read into.
	sql  string
	args []any
	// into is a *[]T, and comes back in the order of the query.
	into any
}

// together runs queries that do not need each other's answers. What a read costs is
// mostly the way to the database and back: so Postgres answers all of them in one
// statement, as JSON, and of one snapshot. SQLite has no such way, and answers one
// after the other.
//
// A column that T has no json key for is an error.
func together(db *gorm.DB, queries ...query) error {
	if db.Name() != "postgres" {
		for _, q := range queries {
			if err := db.Raw(q.sql, q.args...).Scan(q.into).Error; err != nil {
				return err
			}
		}
		return nil
	}
	var statement strings.Builder
	var args []any
	answers := make([]sql.RawBytes, len(queries))
	columns := make([]any, len(queries))
	for i, q := range queries {
		if i == 0 {
			statement.WriteString("SELECT ")
		} else {
			statement.WriteString(", ")
		}
		fmt.Fprintf(&statement, "(SELECT json_agg(q) FROM (%s) q)", q.sql)
		args = append(args, q.args...)
		columns[i] = &answers[i]
	}
	rows, err := db.Raw(statement.String(), args...).Rows()
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		for i, q := range queries {
			if err := decode(answers[i], q.into); err != nil {
				return fmt.Errorf("read an answer: %w", err)
			}
		}
	}
	return rows.Err()
}

// decode reads an array of rows; one of none is NULL.
func decode(answer []byte, into any) error {
	if len(answer) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
