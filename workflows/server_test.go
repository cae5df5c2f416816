package workflows

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/conversation"
)

// Runs close as soon as they are idle, while signals arrive. Each addressed message is still
// answered once.
func TestNoSignalIsLostAroundTheClose(t *testing.T) {
	s := newServer(t)
	const conversations, messages = 8, 25
	p := conversation.Policy{MaxWait: 60, MaxDelay: 10} // idle_close 0
	var group sync.WaitGroup
	var want []string
	for i := range conversations {
		c := chat.Conversation{Team: "T1", Channel: "C1", Thread: ts(i + 1)}
		random := rand.New(rand.NewPCG(1, uint64(i)))
		for n := range messages {
			m := ts(1000 + n)
			want = append(want, c.ID()+" compose "+m, c.ID()+" post "+m)
		}
		group.Go(func() {
			for n := range messages {
				err := s.send(c, p, addressed(1000+n))
				if err == nil {
					err = s.awaitLine(c.ID() + " post " + ts(1000+n))
				}
				if err != nil {
					t.Error(err)
					return
				}
				// The run is about to close. The next signal comes before that, during it or, where the
				// test waits, after it.
				switch n % 4 {
				case 1:
				case 3:
					s.closed(c)
				default:
					pause(random.IntN(200))
				}
			}
		})
	}
	group.Wait()
	for i := range conversations {
		s.closed(chat.Conversation{Team: "T1", Channel: "C1", Thread: ts(i + 1)})
	}
	got := slices.Sorted(slices.Values(s.record))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d activities, want %d; the difference: %v", len(got), len(want), difference(got, want))
	}
	histories := s.histories(conversations + 1)
	late := 0 // signals to a run that had served another
	for _, h := range histories {
		signals := 0
		for _, e := range h.Events {
			if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
				signals++
			}
		}
		late += max(0, signals-1)
	}
	t.Logf("%d runs, %d signals to a run about to close", len(histories), late)
	if late == 0 || len(histories) < 2*conversations {
		t.Errorf("%d runs, %d late signals: the race did not happen", len(histories), late)
	}
	replay(t, histories)
}

// Search attributes and summaries let people find and recognise conversations.
func TestSearchAttributesAndSummaries(t *testing.T) {
	s := newServer(t)
	s.useAttributes()
	s.atOnce = postsAtOnce
	p := conversation.Policy{MinWait: 1, MaxWait: 60, MaxDelay: 10, IdleClose: 1}
	if err := s.send(topLevel, p, said(5)); err != nil {
		t.Fatal(err)
	}
	if err := s.awaitLine(topLevel.ID() + " post " + ts(5)); err != nil {
		t.Fatal(err)
	}
	s.closed(topLevel)
	histories := s.histories(1)
	var summaries []string
	for _, e := range histories[0].Events {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_MARKER_RECORDED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
			summary := ""
			if p := e.GetUserMetadata().GetSummary(); p != nil {
				if err := converter.GetDefaultDataConverter().FromPayload(p, &summary); err != nil {
					t.Error(err)
				}
			}
			summaries = append(summaries, summary)
		}
	}
	want := []string{"C1 · top level", "quiet time", "judge message 5.000000", "compose reply to 5.000000", "post reply to 5.000000", "close when idle"}
	if !slices.Equal(summaries, want) {
		t.Errorf("summaries %q, want %q", summaries, want)
	}
	replay(t, histories)
}

