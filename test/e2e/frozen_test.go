package e2e

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/sandbox/workspace"
	"myao/test/world"
)

// TestFrozenWorker freezes a worker during a post until Temporal has given the reply to another
// worker, and then thaws it. The reply is posted once.
func TestFrozenWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url   func(*testing.T) string
		fault workspace.Fault
	}{
		"after the effect":  {sqlite, workspace.Fault{AfterEffect: true, Delay: 2 * time.Second}},
		"before the effect": {postgres, workspace.Fault{Delay: 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, c.url(t))
			workers := []*world.Program{s.worker, s.Program("worker")}
			workers[1].Start()
			reached, suspended := make(chan struct{}), make(chan struct{})
			reach, resume := sync.OnceFunc(func() { close(reached) }), sync.OnceFunc(func() { close(suspended) })
			t.Cleanup(resume) // before the workspace closes
			c.fault.Method, c.fault.Times = "chat.postMessage", 1
			c.fault.Match = func(workspace.Call) bool {
				reach()
				<-suspended
				return true
			}
			s.Workspace.Faults().Add(c.fault)
			q := s.prepare(step{}, 0)
			q.say(s)
			s.await("the post to be under way", closed(reached))
			frozen := s.poster("thread/T0E2E/"+q.channel+"/"+q.ts, workers)
			frozen.Freeze()
			resume()
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
	events := s.history(id)
	last := events[len(events)-1] // it posts in a local activity, so this is the workflow task's start
	for _, w := range workers {
		if strings.HasPrefix(last.GetWorkflowTaskStartedEventAttributes().GetIdentity(), strconv.Itoa(w.PID())+"@") {
			return w
		}
	}
	s.t.Fatalf("nobody posts in %s: %v", id, last)
	return nil
}
