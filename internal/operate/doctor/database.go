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

	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// database opens the database. A missing SQLite file is only reported, since opening would
// create it.
func (e *examination) database(ctx context.Context) Finding {
	path, file := e.Config.Database.SQLitePath()
	if file {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return e.absent(path)
		}
		if err != nil {
			return fail("let this account read the file", "%v", err)
		}
	}
	db, err := store.Open(ctx, e.Config.Database.URL)
	if err != nil {
		fix := "start Postgres, and set database.url to it, with a user and a database that exist"
		refused := new(pgconn.PgError)
		_ = errors.As(err, &refused)
		switch { // by the codes of postgresql.org/docs/current/errcodes-appendix.html
		case file:
			fix = "let this account read and write the file; if it is not a SQLite database, set database.url to " +
				"another file"
		case strings.HasPrefix(refused.Code, "28"): // not authorized
			fix = "set database.url to an existing user with its password; pg_hba.conf must allow it from this machine"
		case refused.Code == "3D000": // no such database
			fix = "create the database, as a user with that right, or set database.url to an existing one"
		}
		return fail(fix, "%v", err)
	}
	e.db = db
	return ok("%s answers", e.Config.Database.Redacted())
}

// writes checks whether the database accepts writes now. Without that the starter refuses
// every event. The other checks only read.
func (e *examination) writes(ctx context.Context) Finding {
	if e.db == nil {
		return skip("there is no database yet")
	}
	if err := e.db.Writable(ctx); err != nil {
		fix := "set database.url to a Postgres that accepts writes: the primary, without default_transaction_read_only"
		if _, file := e.Config.Database.SQLitePath(); file {
			fix = "end the program that locks the file, such as a backup, or a shell with an open transaction"
		}
		return fail(fix, "%v", err)
	}
	if err := e.db.Roomy(ctx); store.Full(err) { // a role without the right to try it has other errors
		return fail("free space on the disk of Postgres, or enlarge it; then nothing has to be restarted",
			"the disk of the database is full: %v", err)
	}
	return ok("the database accepts writes")
}

// absent is the finding for a missing SQLite file, which the starter or the worker creates
// if it has the right.
func (e *examination) absent(path string) Finding {
	dir := filepath.Dir(path)
	for {
		info, err := os.Stat(dir)
		switch parent := filepath.Dir(dir); {
		case err == nil && !info.IsDir():
			return fail("set database.url to another path",
				"%s does not exist yet and cannot be created: %s is not a directory", path, dir)
		case err == nil && !writable(dir):
			return fail("let the account that runs the programs write there",
				"%s does not exist yet and cannot be created: no right to write to %s", path, dir)
		case err == nil:
			return Finding{Status: Warn, Message: path + " does not exist yet",
				Fix: "start the starter or the worker, which create it; a relative path starts at their working " +
					"directory"}
		case parent == dir:
			return fail("set database.url to another path", "%v", err)
		default:
			dir = parent
		}
	}
}

// minFreeSpace is, in bytes, what SQLite's write-ahead log and its checkpoints may need in a
// quiet hour. On a full disk commits fail, although writes can still take its lock.
const minFreeSpace = 16 << 20

// file checks the permissions of the SQLite file, which holds what people said, and the free
// space on its disk.
func (e *examination) file(context.Context) Finding {
	if e.db == nil {
		return skip("there is no database yet")
	}
	path, _ := e.Config.Database.SQLitePath()
	dir := filepath.Dir(path)
	if left, known := e.freeSpace(dir); known && left < minFreeSpace {
		return fail("free space there; or stop the programs, move the file to another disk, and set database.url to it",
			"the disk of %s has %d KiB left: nothing can be written once it is full", path, left>>10)
	}
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fail("let this account read the file", "%v", err)
		case !writable(name):
			return fail("let the account that runs the programs write it", "no right to write to %s", name)
		case info.Mode().Perm()&0o077 != 0:
			return warn("chmod 600 "+name, "%s can be read by others on this machine (%s): it holds what people said",
				name, info.Mode().Perm())
		}
	}
	if !writable(dir) {
		return fail("let the account that runs the programs write there: SQLite keeps its log beside the file",
			"no right to write to %s", dir)
	}
	return ok("only its owner can read %s, and this account can write it", path)
}

// migrations compares the applied migrations with those of this program.
func (e *examination) migrations(ctx context.Context) Finding {
	if e.db == nil {
		return skip("there is no database yet")
	}
	v, err := e.db.Version(ctx)
	switch {
	case errors.Is(err, store.ErrOldTables):
		return fail("set database.url to an empty database", "%v", err)
	case err != nil:
		return fail("check the database", "%v", err)
	case len(v.Applied)+len(v.Unknown) == 0:
		if err := e.db.CheckSchema(ctx); err != nil {
			return fail(schemaFix(err), "there are no tables yet, and they cannot be created: %v", err)
		}
		return warn("start the starter or the worker, which create them", "there are no tables yet")
	}
	return compareVersions(v)
}

// compareVersions says which migrations a database has that the program lacks, or the other way round.
func compareVersions(v store.Version) Finding {
	switch {
	case len(v.Unknown) > 0:
		return fail("use the newer version of the programs", "the tables are newer than this program, by %s",
			count(len(v.Unknown), "migration"))
	case len(v.Pending) > 0:
		return warn("back up the database, then run starter migrate of this version, or start its starter or worker "+
			"where database.migrate is auto", "pending: %s", strings.Join(v.Pending, ", "))
	}
	return ok("all %d are applied", len(v.Applied))
}