// Each upsert of the search attribute costs as much as an activity. Its initial value costs nothing.
func TestOnlyLastingPhasesAreUpserted(t *testing.T) {
	s := newServer(t)
	s.useAttributes()
	s.judge = func(in activities.JudgeInput) ending[activities.JudgeOutput] {
		switch in.Trigger {
		case ts(1):
			return yes(0)
		case ts(2):
			return yes(1)
		default:
			return no()
		}
	}
	p := conversation.Policy{MinWait: 1, MaxWait: 60, MaxDelay: 10, IdleClose: 1}
	open := p
	open.IdleClose = 4
	send := func(c chat.Conversation, p conversation.Policy, change conversation.Change) {
		t.Helper()
		if err := s.send(c, p, change); err != nil {
			t.Fatal(err)
		}
	}
	at := func(n int) chat.Conversation { return chat.Conversation{Team: "T1", Channel: "C1", Thread: ts(n)} }
	send(at(1), p, said(1))
	send(at(2), p, said(2))
	send(at(3), p, said(3))
	send(at(4), p, addressed(4))
	send(at(5), open, said(5))
	fifth := &pathRunner{server: s, c: at(5)}
	fifth.sees("judge " + ts(5))
	fifth.is(conversation.Idle)
	send(at(5), p, addressed(6))
	for n, want := range map[int]string{
		1: "waiting, idle",                 // judged, and answered at once
		2: "waiting, delaying, idle",       // judged, held back, and answered
		3: "waiting, idle",                 // judged no
		4: "replying, idle",                // addressed
		5: "waiting, idle, replying, idle", // addressed when it was idle
	} {
		s.closed(at(n))
		if got := strings.Join(phasesShown(t, s.history(at(n).ID(), "")), ", "); got != want {
			t.Errorf("conversation %d shows %s, want %s", n, got, want)
		}
	}
	replay(t, s.histories(5))
}

// phasesShown returns the values of the phase's search attribute in order.
func phasesShown(t *testing.T, h *historypb.History) (phases []string) {
	t.Helper()
	for _, e := range h.Events {
		fields := e.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()
		if started := e.GetWorkflowExecutionStartedEventAttributes(); started != nil {
			fields = started.GetSearchAttributes().GetIndexedFields()
		}
		if shown, ok := fields[conversation.AttributePhase]; ok {
			var phase string
			if err := converter.GetDefaultDataConverter().FromPayload(shown, &phase); err != nil {
				t.Error(err)
			}
			phases = append(phases, phase)
		}
	}
	return phases
}

// An activity inherits each unset field of its priority from the workflow, such as the fairness
// key.
func TestPrioritiesOnARealServer(t *testing.T) {
	s := newServer(t)
	const channel = "T1/C1"
	begin := func(kind conversation.Kind) map[string]sdk.Priority {
		c := chat.Conversation{Team: "T1", Channel: "C1", Thread: string(kind)}
		_, err := s.client.SignalWithStartWorkflow(t.Context(), c.ID(), conversation.SignalName,
			conversation.Signal{Policy: fast, Changes: []conversation.Change{change(2, kind)}},
			client.StartWorkflowOptions{TaskQueue: conversation.TaskQueue, Priority: sdk.Priority{FairnessKey: channel}},
			conversation.WorkflowType, conversation.Input{Conversation: c})
		if err == nil {
			err = s.awaitLine(c.ID() + " post " + ts(2))
		}
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		got := map[string]sdk.Priority{}
		for what, info := range s.infos {
			got[what] = info.Priority
		}
		// A post may be dispatched eagerly, without a queue, and then lacks the inherited
		// fields.
		got["post"] = sdk.Priority{PriorityKey: got["post"].PriorityKey}
		s.infos = map[string]activity.Info{}
		return got
	}
	first, inherited := sdk.Priority{PriorityKey: 1, FairnessKey: channel}, sdk.Priority{FairnessKey: channel}
	if got, want := begin(conversation.Addressed), map[string]sdk.Priority{"compose": first, "post": {PriorityKey: 1}}; !maps.Equal(got, want) {
		t.Errorf("addressed: %+v, want %+v", got, want)
	}
	if got, want := begin(conversation.Said), map[string]sdk.Priority{"judge": inherited, "compose": inherited, "post": {}}; !maps.Equal(got, want) {
		t.Errorf("judged: %+v, want %+v", got, want)
	}
}
