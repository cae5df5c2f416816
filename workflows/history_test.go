package workflows

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"myao/activities"
	"myao/internal/conversation"
)

// course tells a history in a few words an event, without ids and times, so that a
// test can say what has to be in it.
func summary(t *testing.T, h *historypb.History) []string {
	t.Helper()
	c := &summariser{t: t, asked: map[int64]*historypb.ActivityTaskScheduledEventAttributes{}}
	for _, e := range h.Events {
		if said := c.tell(e); said != "" {
			c.story = append(c.story, said)
		}
	}
	return c.story
}

type summariser struct {
	t     *testing.T
	asked map[int64]*historypb.ActivityTaskScheduledEventAttributes // by event id
	story []string
}

func (c *summariser) tell(e *historypb.HistoryEvent) string {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		return c.start(e.GetWorkflowExecutionStartedEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		var s conversation.Signal
		c.read(e.GetWorkflowExecutionSignaledEventAttributes().GetInput(), &s)
		heard := "hears"
		for _, change := range s.Changes {
			heard += " " + string(change.Kind)
		}
		return heard
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		return "order " + e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetName()
	case enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
		return "shows its phase"
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		return "sets a timer"
	case enumspb.EVENT_TYPE_TIMER_FIRED:
		return "the timer fires"
	case enumspb.EVENT_TYPE_TIMER_CANCELED:
		return "takes the timer back"
	case enumspb.EVENT_TYPE_MARKER_RECORDED:
		return c.within(e.GetMarkerRecordedEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
		return "a task fails: " + e.GetWorkflowTaskFailedEventAttributes().GetCause().String()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		return "is called off"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		return "completes"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return "hands over"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return "ends as canceled"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		return "ends as failed"
	}
	return c.work(e)
}

func (c *summariser) start(a *historypb.WorkflowExecutionStartedEventAttributes) string {
	if a.GetContinuedExecutionRunId() == "" {
		return "starts"
	}
	if a.GetWorkflowType().GetName() != conversation.WorkflowType || a.GetInput() == nil {
		return "takes over"
	}
	var in conversation.Input
	c.read(a.GetInput(), &in)
	if in.State == nil { // it was reset
		return "starts"
	}
	return "takes over, " + string(in.State.Phase)
}

func (c *summariser) work(e *historypb.HistoryEvent) string {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		a := e.GetActivityTaskScheduledEventAttributes()
		c.asked[e.GetEventId()] = a
		return c.ask(a)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		if a := e.GetActivityTaskStartedEventAttributes(); a.GetAttempt() > 1 {
			return c.name(a.GetScheduledEventId()) + ": attempt " + strconv.Itoa(int(a.GetAttempt()))
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := e.GetActivityTaskCompletedEventAttributes()
		return c.name(a.GetScheduledEventId()) + ": " + c.outcome(a)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		return c.name(e.GetActivityTaskFailedEventAttributes().GetScheduledEventId()) + ": failed"
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
		return "calls back " + c.name(e.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId())
	}
	return ""
}

func (c *summariser) ask(a *historypb.ActivityTaskScheduledEventAttributes) string {
	said := a.GetActivityType().GetName()
	switch said {
	case "Compose":
		var in activities.ComposeInput
		c.read(a.GetInput(), &in)
		if in.Addressed {
			said += " addressed"
		}
		if in.Notice {
			said += " notice"
		}
	case "Settle":
		var in activities.SettleInput
		c.read(a.GetInput(), &in)
		said += " " + string(in.Outcome)
	}
	return said
}

func (c *summariser) outcome(a *historypb.ActivityTaskCompletedEventAttributes) string {
	switch c.name(a.GetScheduledEventId()) {
	case "Judge":
		var out activities.JudgeOutput
		c.read(a.GetResult(), &out)
		switch d := out.Verdict.DelaySeconds; {
		case !out.Verdict.ShouldRespond:
			return "no"
		case d != nil && *d > 0:
			return "yes, later"
		default:
			return "yes"
		}
	case "Compose", "Post":
		var out activities.ReplyOutput
		c.read(a.GetResult(), &out)
		return string(out.Result)
	}
	return "done"
}

// within is how an activity ended that was carried out within a workflow task.
func (c *summariser) within(a *historypb.MarkerRecordedEventAttributes) string {
	var marker struct{ ActivityType string }
	c.read(a.GetDetails()["data"], &marker)
	if a.GetFailure() != nil {
		return marker.ActivityType + ": failed"
	}
	var out activities.ReplyOutput
	c.read(a.GetDetails()["result"], &out)
	return marker.ActivityType + ": " + string(out.Result)
}

func (c *summariser) name(scheduled int64) string {
	return c.asked[scheduled].GetActivityType().GetName()
}

func (c *summariser) read(p *commonpb.Payloads, into any) {
	if err := converter.GetDefaultDataConverter().FromPayloads(p, into); err != nil {
		c.t.Error(err)
	}
}

// holds reports whether the words are told in this order, others among them or not.
func inOrder(story, words []string) bool {
	for _, said := range story {
		if len(words) > 0 && said == words[0] {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// openTimers is the most timers that were open at once.
func openTimers(h *historypb.History) int {
	open, most := 0, 0
	for _, e := range h.Events {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_TIMER_STARTED:
			open++
		case enumspb.EVENT_TYPE_TIMER_FIRED, enumspb.EVENT_TYPE_TIMER_CANCELED:
			open--
		}
		most = max(most, open)
	}
	return most
}

func TestHolds(t *testing.T) {
	t.Parallel()
	story := strings.Fields("a b c b d")
	for words, want := range map[string]bool{"": true, "a": true, "b b d": true, "a b c b d": true, "d a": false, "b b b": false, "e": false} {
		if got := inOrder(story, strings.Fields(words)); got != want {
			t.Errorf("%q: %v", words, got)
		}
	}
	if !slices.Equal(story, strings.Fields("a b c b d")) {
		t.Error("the story was changed")
	}
}
