package testserver_test

import (
	"context"
	"testing"
	"time"

	"myao/internal/testserver"
)

func TestAPostgresServerKeepsWhatWasCommitted(t *testing.T) {
	s := testserver.StartPostgres(t)
	url := s.URL
	db := open(t, url)
	if got := scan(t, db, "SHOW fsync"); got != "on" {
		t.Errorf("fsync is %s", got)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}
	for i, end := range []func(){s.Kill, s.Stop, func() {}} {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO kept VALUES ($1)", i); err != nil {
			t.Fatal(err)
		}
		end()
		if up := db.PingContext(t.Context()) == nil; up != (i == 2) {
			t.Errorf("round %d: the server answers: %v", i, up)
		}
		s.Restart()
		if s.URL != url {
			t.Fatalf("the address moved from %s to %s", url, s.URL)
		}
		db = open(t, url) // a pool need not know yet that its connections are gone
	}
	if got := scan(t, db, "SELECT count(*)::text FROM kept"); got != "3" {
		t.Errorf("%s rows of 3 are left", got)
	}
	if other := s.Database(); other == url || scan(t, open(t, other), "SELECT count(*)::text FROM pg_tables WHERE schemaname = 'public'") != "0" {
		t.Errorf("%s is not a database of its own", other)
	}
}

func TestAFrozenPostgresServerAnswersNobodyAndGoesOn(t *testing.T) {
	s := testserver.StartPostgres(t)
	db := open(t, s.URL)
	scan(t, db, "SELECT '1'") // a connection that was there before
	s.Freeze()
	s.Freeze()
	for name, db := range map[string]interface{ PingContext(context.Context) error }{"an old": db, "a new": open(t, s.URL)} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := db.PingContext(ctx); err == nil {
			t.Errorf("%s connection was answered", name)
		}
		cancel()
	}
	s.Thaw()
	scan(t, db, "SELECT '2'")
	s.Freeze()
	s.Kill() // which it would not hear of
	s.Restart()
	scan(t, open(t, s.URL), "SELECT '3'")
}
