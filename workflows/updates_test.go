package workflows

import (
	"slices"
	"strings"
	"testing"
	"time"

	"myao/activities"
	"myao/internal/conversation"
)

var carol = conversation.Order{By: "carol"}

func TestAnOrderNamesWhoGaveIt(t *testing.T) {
	for name, then := range map[string][]string{
		conversation.UpdateAnswerNow: {`5m1s settle overruled by "carol", /1`, "5m1s compose 1.000000, /2", "5m1s post 1.000000, /2"},
		conversation.UpdateDrop:      {`5m1s settle dropped by "carol", /1`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t, topLevel)
			s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return no().after(10 * second) }
			s.says(0, said(1))
			s.update(5*minute+second, name, carol)
			s.run()
			before := []string{
				"5m0s judge 1.000000, delay at most 600, /1", "5m1s " + name + " done: <nil>", "5m1s write down " + name + " by carol",
			}
			s.wants(slices.Concat(before, then, []string{"1h5m1s closed"})...)
		})
	}
}

func TestOrdersThatDoNotApplyAreRejected(t *testing.T) {
	s := newEnv(t, thread)
	s.post = func(activities.PostInput) ending[activities.ReplyOutput] {
		return result(conversation.Done).after(minute)
	}
	s.says(0, addressed(1)) // it posts until 1m0s, and is then idle
	s.update(1*second, conversation.UpdateDrop, carol)
	s.update(2*second, conversation.UpdateAnswerNow, carol)
	s.update(2*minute, conversation.UpdateDrop, carol)
	s.update(3*minute, conversation.UpdateAnswerNow, carol)
	s.update(4*minute, conversation.UpdateMute, conversation.Order{})
	s.update(5*minute, conversation.UpdateUnmute, conversation.Order{})
	s.update(6*minute, conversation.UpdateSnooze, conversation.Order{Seconds: 5})
	s.update(7*minute, conversation.UpdateSnooze, carol)
	s.update(8*minute, conversation.UpdateSnooze, conversation.Order{By: "carol", Seconds: int(conversation.MaxSnooze/time.Second) + 1})
	s.update(9*minute, conversation.UpdateDrop, conversation.Order{})
	s.update(10*minute, conversation.UpdateAnswerNow, conversation.Order{})
	s.run()
	s.wants(
		"0s compose addressed 1.000000, /1",
		"0s post 1.000000, /1",
		"1s drop rejected: nothing waits here: the conversation is replying",
		"2s answer-now rejected: nothing waits here: the conversation is replying",
		"2m0s drop rejected: nothing waits here: the conversation is idle",
		"3m0s answer-now rejected: nothing waits here: the conversation is idle",
		"4m0s mute rejected: mute: by is empty: name who gives the order",
		"5m0s unmute rejected: unmute: by is empty: name who gives the order",
		"6m0s snooze rejected: snooze: by is empty: name who gives the order",
		"7m0s snooze rejected: snooze: seconds is 0; it must be from 1 to 31622400",
		"8m0s snooze rejected: snooze: seconds is 31622401; it must be from 1 to 31622400",
		"9m0s drop rejected: drop: by is empty: name who gives the order",
		"10m0s answer-now rejected: answer-now: by is empty: name who gives the order",
		"1h1m0s closed",
	)
}

func TestMuteAndSnoozeDropWhatIsPending(t *testing.T) {
	s := newEnv(t, topLevel)
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(600) }
	s.script.order = func() ending[any] { return ending[any]{}.after(2 * second) }
	s.says(0, said(1))
	s.update(6*minute, conversation.UpdateMute, carol)
	s.says(7*minute, said(2))
	s.update(8*minute, conversation.UpdateSnooze, conversation.Order{By: "dave", Seconds: 90})
	s.says(9*minute, said(3))
	s.update(10*minute, conversation.UpdateUnmute, carol)
	s.run()
	s.wants(
		"5m0s judge 1.000000, delay at most 600, /1",
		"6m0s write down mute by carol, for ever",
		"6m2s mute done: <nil>",
		`6m2s settle dropped by "carol", /1`,
		"8m0s write down snooze by dave, for 1m30s",
		"8m2s snooze done: <nil>",
		"10m0s write down unmute by carol",
		"10m2s unmute done: <nil>", // drops nothing
		"14m0s judge 3.000000, delay at most 600, /2",
		"24m0s compose 3.000000, /2",
		"24m0s post 3.000000, /2",
		"1h24m0s closed",
	)
}

// A mute also drops the messages that came while a reply was composed.
func TestAMuteDropsLaterMessages(t *testing.T) {
	s := newEnv(t, thread)
	s.compose = func(activities.ComposeInput) ending[activities.ReplyOutput] {
		return result(conversation.Done).after(minute)
	}
	s.says(0, addressed(1))
	s.says(second, addressed(2))
	s.says(2*second, said(3))
	s.update(3*second, conversation.UpdateMute, carol)
	s.update(4*second, conversation.UpdateUnmute, carol)
	s.run()
	s.wants(
		"0s compose addressed 1.000000, /1",
		"3s write down mute by carol, for ever",
		"3s mute done: <nil>",
		`3s settle dropped by "carol", /1`,
		`3s settle dropped by "carol", /2`,
		"4s write down unmute by carol",
		"4s unmute done: <nil>",
		"1h0m3s closed",
	)
}

