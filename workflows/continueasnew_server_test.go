package workflows

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/test/testserver"
)

// Runs continue as new every few messages, while signals and orders come one by one, in bursts
// and without a pause. Nothing is lost, and nothing is done twice.
func TestNoSignalIsLostAroundContinueAsNew(t *testing.T) {
	t.Parallel()
	// Forty events are a handful of messages, and fewer than the signals of a conversation. The default of 4,096
	// would take an hour.
	server := testserver.StartTemporal(t, "", 0, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40")
	s := newServerAt(t, server.Address)
	// Work takes long enough for something to come meanwhile.
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return no().after(5 * time.Millisecond) }
	s.compose = func(activities.ComposeInput) ending[activities.ReplyOutput] {
		return result(conversation.Done).after(20 * time.Millisecond)
	}
	t.Cleanup(s.startWorkers(worker.Options{}))

	const messages = 50
	// Nothing closes, so the final state has the changes of all runs.
	open := conversation.Policy{MaxWait: 1, MaxDelay: 10, IdleClose: 3600}
	random := rand.New(rand.NewPCG(4, 4))
	gaps := func(atMost int) (ms [messages]int) {
		for i := range ms {
			ms[i] = random.IntN(atMost)
		}
		return ms
	}
	cases := []struct {
		name string
		chat.Conversation
		kind  conversation.Kind
		waits bool // for the answer to each message before the next
		gaps  [messages]int
		// orders is the number of an operator's orders, one after the other.
		orders int
	}{
		{"one by one", chat.Conversation{Team: "T1", Channel: "C1", Thread: ts(1)}, conversation.Addressed, true, gaps(60), 0},
		{"one by one again", chat.Conversation{Team: "T1", Channel: "C1", Thread: ts(2)}, conversation.Addressed, true, gaps(20), 0},
		{"without a pause", chat.Conversation{Team: "T1", Channel: "C1", Thread: ts(3)}, conversation.Addressed, false, gaps(30), 15},
		{"ambient", chat.Conversation{Team: "T1", Channel: "C2"}, conversation.Said, false, gaps(50), 15},
		{"ambient again", chat.Conversation{Team: "T1", Channel: "C3"}, conversation.Said, false, gaps(120), 0},
		{"in bursts", chat.Conversation{Team: "T1", Channel: "D4"}, conversation.Addressed, false, gaps(3), 0},
	}
	var group sync.WaitGroup
	for _, c := range cases {
		done := map[conversation.Kind]string{conversation.Addressed: " post ", conversation.Said: " judge "}[c.kind]
		group.Go(func() {
			for n := range messages {
				m := 1000 + n
				err := s.send(c.Conversation, open, change(m, c.kind))
				if err == nil && (c.waits || n == messages-1) {
					err = s.awaitLine(c.ID() + done + ts(m))
				}
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
					return
				}
				pause(c.gaps[n])
				if c.name == "in bursts" && n%10 == 9 {
					pause(150)
				}
			}
		})
	}
	for _, c := range cases {
		group.Go(func() {
			for n := range c.orders {
				if err := s.updateWithStart(c.Conversation, conversation.UpdateUnmute, carol); err != nil {
					t.Errorf("order %d in %s: %v", n, c.name, err)
				}
			}
		})
	}
	group.Wait()

	histories := s.histories(len(cases))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			state := s.state(c.Conversation)
			var missing []string
			for n := range messages {
				if id := change(1000+n, c.kind).ID(); !slices.Contains(state.Seen, id) {
					missing = append(missing, id)
				}
			}
			if len(missing) > 0 || len(state.Seen) != messages {
				t.Errorf("lost: %q, of %d that were received", missing, len(state.Seen))
			}
			if len(state.Pending)+len(state.Answering)+len(state.Later) > 0 {
				t.Errorf("pending %v, answering %v, later %v; want none", state.Pending, state.Answering, state.Later)
			}
			count := map[string]int{}
			for _, line := range s.lines(c.Conversation) {
				count[line]++
			}
			for line, n := range count {
				if n > 1 && line != conversation.UpdateUnmute {
					t.Errorf("%s: %d times", line, n)
				}
			}
			if c.waits {
				for n := range messages {
					for _, what := range []string{"compose ", "post "} {
						if count[what+ts(1000+n)] != 1 {
							t.Errorf("%s%s: %d times", what, ts(1000+n), count[what+ts(1000+n)])
						}
					}
				}
			}
			if count[conversation.UpdateUnmute] != c.orders {
				t.Errorf("%d orders were executed, want %d", count[conversation.UpdateUnmute], c.orders)
			}
		})
	}
	continued, bounced := map[string]int{}, 0
	for _, h := range histories {
		id := h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
		for _, e := range h.Events {
			switch {
			case e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
				continued[id]++
			case e.GetWorkflowTaskFailedEventAttributes().GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND:
				bounced++
			}
		}
	}
	t.Logf("%d runs: %v continued as new, %d times a signal came at that very moment", len(histories), continued, bounced)
	all := 0
	for _, c := range cases {
		all += continued[c.ID()]
		if continued[c.ID()] == 0 {
			t.Errorf("%s: never continued as new", c.name)
		}
	}
	if all < 12 {
		t.Errorf("%d runs continued as new: too few to test the race", all)
	}
	// A run that has just started has nothing to replay.
	replay(t, slices.DeleteFunc(histories, func(h *historypb.History) bool { return len(h.Events) < 3 }))
}

// lines returns the calls of a conversation's activities.
func (s *server) lines(c chat.Conversation) (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.record {
		if rest, ok := strings.CutPrefix(line, c.ID()+" "); ok {
			lines = append(lines, rest)
		}
	}
	return lines
}

// state queries the conversation's newest run.
func (s *server) state(c chat.Conversation) (state conversation.State) {
	s.t.Helper()
	value, err := s.client.QueryWorkflow(s.t.Context(), c.ID(), "", conversation.QueryName)
	if err == nil {
		err = value.Get(&state)
	}
	if err != nil {
		s.t.Error(fmt.Errorf("query %s: %w", c.ID(), err))
	}
	return state
}
