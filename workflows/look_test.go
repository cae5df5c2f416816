package workflows

import (
	"testing"
	"time"

	"myao/activities"
	"myao/internal/conversation"
)

// rounds are the ends of compose activities, in order.
func rounds(ends ...ending[activities.ReplyOutput]) func(activities.ComposeInput) ending[activities.ReplyOutput] {
	return func(in activities.ComposeInput) ending[activities.ReplyOutput] {
		return ends[min(in.Round, len(ends)-1)]
	}
}

// byAlice are messages of one person.
func byAlice(changes ...conversation.Change) []conversation.Change {
	for i := range changes {
		changes[i].Author = "U1"
	}
	return changes
}

func TestStepsAreLookedUpSideBySide(t *testing.T) {
	s := newEnv(t, thread)
	s.compose = rounds(looking("a", "b").after(2*second), looking("c"), done)
	s.look = func(in activities.LookInput) ending[any] {
		return ending[any]{takes: map[string]time.Duration{"a": 9 * second, "b": 4 * second, "c": second}[in.Step]}
	}
	s.says(0, byAlice(addressed(1))...)
	s.says(3*second, byAlice(said(2))...) // it joins the reply
	var shown string
	s.at(7*second, func() { _, shown = s.state() })
	s.run()
	s.wants(
		"0s compose addressed 1.000000, /1",
		"2s look a for 1.000000, /1",
		"2s look b for 1.000000, /1",
		"11s compose addressed 1.000000, /1, round 1, until 2.000000",
		"11s look c for 1.000000, /1",
		"12s compose addressed 1.000000, /1, round 2, until 2.000000",
		"12s post 1.000000, /1",
		"1h0m12s closed",
	)
	if want := "**looking things up for a reply to 1 message that addressed the bot: 1 of 2 done, search messages, search messages**\n\n1 message came meanwhile"; shown != want {
		t.Errorf("shown is %q, want %q", shown, want)
	}
	if got, want := s.limits["Look"], (limits{30 * second, 10 * minute, 10 * second, conversation.ToolsTaskQueue}); got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
}

// A step that fails for good is told to the model: it is no failure of the reply.
func TestAFailedStepIsNoFailureOfTheReply(t *testing.T) {
	s := newEnv(t, thread)
	s.compose = rounds(looking("a"), done)
	s.look = func(activities.LookInput) ending[any] { return ending[any]{err: refusal} }
	s.says(0, addressed(1))
	s.run()
	s.wants(
		"0s compose addressed 1.000000, /1",
		"0s look a for 1.000000, /1",
		"0s compose addressed 1.000000, /1, round 1",
		"0s post 1.000000, /1",
		"1h0m0s closed",
	)
}

func TestAStopIsAnsweredInOneLine(t *testing.T) {
	s := newEnv(t, thread)
	s.compose = func(in activities.ComposeInput) ending[activities.ReplyOutput] {
		if in.Notice {
			return done
		}
		return looking("a")
	}
	s.look = func(activities.LookInput) ending[any] { return ending[any]{takes: minute} }
	stop := said(2)
	stop.Stop = true
	s.says(0, byAlice(addressed(1))...)
	s.says(5*second, byAlice(stop)...)
	s.run()
	s.wants(
		"0s compose addressed 1.000000, /1",
		"0s look a for 1.000000, /1",
		`5s settle dropped by "slack:U1", /1`,
		"5s compose addressed notice stopped 2.000000, /2",
		"5s post 2.000000, /2",
		"1h0m5s closed",
	)
}

// A run that should continue as new leaves a look to the next one.
func TestALookGoesOnInTheNextRun(t *testing.T) {
	s := newEnv(t, thread)
	s.compose = rounds(looking("a", "b").after(10*second), done)
	s.says(0, addressed(1))
	s.at(5*second, func() { s.SetContinueAsNewSuggested(true) })
	in := s.continuesAsNew()
	s.wants("0s compose addressed 1.000000, /1", "10s closed")

	again := s.nextRun(in)
	again.run()
	again.wants(
		"10s look a for 1.000000, /1",
		"10s look b for 1.000000, /1",
		"10s compose addressed 1.000000, /1, round 1",
		"10s post 1.000000, /1",
		"1h0m10s closed",
	)
}
