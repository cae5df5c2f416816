package testserver_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"myao/test/testserver"
)

func TestPostgresServerKeepsCommittedDataAcrossRestarts(t *testing.T) {
	s := testserver.StartPostgres(t)
	url := s.URL
	db := open(t, url)
	if got := scan(t, db, "SHOW fsync"); got != "on" {
		t.Errorf("fsync is %s", got)
	}
	testserver.Must(t, testserver.ErrOf(db.ExecContext(t.Context(), "CREATE TABLE kept (n int)")))
	keepRunning := func() {}
	for i, end := range []func(){s.Kill, s.Stop, keepRunning} {
		testserver.Must(t, testserver.ErrOf(db.ExecContext(t.Context(), "INSERT INTO kept VALUES ($1)", i)))
		end()
		if up := db.PingContext(t.Context()) == nil; up != (i == 2) {
			t.Errorf("round %d: the server answers: %v", i, up)
		}
		s.Restart()
		if s.URL != url {
			t.Fatalf("the URL changed from %s to %s", url, s.URL)
		}
		db = open(t, url) // the old pool may not have noticed that its connections are gone
	}
	if got := scan(t, db, "SELECT count(*)::text FROM kept"); got != "3" {
		t.Errorf("%s rows of 3 are left", got)
	}
	if other := s.Database(); other == url || scan(t, open(t, other), "SELECT count(*)::text FROM pg_tables WHERE schemaname = 'public'") != "0" {
		t.Errorf("%s is not a separate, empty database", other)
	}
}

func TestFrozenPostgresServerAnswersOnlyOnceThawed(t *testing.T) {
	s := testserver.StartPostgres(t)
	db := open(t, s.URL)
	scan(t, db, "SELECT '1'") // opens a connection before the freeze
	s.Freeze()
	s.Freeze()
	for name, db := range map[string]*sql.DB{"an old": db, "a new": open(t, s.URL)} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := db.PingContext(ctx); err == nil {
			t.Errorf("%s connection was answered", name)
		}
		cancel()
	}
	s.Thaw()
	scan(t, db, "SELECT '2'")
	s.Freeze()
	s.Kill() // must reach a frozen server, too
	s.Restart()
	scan(t, open(t, s.URL), "SELECT '3'")
}