func TestASilenceThatCannotBeRecordedFailsAndDropsNothing(t *testing.T) {
	for kind, o := range map[string]conversation.Order{
		conversation.UpdateMute: carol, conversation.UpdateSnooze: {By: "carol", Seconds: 90}, conversation.UpdateUnmute: carol,
	} {
		t.Run(kind, func(t *testing.T) {
			s := newEnv(t, topLevel)
			s.script.order = func() ending[any] { return ending[any]{err: errModel} }
			s.says(0, said(1))
			s.update(minute, kind, o)
			s.run()
			var reported bool
			for _, line := range s.record {
				reported = reported || strings.Contains(line, kind+" done") && strings.Contains(line, errModel.Error())
			}
			if !reported {
				t.Errorf("the operator got no error:\n%s", strings.Join(s.record, "\n"))
			}
			if last := s.record[len(s.record)-2]; last != "5m0s judge 1.000000, delay at most 600, /1" {
				t.Errorf("the last line is %q, want the judgment in time", last)
			}
		})
	}
}

// The last order holds, however long the record of the one before takes.
func TestMutesAndUnmutesKeepTheirOrder(t *testing.T) {
	s := newEnv(t, topLevel)
	s.script.order = func() ending[any] { return ending[any]{}.after(10 * second) }
	s.update(0, conversation.UpdateMute, carol)
	s.update(second, conversation.UpdateUnmute, conversation.Order{By: "dave"})
	s.run()
	s.wants(
		"0s write down mute by carol, for ever",
		"10s mute done: <nil>",
		"10s write down unmute by dave",
		"20s unmute done: <nil>",
		"20s closed",
	)
}

// An order is executed even if its record has to wait.
func TestAnAnswerDoesNotWaitForTheRecordOfTheOrder(t *testing.T) {
	s := newEnv(t, topLevel)
	s.script.order = func() ending[any] { return ending[any]{}.after(2 * time.Hour) }
	s.says(0, said(1))
	s.update(minute, conversation.UpdateAnswerNow, carol)
	s.run()
	s.wants(
		"1m0s answer-now done: <nil>",
		"1m0s write down answer-now by carol",
		"1m0s compose 1.000000, /1",
		"1m0s post 1.000000, /1",
		"2h1m0s closed", // the run stays open until the order is recorded
	)
}

func TestStateQueryAndDetails(t *testing.T) {
	s := newEnv(t, thread)
	s.says(0, said(1), said(2))
	var shown string
	var state conversation.State
	s.at(minute, func() { state, shown = s.state() })
	s.run()
	want := "**waiting** for quiet: judgment due 12:05:00 UTC, 2 messages pending"
	if state.Phase != conversation.Waiting || state.Conversation != thread || shown != want {
		t.Errorf("%s of %v, %q, want %q", state.Phase, state.Conversation, shown, want)
	}
}

// A cancelled run drops what is pending, and ends when nothing is in flight.
func TestCancelledConversation(t *testing.T) {
	cancelAt := func(s *conversationEnv, at time.Duration) { s.at(at, s.CancelWorkflow) }
	t.Run("while it waits for quiet", func(t *testing.T) {
		s := newEnv(t, topLevel)
		s.says(0, said(1))
		cancelAt(s, minute)
		s.ends("canceled")
		s.wants("1m0s write down drop by cancellation", "1m0s closed")
	})
	t.Run("while it judges", func(t *testing.T) {
		s := newEnv(t, topLevel)
		s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(0).after(minute) }
		s.settle = func() ending[any] { return ending[any]{}.after(second) }
		s.says(0, said(1))
		cancelAt(s, 5*minute+second)
		s.ends("canceled")
		s.wants(
			"5m0s judge 1.000000, delay at most 600, /1",
			"5m1s write down drop by cancellation",
			`5m1s settle dropped by "cancellation", /1`,
			"5m2s closed",
		)
	})
	t.Run("while it defers a post to the next run", func(t *testing.T) {
		s := newEnv(t, thread)
		s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(0).after(minute) }
		s.settle = func() ending[any] { return ending[any]{}.after(minute) }
		s.compose = func(activities.ComposeInput) ending[activities.ReplyOutput] {
			return result(conversation.Done).after(10 * second)
		}
		s.says(0, said(1))
		s.says(5*minute+second, addressed(2))
		s.at(5*minute+2*second, func() { s.SetContinueAsNewSuggested(true) })
		s.says(5*minute+3*second, addressed(2)) // starts a workflow task
		cancelAt(s, 5*minute+30*second)
		s.ends("canceled")
		s.wants(
			"5m0s judge 1.000000, delay at most 600, /1",
			`5m1s settle withdrawn by "2.000000", /1`,
			"5m1s compose addressed 2.000000, /2",
			"5m30s post 2.000000, /2",
			"6m1s closed",
		)
	})
	t.Run("while it posts", func(t *testing.T) {
		s := newEnv(t, thread)
		s.post = func(activities.PostInput) ending[activities.ReplyOutput] {
			return result(conversation.Done).after(10 * second)
		}
		s.says(0, addressed(1))
		s.says(2*second, addressed(2))
		cancelAt(s, 3*second)
		s.ends("canceled")
		s.wants(
			"0s compose addressed 1.000000, /1",
			"0s post 1.000000, /1",
			"10s write down drop by cancellation",
			`10s settle dropped by "cancellation", /2`,
			"10s closed",
		)
	})
	t.Run("while it is idle", func(t *testing.T) {
		s := newEnv(t, thread)
		s.says(0, addressed(1))
		cancelAt(s, minute)
		s.ends("canceled")
		s.wants("0s compose addressed 1.000000, /1", "0s post 1.000000, /1", "1m0s closed")
	})
}

// ends plays the workflow to an end with an error.
func (s *conversationEnv) ends(with string) {
	s.t.Helper()
	if err := s.play(); err == nil || !strings.Contains(err.Error(), with) {
		s.t.Errorf("ended with %v, want %s", err, with)
	}
}
