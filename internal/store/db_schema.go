package store

import (
	"context"
	"errors"
	"fmt"
)

// The faults that CheckSchema finds. The errors that it returns wrap them with details.
var (
	// ErrNoSchema says that the schema for our tables does not exist.
	ErrNoSchema = errors.New("there is no schema to make tables in")
	// ErrNoCreate says that the role may not create tables.
	ErrNoCreate = errors.New("the role may not make tables")
	// ErrEncoding says that the database cannot store every character.
	ErrEncoding = errors.New("the database's encoding is not UTF8")
)

// CheckSchema checks whether our tables can be created in an empty database. It returns
// ErrNoSchema, ErrNoCreate or ErrEncoding if not. A SQLite file always passes.
func (s *Store) CheckSchema(ctx context.Context) error {
	if s.sqlite != "" {
		return nil
	}
	var role, path, schema, encoding string
	var create bool
	err := s.pool.QueryRowContext(ctx, `SELECT current_user, current_setting('search_path'), coalesce(current_schema(), ''),
		coalesce(has_schema_privilege(current_schema(), 'CREATE'), FALSE), current_setting('server_encoding')`).Scan(&role, &path, &schema, &create, &encoding)
	switch {
	case err != nil:
		return fmt.Errorf("check the schema: %w", err)
	case encoding != "UTF8": // it would refuse an emoji, and so the whole event
		return fmt.Errorf("%w but %s", ErrEncoding, encoding)
	case schema == "":
		return fmt.Errorf("%w: search_path is %s", ErrNoSchema, path)
	case !create:
		return fmt.Errorf("%w: %s, in the schema %s", ErrNoCreate, role, schema)
	}
	return nil
}
