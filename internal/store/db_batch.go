package store

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// query is one of several queries that run together.
type query struct {
	// sql is a SELECT with gorm's placeholders for args.
	sql  string
	args []any
	// into is a *[]T, filled in the order of the query. The fields of T with a json tag are the
	// columns that are read (columnOf); the query must return each of them.
	into any
}

// named is a query whose parameters have names, as @team; each of args is a map of them. The text and the arguments of
// a clause.Expr stand in the place of its name.
func named(sql string, into any, args ...any) query {
	return query{"?", []any{clause.NamedExpr{SQL: sql, Vars: args}}, into}
}

// verbatim is an argument that becomes part of the statement's text, such as a limit: Postgres plans a statement once,
// and would assume that a parameter stands for a tenth of the rows.
func verbatim(value any) clause.Expr { return clause.Expr{SQL: fmt.Sprint(value)} }

// runBatch runs queries that do not need each other's answers. Most of a read's cost is the round
// trip, so Postgres answers all of them in one statement, from one snapshot. SQLite runs them one
// after the other.
func runBatch(db *gorm.DB, queries ...query) error {
	if db.Name() != "postgres" {
		for _, q := range queries {
			if err := db.Raw(q.sql, q.args...).Scan(q.into).Error; err != nil {
				return err
			}
		}
		return nil
	}
	var args []any
	subselects := make([]string, len(queries))
	answers := make([]sql.RawBytes, len(queries))
	columns := make([]any, len(queries))
	for i, q := range queries {
		subselects[i] = pack(q.sql, q.into)
		args = append(args, q.args...)
		columns[i] = &answers[i]
	}
	rows, err := db.Raw("SELECT "+strings.Join(subselects, ", "), args...).Rows()
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		for i, q := range queries {
			if err := unpack(answers[i], q.into); err != nil {
				return fmt.Errorf("read result of a batch: %w", err)
			}
		}
	}
	return rows.Err()
}

// pack turns all rows of a Postgres query into one value, which unpack reads. JSON would take
// longer to decode than everything else together.
func pack(sql string, into any) string {
	var texts []string
	for _, name := range columns(reflect.TypeOf(into).Elem().Elem()) {
		if name != "" {
			texts = append(texts, "q."+name+"::text")
		}
	}
	return "(SELECT array_send(array_agg(ARRAY[" + strings.Join(texts, ", ") + "])) FROM (" + sql + ") q)"
}

// columns is the columns that a struct's fields are read from; empty for a field that is not read.
func columns(row reflect.Type) []string {
	names := make([]string, row.NumField())
	for i := range names {
		names[i] = columnOf(row.Field(i).Tag)
	}
	return names
}

// columnOf is the column of a field with a json tag: its key or, where JSON leaves the field out, the column for gorm.
func columnOf(tag reflect.StructTag) string {
	name, _, _ := strings.Cut(tag.Get("json"), ",")
	if name == "-" {
		_, name, _ = strings.Cut(tag.Get("gorm"), "column:")
	}
	return name
}

// unpack reads a value made by pack into a *[]T. The value is an array of arrays in Postgres's
// binary format (array_send in arrayfuncs.c). All numbers have four bytes. The header has the
// number of dimensions, whether an element is NULL, and the elements' type, then the length and
// first index of each dimension. Each element follows its length; a length of -1 is NULL.
func unpack(value []byte, into any) error {
	if len(value) == 0 {
		return nil // no rows
	}
	const dimensions, elements = 12, 12 + 2*8
	number := func(at int) int { return int(int32(binary.BigEndian.Uint32(value[at:]))) }
	rows := reflect.ValueOf(into).Elem()
	rows.Set(reflect.MakeSlice(rows.Type(), number(dimensions), number(dimensions)))
	names := columns(rows.Type().Elem())
	texts, at := string(value), elements // one copy; every text is a part of it
	for i := range rows.Len() {
		for field, name := range names {
			if name == "" {
				continue
			}
			length := number(at)
			at += 4
			if length < 0 {
				continue
			}
			if err := set(rows.Index(i).Field(field), texts[at:at+length]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			at += length
		}
	}
	return nil
}

// set sets a field to the value that Postgres wrote as text.
func set(field reflect.Value, text string) (err error) {
	switch field.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		return set(field.Elem(), text)
	case reflect.String:
		field.SetString(text)
	case reflect.Bool:
		var v bool
		v, err = strconv.ParseBool(text)
		field.SetBool(v)
	case reflect.Int, reflect.Int64:
		var v int64
		v, err = strconv.ParseInt(text, 10, 64)
		field.SetInt(v)
	case reflect.Float64:
		var v float64
		v, err = strconv.ParseFloat(text, 64)
		field.SetFloat(v)
	default:
		err = fmt.Errorf("cannot read into a %s", field.Type())
	}
	return err
}
