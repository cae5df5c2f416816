package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"myao/internal/store"
)

// database opens what is there; a file that is not, opening would make.
func (e *examination) database(ctx context.Context) Finding {
	path, file := e.Config.Database.SQLitePath()
	if file {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return e.absent(path)
		}
		if err != nil {
			return fail("let the account that runs this read the file", "%v", err)
		}
	}
	db, err := store.Open(ctx, e.Config.Database.URL)
	if err != nil {
		fix := "start Postgres, and let database.url name it, with a user and a database that there are"
		refused := new(pgconn.PgError)
		_ = errors.As(err, &refused)
		switch { // by the codes of postgresql.org/docs/current/errcodes-appendix.html
		case file:
			fix = "let the account that runs this read and write the file; if it is no SQLite database, let database.url name another"
		case strings.HasPrefix(refused.Code, "28"): // not authorized
			fix = "let database.url have a user that there is, and its password; pg_hba.conf has to let it in from here"
		case refused.Code == "3D000": // no such database
			fix = "create the database, as a user that may, or let database.url name a database that there is"
		}
		return fail(fix, "%v", err)
	}
	e.db = db
	return ok("%s answers", e.Config.Database.Redacted())
}

// writes looks whether the database can be written to now: without that every event is
// refused. The other checks only read.
func (e *examination) writes(ctx context.Context) Finding {
	if e.db == nil {
		return skip("there is no database yet")
	}
	if err := e.db.Writable(ctx); err != nil {
		fix := "let database.url name a Postgres that takes writes: the primary, without default_transaction_read_only"
		if _, file := e.Config.Database.SQLitePath(); file {
			fix = "end what holds the file, such as a backup, or a shell in the middle of a transaction"
		}
		return fail(fix, "%v", err)
	}
	return ok("it takes them")
}

// absent is a SQLite database that has yet to be made: by the starter or the worker, if
// they may.
func (e *examination) absent(path string) Finding {
	dir := filepath.Dir(path)
	for {
		info, err := os.Stat(dir)
		switch parent := filepath.Dir(dir); {
		case err == nil && !info.IsDir():
			return fail("let database.url name another place", "%s is not there yet, and cannot be made: %s is no directory", path, dir)
		case err == nil && !writable(dir):
			return fail("let the account that runs the programs write there", "%s is not there yet, and cannot be made: %s cannot be written to", path, dir)
		case err == nil:
			return Finding{Status: Warn, Message: path + " is not there yet", Fix: "start the starter or the worker, which make it; relative paths are of where they are started"}
		case parent == dir:
			return fail("let database.url name another place", "%v", err)
		default:
			dir = parent
		}
	}
}

// leastRoom is how many bytes of its disk SQLite's log and what it copies from it may want
// in a quiet hour. With none, nothing is committed, while the lock that writes looks for is had.
const leastRoom = 16 << 20

// file looks at who can read what people said, and whether this account may write it.
func (e *examination) file(context.Context) Finding {
	if e.db == nil {
		return skip("there is no database yet")
	}
	path, _ := e.Config.Database.SQLitePath()
	dir := filepath.Dir(path)
	if left, known := e.freeSpace(dir); known && left < leastRoom {
		return fail("make room there, or let database.url name a file on another disk, with the programs stopped and the file moved",
			"the disk of %s has %d KiB left: once it is full nothing can be written", path, left>>10)
	}
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fail("let the account that runs this read the file", "%v", err)
		case !writable(name):
			return fail("let the account that runs the programs write it", "%s cannot be written to", name)
		case info.Mode().Perm()&0o077 != 0:
			return warn("chmod 600 "+name, "%s can be read by others on this machine (%s): it holds what people said", name, info.Mode().Perm())
		}
	}
	if !writable(dir) {
		return fail("let the account that runs the programs write there: SQLite's log stands beside the file", "%s cannot be written to", dir)
	}
	return ok("%s is its owner's alone, and this account may write it", path)
}

// migrations compares the tables with what this program knows.
func (e *examination) migrations(ctx context.Context) Finding {
	if e.db == nil {
		return skip("there is no database yet")
	}
	v, err := e.db.Version(ctx)
	switch {
	case err != nil:
		return fail("look at the database", "%v", err)
	case len(v.Unknown) > 0:
		return fail("use the newer version of the programs", "the tables are newer than this program, by %s", count(len(v.Unknown), "migration"))
	case len(v.Applied) == 0:
		if err := e.db.CheckSchema(ctx); err != nil {
			return fail(suit(err), "there are no tables yet, and cannot be: %v", err)
		}
		return warn("start the starter or the worker, which make them", "there are no tables yet")
	case len(v.Pending) > 0:
		return warn("back the database up, and start this version's starter or worker, which apply them", "pending: %s", strings.Join(v.Pending, ", "))
	}
	return ok("all %d", len(v.Applied))
}

// suit is how to fix that a database cannot have our tables.
func suit(err error) string {
	switch {
	case errors.Is(err, store.ErrEncoding):
		return "make the database anew: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
	case errors.Is(err, store.ErrNoSchema):
		return "make the schema, or let the search_path of database.url or the role name one that there is"
	case errors.Is(err, store.ErrNoCreate):
		return "GRANT CREATE ON SCHEMA … TO …, as who owns the database; or have the role own it"
	}
	return "look at the database"
}

// untold is why nothing can be read from the tables; empty: it can.
func (e *examination) untold(ctx context.Context) string {
	if e.db == nil {
		return "there is no database yet"
	}
	if v, err := e.db.Version(ctx); err != nil || len(v.Applied) == 0 {
		return "there are no tables yet"
	}
	return ""
}

// late is for how long a change may wait for its signal before somebody should look.
const late = time.Minute

// backlog looks for what was said and has not reached its conversation.
func (e *examination) backlog(ctx context.Context) Finding {
	if why := e.untold(ctx); why != "" {
		return skip("%s", why)
	}
	n, oldest, err := e.db.BacklogSize(ctx)
	if err != nil {
		return fail("look at the database", "%v", err)
	}
	if n == 0 {
		return ok("nothing waits to be relayed")
	}
	age := e.Clock().Sub(oldest)
	said := fmt.Sprintf("%s to be relayed, the oldest for %s", count(n, "change"), span(age))
	if age > late {
		return warn("start the starter; if one runs, see what its log says of Temporal", "%s", said)
	}
	return ok("%s", said)
}

// ids looks for settings under ids that channels have no longer.
func (e *examination) ids(ctx context.Context) Finding {
	if why := e.untold(ctx); why != "" {
		return skip("%s", why)
	}
	moved, err := e.db.MovedTo(ctx, slices.Collect(maps.Keys(e.Config.Channels)))
	if err != nil {
		return fail("look at the database", "%v", err)
	}
	var lost []string
	for _, from := range slices.Sorted(maps.Keys(moved)) {
		for _, to := range moved[from] {
			if e.Config.LeavesSettingsBehind(from, to) {
				lost = append(lost, from+" is "+to+" now")
			}
		}
	}
	if len(lost) > 0 {
		return warn("move what the configuration says under channels to the new id, start the programs again, and unmute the channel",
			"Slack has given channels another id, and they were muted for it: %s", strings.Join(lost, ", "))
	}
	return ok("no settings stand under one that was changed")
}
