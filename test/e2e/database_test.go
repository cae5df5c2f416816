package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// outage makes a database unavailable, and available again.
type outage struct{ begin, end func() }

// Without its database the starter refuses events within Slack's three seconds, and Slack
// retries. No program needs a restart afterwards.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pg := testserver.StartPostgres(t)
		s := start(t, pg.URL, retriedEverySecond)
		s.mentionDuringOutage("killed", outage{pg.Kill, pg.Restart})
		s.mentionDuringOutage("frozen", outage{pg.Freeze, pg.Thaw})
		s.outageDuringModelCall("stopped", outage{pg.Stop, pg.Restart})
		s.outageDuringModelCall("frozen", outage{pg.Freeze, pg.Thaw})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		url := sqlite(t)
		s := start(t, url, retriedEverySecond)
		var unlock func() error
		lock := outage{
			func() { unlock = testserver.LockSQLite(t, strings.TrimPrefix(url, "sqlite:")) },
			func() {
				if err := unlock(); err != nil {
					t.Error(err)
				}
			},
		}
		s.mentionDuringOutage("locked", lock)
		s.outageDuringModelCall("locked", lock)
	})
}

// mentionDuringOutage mentions the bot while the database is unavailable.
func (s *system) mentionDuringOutage(how string, db outage) {
	s.t.Helper()
	posts, said := len(s.posts()), len(s.Workspace.Deliveries())
	refused := func() (n int) {
		for _, d := range s.Workspace.Deliveries()[said:] {
			if d.Status == http.StatusServiceUnavailable {
				n++
			}
		}
		return n
	}
	db.begin()
	ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the starter to refuse the event twice", func() bool { return refused() >= 2 })
	for path, want := range map[string]int{"/livez": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		status, body := s.starter.Get(path)
		if status != want || status != http.StatusOK && !strings.Contains(body, "database: ") {
			s.t.Errorf("%s, database %s: %d, %s", path, how, status, body)
		}
	}
	db.end()
	s.await("the answer to what was said while the database was "+how, func() bool { return len(s.posts()) == posts+1 })
	if p := s.posts()[posts]; p.ThreadTS != ts {
		s.t.Errorf("%s: answered in thread %s, want %s", how, p.ThreadTS, ts)
	}
	for _, d := range s.Workspace.Deliveries()[said:] { // status 0: Slack timed out, as it does when the machine stalls
		if d.Status != http.StatusServiceUnavailable && d.Status != http.StatusOK && d.Status != 0 {
			s.t.Errorf("%s: an event was answered with %d, %s after %s", how, d.Status, d.Err, d.Took)
		}
	}
	s.Ready()
	s.never("a second answer", 2*time.Second, func() bool { return len(s.posts()) != posts+1 })
}

// outageDuringModelCall makes the database unavailable while the model writes the reply.
func (s *system) outageDuringModelCall(how string, db outage) {
	s.t.Helper()
	posts, asked := len(s.posts()), len(s.replies())
	begun := make(chan struct{})
	answer := sync.OnceFunc(func() { close(begun) })
	s.t.Cleanup(answer) // before the model's server closes
	s.Model.Handle(func(c llmtest.Call) llmtest.Reply {
		<-begun
		return llmtest.Default(c)
	})
	ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the model to be asked", func() bool { return len(s.replies()) > asked })
	db.begin()
	answer()
	s.never("an answer without the outbox", 3*time.Second, func() bool { return len(s.posts()) > posts })
	db.end()
	s.await("the answer after the database was "+how, func() bool { return len(s.posts()) == posts+1 && s.countOutcomes(s.general, "pending") == 0 })
	s.never("a second answer", 2*time.Second, func() bool { return len(s.posts()) != posts+1 })
	if !slices.ContainsFunc(s.posts(), func(p workspace.Post) bool { return p.ThreadTS == ts }) {
		s.t.Errorf("%s: no answer in thread %s", how, ts)
	}
}
