package e2e

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
)

// away is what can be wrong with a database, and what mends it.
type away struct{ begin, end func() }

// TestDatabaseAway takes the database from both programs. Slack is told within its three
// seconds to come again, and does; nobody has to be started anew.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pg := testserver.StartPostgres(t)
		s := start(t, pg.URL, answers(answerAfter(time.Second)))
		s.withoutDatabase("killed", away{pg.Kill, pg.Restart})
		s.withoutDatabase("frozen", away{pg.Freeze, pg.Thaw})
		s.withoutDatabaseFor("stopped", away{pg.Stop, pg.Restart})
		s.withoutDatabaseFor("frozen", away{pg.Freeze, pg.Thaw})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		url := sqlite(t)
		s := start(t, url, answers(answerAfter(time.Second)))
		var unlock func() error
		lock := away{
			func() { unlock = testserver.LockSQLite(t, strings.TrimPrefix(url, "sqlite:")) },
			func() {
				if err := unlock(); err != nil {
					t.Error(err)
				}
			},
		}
		s.withoutDatabase("locked", lock)
		s.withoutDatabaseFor("locked", lock)
	})
}

func answerAfter(d time.Duration) llmtest.Handler {
	return func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "answer", Delay: d} }
}

// withoutDatabase says something while the database is away.
func (s *system) withoutDatabase(how string, db away) {
	s.t.Helper()
	posts, said := len(s.posts()), len(s.workspace.Deliveries())
	refused := func() (n int) {
		for _, d := range s.workspace.Deliveries()[said:] {
			if d.Status == http.StatusServiceUnavailable {
				n++
			}
		}
		return n
	}
	db.begin()
	ts := s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("Slack to be told to come again", 20*time.Second, func() bool { return refused() >= 2 })
	for path, want := range map[string]int{"/livez": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		status, body := s.get(path)
		if status != want || status != http.StatusOK && !strings.Contains(body, "database: ") {
			s.t.Errorf("%s, database %s: %d, %s", path, how, status, body)
		}
	}
	db.end()
	s.await("the answer to what was said while the database was "+how, 60*time.Second, func() bool { return len(s.posts()) == posts+1 })
	if p := s.posts()[posts]; p.ThreadTS != ts {
		s.t.Errorf("%s: answered in thread %s, want %s", how, p.ThreadTS, ts)
	}
	for _, d := range s.workspace.Deliveries()[said:] { // 0: Slack gave up, as it does when the machine stands still
		if d.Status != http.StatusServiceUnavailable && d.Status != http.StatusOK && d.Status != 0 {
			s.t.Errorf("%s: Slack had %d, %s after %s", how, d.Status, d.Err, d.Took)
		}
	}
	s.ready()
	s.never("a second answer", 2*time.Second, func() bool { return len(s.posts()) != posts+1 })
}

// withoutDatabaseFor takes the database from the worker while the model is at work.
func (s *system) withoutDatabaseFor(how string, db away) {
	s.t.Helper()
	posts, asked := len(s.posts()), len(s.replies())
	ts := s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the model to be asked", 20*time.Second, func() bool { return len(s.replies()) > asked })
	db.begin()
	s.never("an answer without the outbox", 3*time.Second, func() bool { return len(s.posts()) > posts })
	db.end()
	s.await("the answer after the database was "+how, 60*time.Second, func() bool { return len(s.posts()) == posts+1 && s.outcome("pending") == 0 })
	s.never("a second answer", 2*time.Second, func() bool { return len(s.posts()) != posts+1 })
	if !slices.ContainsFunc(s.posts(), func(p sandbox.Post) bool { return p.ThreadTS == ts }) {
		s.t.Errorf("%s: no answer in thread %s", how, ts)
	}
}

func (s *system) get(path string) (status int, body string) {
	s.t.Helper()
	resp, err := http.Get("http://" + s.door + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Error(err)
	}
	return resp.StatusCode, string(text)
}
