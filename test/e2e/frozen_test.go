package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"myao/internal/sandbox"
	"myao/internal/store"
	"myao/internal/testserver"
	"myao/test/world"
)

// TestFrozenWorker freezes a worker during a post until Temporal has given the reply to another
// worker, and then thaws it. The reply is posted once.
func TestFrozenWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url   func(*testing.T) string
		fault sandbox.Fault
		when  func(*system, *question) bool
	}{
		"after the effect": {
			func(t *testing.T) string { return world.SQLite(t) }, sandbox.Fault{AfterEffect: true, Delay: 2 * time.Second},
			func(s *system, _ *question) bool { return len(s.posts()) == 1 },
		},
		"before the effect": {
			func(t *testing.T) string { return testserver.Postgres(t) }, sandbox.Fault{Delay: 2 * time.Second},
			func(s *system, q *question) bool {
				p := q.outbox(s)
				return len(p) == 1 && p[0].State == store.Sending
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, c.url(t))
			workers := []*world.Program{s.worker, s.Program("worker")}
			workers[1].Start()
			c.fault.Method, c.fault.Times = "chat.postMessage", 1
			s.Workspace.Faults().Add(c.fault)
			q := s.prepare(step{}, 0)
			q.say(s)
			s.await("the post to be under way", func() bool { return c.when(s, q) })
			frozen := s.poster("thread/T0E2E/"+q.channel+"/"+q.ts, workers)
			frozen.Freeze()
			s.await("the other worker to be done", func() bool { return q.ended(s) })
			frozen.Thaw()
			s.never("a second post", 5*time.Second, func() bool { return len(s.posts()) != 1 })
			q.check(s)
			// Both workers continue.
			for n := range 4 {
				s.Workspace.Say(q.channel, s.alice.ID, s.mention("and then?"))
				s.await("an answer after that", func() bool { return len(s.posts()) == 2+n })
			}
		})
	}
}

// poster returns the worker that is posting a conversation's reply.
func (s *system) poster(id string, workers []*world.Program) *world.Program {
	s.t.Helper()
	var last *historypb.HistoryEvent // it posts in a local activity, so the workflow task's start is the last event
	for events := s.Client.GetWorkflowHistory(s.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		var err error
		if last, err = events.Next(); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, w := range workers {
		if strings.HasPrefix(last.GetWorkflowTaskStartedEventAttributes().GetIdentity(), strconv.Itoa(w.PID())+"@") {
			return w
		}
	}
	s.t.Fatalf("nobody posts in %s: %v", id, last)
	return nil
}
