package workflows

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"myao/activities"
	"myao/internal/conversation"
)

// summary describes each event of a history in a few words, without ids and times, so that
// tests can compare it.
func summary(t *testing.T, h *historypb.History) []string {
	t.Helper()
	c := &summariser{t: t, scheduled: map[int64]*historypb.ActivityTaskScheduledEventAttributes{}}
	for _, e := range h.Events {
		if line := c.describe(e); line != "" {
			c.lines = append(c.lines, line)
		}
	}
	return c.lines
}

type summariser struct {
	t         *testing.T
	scheduled map[int64]*historypb.ActivityTaskScheduledEventAttributes // by event id
	lines     []string
}

func (c *summariser) describe(e *historypb.HistoryEvent) string {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		return c.start(e.GetWorkflowExecutionStartedEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		var s conversation.Signal
		payloads(c.t, e.GetWorkflowExecutionSignaledEventAttributes().GetInput(), &s)
		line := "signal"
		for _, change := range s.Changes {
			line += " " + string(change.Kind)
		}
		return line
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		return "update " + e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetName()
	case enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
		return "upserts its phase"
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		return "timer started"
	case enumspb.EVENT_TYPE_TIMER_FIRED:
		return "timer fired"
	case enumspb.EVENT_TYPE_TIMER_CANCELED:
		return "timer cancelled"
	case enumspb.EVENT_TYPE_MARKER_RECORDED:
		return c.localActivity(e.GetMarkerRecordedEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
		return "task failed: " + e.GetWorkflowTaskFailedEventAttributes().GetCause().String()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		return "cancel requested"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		return "completed"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return "continued as new"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return "canceled"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		return "failed"
	}
	return c.activityEvent(e)
}

func (c *summariser) start(a *historypb.WorkflowExecutionStartedEventAttributes) string {
	if a.GetContinuedExecutionRunId() == "" {
		return "started"
	}
	if a.GetWorkflowType().GetName() != conversation.WorkflowType || a.GetInput() == nil {
		return "continues"
	}
	var in conversation.Input
	payloads(c.t, a.GetInput(), &in)
	if in.State == nil { // it was reset
		return "started"
	}
	return "continues, " + string(in.State.Phase)
}

func (c *summariser) activityEvent(e *historypb.HistoryEvent) string {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		a := e.GetActivityTaskScheduledEventAttributes()
		c.scheduled[e.GetEventId()] = a
		return c.describeScheduled(a)
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
		return "cancels " + c.name(e.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId())
	}
	return ""
}

func (c *summariser) describeScheduled(a *historypb.ActivityTaskScheduledEventAttributes) string {
	line := a.GetActivityType().GetName()
	switch line {
	case "Compose":
		var in activities.ComposeInput
		payloads(c.t, a.GetInput(), &in)
		if in.Addressed {
			line += " addressed"
		}
		if in.Notice {
			line += " notice"
		}
		if in.Stop != "" {
			line += " " + string(in.Stop)
		}
		if in.Round > 0 {
			line += " round " + strconv.Itoa(in.Round)
		}
	case "Settle":
		var in activities.SettleInput
		payloads(c.t, a.GetInput(), &in)
		line += " " + string(in.Outcome)
	}
	return line
}

func (c *summariser) outcome(a *historypb.ActivityTaskCompletedEventAttributes) string {
	switch c.name(a.GetScheduledEventId()) {
	case "Judge":
		var out activities.JudgeOutput
		payloads(c.t, a.GetResult(), &out)
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
		payloads(c.t, a.GetResult(), &out)
		return string(out.Result)
	}
	return "done"
}

// localActivity describes the end of a local activity.
func (c *summariser) localActivity(a *historypb.MarkerRecordedEventAttributes) string {
	if a.GetMarkerName() == "Version" {
		return "Version: "
	}
	var marker struct{ ActivityType string }
	payloads(c.t, a.GetDetails()["data"], &marker)
	if a.GetFailure() != nil {
		return marker.ActivityType + ": failed"
	}
	var out activities.ReplyOutput
	payloads(c.t, a.GetDetails()["result"], &out)
	return marker.ActivityType + ": " + string(out.Result)
}

func (c *summariser) name(scheduled int64) string {
	return c.scheduled[scheduled].GetActivityType().GetName()
}

// inOrder reports whether lines contains wanted in this order, possibly with others in between.
func inOrder(lines, wanted []string) bool {
	for _, line := range lines {
		if len(wanted) > 0 && line == wanted[0] {
			wanted = wanted[1:]
		}
	}
	return len(wanted) == 0
}

// openTimers returns the largest number of timers that were open at the same time.
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

func TestInOrder(t *testing.T) {
	t.Parallel()
	lines := strings.Fields("a b c b d")
	for wanted, want := range map[string]bool{"": true, "a": true, "b b d": true, "a b c b d": true, "d a": false, "b b b": false, "e": false} {
		if got := inOrder(lines, strings.Fields(wanted)); got != want {
			t.Errorf("%q: %v", wanted, got)
		}
	}
	if !slices.Equal(lines, strings.Fields("a b c b d")) {
		t.Error("lines was changed")
	}
}
