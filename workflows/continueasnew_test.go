package workflows

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

// continuesAsNew plays a run that continues as new, and returns the next run's input.
func (s *conversationEnv) continuesAsNew() conversation.Input {
	s.t.Helper()
	err := s.play()
	in := continuedInput[conversation.Input](s.t, err, conversation.WorkflowType)
	var next *workflow.ContinueAsNewError
	if errors.As(err, &next) && next.InitialVersioningBehavior != workflow.ContinueAsNewVersioningBehaviorAutoUpgrade {
		s.t.Error("the next run would be pinned to the version of this one")
	}
	if in.State == nil || in.Conversation != s.in.Conversation || in.Attributes != s.in.Attributes {
		s.t.Fatalf("the next input is %+v, state %+v", in, in.State)
	}
	return in
}

// nextRun is the environment of the run that continues one.
func (s *conversationEnv) nextRun(in conversation.Input) *conversationEnv {
	again := newEnvAt(s.t, s.Now(), in)
	again.script = s.script
	return again
}

func TestContinueAsNewKeepsTheState(t *testing.T) {
	s := newEnv(t, topLevel)
	s.in.Attributes = true
	s.SetContinueAsNewSuggested(true)
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(600).after(10 * second) }
	s.says(0, said(1), said(2))
	in := s.continuesAsNew()
	if in.State.Policy != policy || len(in.State.Seen) != 2 {
		t.Errorf("the next state is %+v: want the policy, and both changes in Seen", in.State)
	}
	s.wants("0s closed") // in the very task of the signal

	again := s.nextRun(in)
	again.run()
	again.wants(
		"5m0s judge 2.000000, delay at most 600, /1",
		"15m10s compose 2.000000, /1",
		"15m10s post 2.000000, /1",
		"1h15m10s closed",
	)
}

// In a busy conversation each wake is a signal, and no drain comes back empty.
func TestContinueAsNewUnderASteadyStream(t *testing.T) {
	s := newEnv(t, topLevel)
	for n := range 100 {
		s.says(time.Duration(n)*second, said(n+1))
	}
	s.at(50*second+500*time.Millisecond, func() { s.SetContinueAsNewSuggested(true) })
	in := s.continuesAsNew()
	s.wants("51s closed")
	if n := len(in.State.Pending); n != 52 {
		t.Errorf("%d messages are pending, want the 52 that were received", n)
	}
}

// A run that should continue as new waits for work in flight and starts none. Otherwise a run in
// which one reply follows the other would never end.
func TestARunThatShouldContinueAsNewStartsNoWork(t *testing.T) {
	const busy = 10 * second
	for name, c := range map[string]struct {
		suggested time.Duration
		first     []string
		second    []string
	}{
		"a reply to be posted": {second,
			[]string{"0s compose addressed 1.000000, /1", "10s closed"},
			[]string{"10s post 1.000000, /1", "20s compose addressed 2.000000, /2", "30s post 2.000000, /2", "1h0m40s closed"},
		},
		"one more reply": {11 * second,
			[]string{"0s compose addressed 1.000000, /1", "10s post 1.000000, /1", "20s closed"},
			[]string{"20s compose addressed 2.000000, /2", "30s post 2.000000, /2", "1h0m40s closed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t, thread)
			s.compose = func(activities.ComposeInput) ending[activities.ReplyOutput] {
				return result(conversation.Done).after(busy)
			}
			s.post = func(activities.PostInput) ending[activities.ReplyOutput] {
				return result(conversation.Done).after(busy)
			}
			s.says(0, addressed(1))
			s.says(2*second, addressed(2)) // each of these starts a workflow task
			s.says(3*second, addressed(2))
			s.at(c.suggested, func() { s.SetContinueAsNewSuggested(true) })
			in := s.continuesAsNew()
			s.wants(c.first...)
			again := s.nextRun(in)
			again.run()
			again.wants(c.second...)
		})
	}
}

