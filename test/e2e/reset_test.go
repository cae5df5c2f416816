package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"myao/internal/conversation"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// toFirstTask returns the event id of the first completed workflow task.
func toFirstTask(history []*historypb.HistoryEvent) int64 {
	for _, e := range history {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return e.GetEventId()
		}
	}
	return 0
}

// toPostTask returns the event id of the workflow task that posted the reply.
func toPostTask(history []*historypb.HistoryEvent) int64 {
	for _, e := range history {
		if a := e.GetMarkerRecordedEventAttributes(); a != nil {
			return a.GetWorkflowTaskCompletedEventId()
		}
	}
	return 0
}

// history returns the events of a workflow's newest run.
func (s *system) history(id string) (history []*historypb.HistoryEvent) {
	s.t.Helper()
	for events := s.Client.GetWorkflowHistory(s.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		testserver.Must(s.t, err)
		history = append(history, e)
	}
	return history
}

// reset does the same as `temporal workflow reset`.
func (s *system) reset(id string, to func([]*historypb.HistoryEvent) int64) {
	s.t.Helper()
	event := to(s.history(id))
	if event == 0 {
		s.t.Fatalf("%s has nothing to be reset to", id)
	}
	run, err := s.Client.DescribeWorkflowExecution(s.t.Context(), id, "")
	testserver.Must(s.t, err)
	if _, err := s.Client.ResetWorkflowExecution(s.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:         s.Namespace,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run.GetWorkflowExecutionInfo().GetExecution().GetRunId()},
		Reason:            "a test", RequestId: uuid.NewString(), WorkflowTaskFinishEventId: event,
	}); err != nil {
		s.t.Fatal(err)
	}
}

// phase returns a conversation's phase, or "" if the query fails.
func (s *system) phase(id string) conversation.Phase {
	value, err := s.Client.QueryWorkflow(s.t.Context(), id, "", conversation.QueryName)
	if err != nil {
		return ""
	}
	var state conversation.State
	testserver.Must(s.t, value.Get(&state))
	return state.Phase
}

// TestResetByAnOperator resets conversations to before they answered. Nothing is posted twice,
// the ledger stays correct, and the next message is answered.
func TestResetByAnOperator(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.Judgment() && strings.Contains(c.System, "hopeless"):
			return llmtest.Fail(400)
		case c.Judgment() && strings.Contains(c.System, "slowly"):
			return llmtest.Yes("asked", 1, 30)
		case c.Judgment():
			return llmtest.Yes("asked", 1, 0)
		}
		return llmtest.Text("answer")
	}))
	cases := []*resetCase{
		{name: "a mention, to its beginning", to: toFirstTask, paid: 1},
		{name: "a mention, to its post", to: toPostTask, paid: 1},
		{name: "two mentions, to the beginning", twice: true, to: toFirstTask, paid: 2},
		{name: "a judged question, to its beginning", question: question{step: step{judged: true}}, to: toFirstTask, paid: 2},
		{name: "a judged question, to its post", question: question{step: step{judged: true}}, to: toPostTask, paid: 2},
		{name: "two judged questions, to the beginning", question: question{step: step{judged: true}}, twice: true, to: toFirstTask, paid: 4},
		{name: "a delayed reply", question: question{step: step{judged: true}}, suffix: " slowly", delayed: true, to: toFirstTask, paid: 2},
		{name: "a failed judgment", question: question{step: step{judged: true, judgmentFails: true}}, to: toFirstTask, paid: 2},
	}
	for i, c := range cases {
		c.question = *s.prepare(c.step, i)
		c.text += c.suffix
		c.say(s)
		c.id = "thread/T0E2E/" + c.channel + "/" + c.ts
		if c.judged {
			c.id = "channel/T0E2E/" + c.channel
		}
		c.wantPosts = 1 - min(1, strings.Count(c.text, "hopeless"))
	}
	for _, c := range cases { // first, because the delay ends
		if c.delayed {
			s.await("the delay of "+c.name, func() bool { return s.phase(c.id) == conversation.Delaying })
			s.reset(c.id, c.to)
		}
	}
	for _, c := range cases {
		if c.twice {
			s.await("the first answer of "+c.name, func() bool { return c.settled(s, 1) })
			c.askAgain(s)
			c.wantPosts++
		}
	}
	for _, c := range cases {
		if !c.delayed {
			s.await("the end of "+c.name, func() bool { return c.settled(s, c.wantPosts) && s.phase(c.id) == conversation.Idle })
			s.reset(c.id, c.to)
		}
	}
	for _, c := range cases {
		s.await("the end of "+c.name+" after the reset", func() bool {
			return c.settled(s, c.wantPosts) && s.phase(c.id) == conversation.Idle && c.calls(s) >= c.paid
		})
	}
	s.never("something posted twice", 4*time.Second, func() bool {
		return slices.ContainsFunc(cases, func(c *resetCase) bool { return len(c.posts(s)) != c.wantPosts })
	})
	for _, c := range cases {
		c.checkLedger(s)
		if got := c.calls(s); got != c.paid {
			t.Errorf("%s: the model was paid %d times, want %d", c.name, got, c.paid)
		}
		if !c.judgmentFails {
			c.askAgain(s)
			c.wantPosts++
		}
	}
	for _, c := range cases {
		s.await("what is said after the reset of "+c.name, func() bool { return c.settled(s, c.wantPosts) })
		c.checkLedger(s)
	}
}

// resetCase is a conversation to reset.
type resetCase struct {
	question
	name           string
	suffix         string // more of the question
	twice, delayed bool
	to             func([]*historypb.HistoryEvent) int64
	paid           int // calls of the model, including those after the reset

	id        string
	wantPosts int // posts
}

// askAgain asks again in the same conversation.
func (c *resetCase) askAgain(s *system) {
	if c.judged {
		s.Workspace.Say(c.channel, s.alice.ID, c.text+" and then?")
		return
	}
	s.Workspace.Say(c.channel, s.alice.ID, s.mention(c.text+" and then?"), workspace.InThread(c.ts))
}

func (c *resetCase) posts(s *system) []workspace.Post { return s.postsIn(c.channel) }

// calls counts the calls of the model for the conversation.
func (c *resetCase) calls(s *system) (n int) {
	for _, call := range s.Model.Calls() {
		if strings.Contains(call.System, c.text) {
			n++
		}
	}
	return n
}

// settled reports whether there are this many posts and no pending decision.
func (c *resetCase) settled(s *system, posts int) bool {
	rows := c.decisions(s)
	return len(c.posts(s)) == posts && len(rows) > 0 && !slices.ContainsFunc(rows, func(d store.Decision) bool { return d.Outcome == "pending" })
}

// checkLedger checks that the ledger has exactly one posted decision for each post.
func (c *resetCase) checkLedger(s *system) {
	s.t.Helper()
	rows := c.decisions(s)
	by := map[string]bool{}
	posted := 0
	for _, d := range rows {
		if d.Outcome == "posted" {
			posted++
			by[d.OutcomeBy] = true
			if !d.ShouldRespond || d.Model == "" {
				s.t.Errorf("%s: posted by %+v", c.name, d)
			}
		}
	}
	if posted != c.wantPosts || len(by) != c.wantPosts || len(c.posts(s)) != c.wantPosts {
		s.t.Errorf("%s: %d posts, want %d; the ledger has %+v", c.name, len(c.posts(s)), c.wantPosts, rows)
	}
}
