package e2e

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"myao/internal/sandbox"
	"myao/internal/store"
	"myao/internal/testserver"
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
			sqlite, sandbox.Fault{AfterEffect: true, Delay: 2 * time.Second},
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
			workers := []*program{s.worker, s.program("worker")}
			workers[1].start()
			c.fault.Method, c.fault.Times = "chat.postMessage", 1
			s.workspace.Faults().Add(c.fault)
			q := s.prepare(step{}, 0)
			q.say(s)
			s.await("the post to be under way", 20*time.Second, func() bool { return c.when(s, q) })
			frozen := s.poster("thread/T0E2E/"+q.channel+"/"+q.ts, workers)
			frozen.signal(syscall.SIGSTOP)
			s.await("the other worker to be done", 120*time.Second, func() bool { return q.ended(s) })
			frozen.signal(syscall.SIGCONT)
			s.never("a second post", 5*time.Second, func() bool { return len(s.posts()) != 1 })
			q.check(s)
			// Both workers continue.
			for n := range 4 {
				s.workspace.Say(q.channel, s.alice.ID, s.mention("and then?"))
				s.await("an answer after that", 30*time.Second, func() bool { return len(s.posts()) == 2+n })
			}
		})
	}
}

// poster returns the worker that is posting a conversation's reply.
func (s *system) poster(id string, workers []*program) *program {
	s.t.Helper()
	var last *historypb.HistoryEvent // it posts in a local activity, so the workflow task's start is the last event
	for events := s.temporal.GetWorkflowHistory(s.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		var err error
		if last, err = events.Next(); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, w := range workers {
		if strings.HasPrefix(last.GetWorkflowTaskStartedEventAttributes().GetIdentity(), strconv.Itoa(w.cmd.Process.Pid)+"@") {
			return w
		}
	}
	s.t.Fatalf("nobody posts in %s: %v", id, last)
	return nil
}

func (p *program) signal(sig syscall.Signal) {
	p.s.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.s.t.Fatal(err)
	}
}