func TestAJudgmentIsDeferredToTheNextRun(t *testing.T) {
	s := newEnv(t, topLevel)
	s.settle = func() ending[any] { return ending[any]{}.after(minute) }
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(0).after(minute) }
	quick := policy
	quick.FollowUpWait = 0
	followUp := conversation.Change{TS: ts(2), Kind: conversation.Said, FollowUp: true}
	s.says(0, said(1))
	s.at(5*minute+second, func() { s.SetTargetWorkerDeploymentVersionChanged(true) })
	s.at(5*minute+2*second, func() { s.signal(quick, followUp) })
	// The decision to continue as new stands, or nobody would start the deferred work.
	s.at(5*minute+3*second, func() { s.SetTargetWorkerDeploymentVersionChanged(false) })
	in := s.continuesAsNew()
	s.wants(
		"5m0s judge 1.000000, delay at most 600, /1",
		`5m2s settle withdrawn by "2.000000", /1`,
		"6m2s closed",
	)
	again := s.nextRun(in)
	again.run()
	again.wants(
		"6m2s judge 2.000000, delay at most 600, /2",
		"7m2s compose 2.000000, /2",
		"7m2s post 2.000000, /2",
		"1h7m2s closed",
	)
}

// A deferred reply is withdrawn like one in flight.
func TestADeferredReplyIsWithdrawn(t *testing.T) {
	s := newEnv(t, thread)
	s.script.order = func() ending[any] { return ending[any]{}.after(minute) } // keeps the run open
	s.says(0, said(1))
	s.at(30*second, func() { s.SetContinueAsNewSuggested(true) })
	s.update(minute, conversation.UpdateAnswerNow, carol)
	s.says(minute+10*second, addressed(2))
	in := s.continuesAsNew()
	s.wants(
		"1m0s answer-now done: <nil>",
		"1m0s write down answer-now by carol",
		`1m10s settle withdrawn by "2.000000", /1`,
		"2m0s closed",
	)
	again := s.nextRun(in)
	again.run()
	again.wants(
		"2m0s compose addressed 2.000000, /2",
		"2m0s post 2.000000, /2",
		"1h2m0s closed",
	)
}

// A quiescent conversation moves to another version of the workers when something wakes it.
func TestARunMovesToAnotherVersion(t *testing.T) {
	s := newEnv(t, topLevel)
	s.says(0, said(1))
	s.at(minute, func() { s.SetTargetWorkerDeploymentVersionChanged(true) })
	s.says(2*minute, said(2))
	in := s.continuesAsNew()
	s.wants("2m0s closed")
	if got, want := in.State.DueAt, noon.Add(7*minute); !got.Equal(want) {
		t.Errorf("due at %s, want %s: the wait goes on", got, want)
	}
}

func TestMemoryAndCatchUpMoveToAnotherVersion(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{})
	c.SetTargetWorkerDeploymentVersionChanged(true)
	if in := continuedInput[MemoryInput](t, c.run(Memory, MemoryInput{}), "Memory"); !in.Channels {
		t.Errorf("continues with %+v, want the channels", in)
	}
	var next *workflow.ContinueAsNewError
	if !errors.As(c.GetWorkflowError(), &next) || next.InitialVersioningBehavior != workflow.ContinueAsNewVersioningBehaviorAutoUpgrade {
		t.Errorf("ended with %+v", next)
	}
	// A catch-up continues as new after each part.
	many := make([]string, channelsPerRun+1)
	for i := range many {
		many[i] = ts(i)
	}
	c = newBackgroundEnv(t, workspace{members: many})
	in := continuedInput[CatchUpAllInput](t, c.run(CatchUpAll, CatchUpAllInput{}), "CatchUpAll")
	if !errors.As(c.GetWorkflowError(), &next) || next.InitialVersioningBehavior != workflow.ContinueAsNewVersioningBehaviorAutoUpgrade {
		t.Errorf("ended with %+v", next)
	}
	if want := many[channelsPerRun:]; !reflect.DeepEqual(in.Left, want) {
		t.Errorf("leaves %q, want %q", in.Left, want)
	}
}
