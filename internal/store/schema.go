package store

import (
	"context"
	"errors"
	"fmt"
)

// The faults that Suits finds. The errors that it returns say more.
var (
	// ErrNoSchema says that the schema in which tables would be made is not there.
	ErrNoSchema = errors.New("there is no schema to make tables in")
	// ErrNoCreate says that nobody lets the role make tables.
	ErrNoCreate = errors.New("the role may not make tables")
	// ErrEncoding says that the database cannot hold all that people say.
	ErrEncoding = errors.New("the database's encoding is not UTF8")
)

// CheckSchema reports whether a database that has no tables yet can have ours: ErrNoSchema,
// ErrNoCreate or ErrEncoding if not. A SQLite file always can.
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
		return fmt.Errorf("look at the database: %w", err)
	case encoding != "UTF8": // an emoji would be refused, and with it the event that brought it
		return fmt.Errorf("%w but %s", ErrEncoding, encoding)
	case schema == "":
		return fmt.Errorf("%w: search_path is %s", ErrNoSchema, path)
	case !create:
		return fmt.Errorf("%w: %s, in the schema %s", ErrNoCreate, role, schema)
	}
	return nil
}
