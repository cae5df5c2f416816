package store

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
)

// The reasons why a database refuses a statement.
const (
	refusedFull     = "full"
	refusedIO       = "io"
	refusedReadOnly = "read_only"
	refusedOther    = "other"
)

// refusal returns why a database has refused a statement
// (postgresql.org/docs/current/errcodes-appendix.html, sqlite.org/rescode.html).
func refusal(err error) string {
	var code string
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		code = refused.Code
	}
	switch {
	case code == "53100", errors.Is(err, sqlite3.FULL):
		return refusedFull
	case code == "58030", errors.Is(err, sqlite3.IOERR):
		return refusedIO
	case code == "25006", errors.Is(err, sqlite3.READONLY):
		return refusedReadOnly
	}
	return refusedOther
}

// Full reports whether a database has refused a statement because its disk is full.
func Full(err error) bool { return refusal(err) == refusedFull }