// schemaFix says how to let a database have the tables.
func schemaFix(err error) string {
	switch {
	case errors.Is(err, store.ErrEncoding):
		return "create the database again: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
	case errors.Is(err, store.ErrNoSchema):
		return "create the schema, or set the search_path of database.url or of the role to an existing one"
	case errors.Is(err, store.ErrNoCreate):
		return "GRANT CREATE ON SCHEMA … TO …, as the owner of the database; or make the role its owner"
	}
	return "check the database"
}

// noTables says why there are no tables to read; empty: there are.
func (e *examination) noTables(ctx context.Context) string {
	if e.db == nil {
		return "there is no database yet"
	}
	if v, err := e.db.Version(ctx); err != nil || len(v.Applied) == 0 {
		return "there are no tables yet"
	}
	return ""
}

// maxBacklogAge is how long a change may wait for its signal without a warning.
const maxBacklogAge = time.Minute

// backlog checks for changes that the relay has not yet signalled to their conversations.
func (e *examination) backlog(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	n, oldest, err := e.db.BacklogSize(ctx)
	if err != nil {
		return fail("check the database", "%v", err)
	}
	if n == 0 {
		return ok("nothing waits to be relayed")
	}
	age := e.Clock().Sub(oldest)
	said := fmt.Sprintf("%s to be relayed, the oldest for %s", count(n, "change"), span(age))
	if age > maxBacklogAge {
		return warn("start the starter; if one runs, see what its log says about Temporal", "%s", said)
	}
	return ok("%s", said)
}

// promises checks for promises that nobody has turned to in time.
func (e *examination) promises(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	if v, err := e.db.Version(ctx); err == nil && len(v.Pending) > 0 {
		return skip("their table may be among the pending migrations")
	}
	n, err := e.db.CountPromises(ctx)
	switch {
	case err != nil:
		return fail("check the database", "%v", err)
	case n.Late > 0:
		return warn("start a starter and a worker; if both run, starter promises list names the conversation, and "+
			"starter show tells its state",
			"%s open, %d of them late, the oldest for %s", count(n.Open, "promise"), n.Late,
			span(e.Clock().Sub(n.Oldest)))
	}
	return ok("%s open, none late", count(n.Open, "promise"))
}

// maxUnfinished is how long an answer may take, lookups included.
const maxUnfinished = 5 * time.Minute

// unfinished looks for the oldest mention or yes that has no outcome. It is a consequence: whatever names a
// cause comes before it.
func (e *examination) unfinished(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	oldest, err := e.db.Unfinished(ctx, time.Time{})
	switch age := e.Clock().Sub(oldest.Decision); {
	case err != nil:
		return fail("check the database", "%v", err)
	case oldest.Decision.IsZero(), age < maxUnfinished:
		return ok("nobody waits for more than %s", span(maxUnfinished))
	default:
		return warn("if no other check says why: starter show and the channel tells its state; Myao work unfinished "+
			"in docs/alerts.md",
			"in %s nothing has come of a message to the bot, or of its own yes, for %s", oldest.Conversation, span(age))
	}
}

// lost looks for conversations for which work never ended: what they have read may end each worker that reads it.
func (e *examination) lost(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	named, err := e.db.Lost(ctx, maxNamed+1)
	switch {
	case err != nil:
		return fail("check the database", "%v", err)
	case len(named) == 0:
		return ok("all work of the last day has ended")
	case len(named) > maxNamed:
		named = append(named[:maxNamed], "and more")
	}
	return warn("look at the last files and links there, and at the workers' memory and log: \"an attempt never ended\"",
		"for these conversations work of the last day never ended: their workers died, or it hung: %s",
		strings.Join(named, ", "))
}

// muted tells whether somebody has muted the bot in the whole workspace.
func (e *examination) muted(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	mutes, err := e.db.MutedWorkspaces(ctx)
	switch {
	case err != nil:
		return fail("check the database", "%v", err)
	case len(mutes) == 0:
		return ok("the bot is not muted everywhere")
	}
	return warn("starter unmute --everywhere, or /myao go by an operator",
		"the bot is muted everywhere, since %s by %s: it answers nobody",
		mutes[0].At.In(e.Config.Location()).Format("2006-01-02 15:04:05 MST"), timeline.Plain(mutes[0].By))
}

// maxIndexLag is how long a message may wait for the search index without a warning.
const maxIndexLag = time.Minute

// searchIndex checks for messages that cannot be found yet.
func (e *examination) searchIndex(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	state, err := e.db.IndexState(ctx)
	if err != nil {
		return fail("check the database", "%v", err)
	}
	if state.Oldest.IsZero() {
		return ok("has all messages, about %d", state.Messages)
	}
	said := fmt.Sprintf("has about %s, and has yet to get those stored since %s", count(int(state.Messages), "message"),
		state.Oldest.UTC().Format(time.RFC3339))
	if e.Clock().Sub(state.Oldest) > maxIndexLag {
		return warn("start the starter; if one runs, wait: its log tells how far it is, or why it does not get on",
			"%s", said)
	}
	return ok("%s", said)
}

// ids looks for settings under former ids of channels.
func (e *examination) ids(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	moved, err := e.db.MovedTo(ctx, slices.Collect(maps.Keys(e.Config.Channels)))
	if err != nil {
		return fail("check the database", "%v", err)
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
		return warn("move the settings under channels to the new id, restart the programs, and unmute the channel",
			"Slack gave these channels a new id, and the bot muted them: %s", strings.Join(lost, ", "))
	}
	return ok("no settings under a former id")
}
