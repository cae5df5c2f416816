package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/timeout"
	"myao/test/testserver"
)

// The suite runs on both databases: Postgres and SQLite must behave alike in every test here. It
// runs in a zone that is not UTC, which no row and no result may show.
func TestMain(m *testing.M) {
	time.Local = time.FixedZone("of the tests", 9*60*60)
	testserver.Main(m)
}

const (
	team    = "T1"
	channel = "C1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that stands still until it is advanced.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// database is a migrated store of the test's own, with a clock.
type database struct {
	*Store
	clock *clock
	url   string
}

func eachDatabase(t *testing.T, run func(t *testing.T, db database)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, migratedSQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, migratedPostgres(t))
	})
}

func sqliteURL(t *testing.T) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "data", "myao.db")
}

// with is a Postgres URL with one more option.
func with(url, option string) string {
	if strings.Contains(url, "?") {
		return url + "&" + option
	}
	return url + "?" + option
}

// migrate makes the tables of a database.
func migrate(url string) error {
	s, err := Open(timeout.Extend(context.Background()), url)
	if err != nil {
		return err
	}
	_, err = s.Migrate(context.Background())
	return errors.Join(err, s.Close())
}

func migratedSQLite(t *testing.T) database {
	t.Helper()
	return migrated(t, testserver.SQLiteCopy(t, migrate))
}

func migratedPostgres(t *testing.T) database {
	t.Helper()
	return migrated(t, testserver.PostgresCopy(t, migrate))
}

func migrated(t *testing.T, url string) database {
	t.Helper()
	s := open(t, url)
	must(t, errOf(s.Migrate(t.Context())))
	c := &clock{at: noon}
	s.now = c.now
	return database{Store: s, clock: c, url: url}
}

// open opens a store like another process.
func open(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(timeout.Extend(t.Context()), url) // the machine may stand still while a lock is held
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// at is the ts of n seconds after noon.
func at(n int) string { return chat.TS(noon.Add(time.Duration(n) * time.Second)) }

func said(ts, thread string) chat.Message {
	return chat.Message{Team: team, Channel: channel, TS: ts, ThreadTS: thread, UserID: "U1", Text: "text of " + ts}
}

func of(m chat.Message) chat.Conversation {
	return chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}
}

// keep decides to keep m and to relay one change of each kind.
func keep(m chat.Message, kinds ...conversation.Kind) func(Known) Entry {
	return func(Known) Entry {
		entry := Entry{Message: &m, Handled: true}
		for _, kind := range kinds {
			entry.Changes = append(entry.Changes, Change{
				Conversation: of(m), Change: conversation.Change{TS: m.TS, Kind: kind, Revision: m.Revision},
			})
		}
		return entry
	}
}

func (db database) record(t *testing.T, m chat.Message, decide func(Known) Entry) []Target {
	t.Helper()
	targets, err := db.Record(t.Context(), m, decide)
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

// store records messages without changes.
func (db database) store(t *testing.T, messages ...chat.Message) {
	t.Helper()
	for _, m := range messages {
		db.record(t, m, keep(m))
	}
}

// known is what Record passes to decide for a message.
func (db database) known(t *testing.T, m chat.Message) Known {
	t.Helper()
	var got Known
	db.record(t, m, func(k Known) Entry { got = k; return Entry{} })
	return got
}

func (db database) pending(t *testing.T, c chat.Conversation) []PendingChange {
	t.Helper()
	w, err := db.PendingChanges(t.Context(), c.ID(), 100)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// concurrently runs n calls that start together, and returns their errors.
func concurrently(n int, run func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-start
			errs[i] = run(i)
		})
	}
	close(start)
	group.Wait()
	return errs
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf is the error of a call whose result does not matter.
func errOf[T any](_ T, err error) error { return err }

func noErrors(t *testing.T, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// count counts rows.
func (db database) count(t *testing.T, table, where string, args ...any) int {
	t.Helper()
	var n int
	must(t, db.db.WithContext(t.Context()).Raw("SELECT COUNT(*) FROM "+table+" WHERE "+where, args...).Scan(&n).Error)
	return n
}

// wantRows checks how many rows of a table there are.
func (db database) wantRows(t *testing.T, want int, table, where string, args ...any) {
	t.Helper()
	if got := db.count(t, table, where, args...); got != want {
		t.Errorf("%d rows of %s where %s %v, want %d", got, table, where, args, want)
	}
}

// patience is how long a test waits for what comes for certain.
const patience = 2 * time.Minute

// within is the result of run, whose context ends after d.
func within(t *testing.T, d time.Duration, what string, run func(ctx context.Context) error) error {
	t.Helper()
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	go func() { done <- run(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(d + patience):
		t.Fatalf("%s hangs: %v after its context has ended it has not returned", what, patience)
		return nil
	}
}
