package workflows

import (
	"testing"

	"myao/activities"
	"myao/internal/conversation"
)

// A cancelled run resumes what it has deferred to the next one, and not what is in flight.
func TestACancelledRunMakesEachCallOnce(t *testing.T) {
	s := newEnv(t, thread)
	s.act = func(activities.ProposalInput) ending[activities.ActOutput] {
		return ending[activities.ActOutput]{takes: minute}
	}
	s.says(0, decides(conversation.Approved, 1, "p"))
	s.at(5*second, func() { s.SetContinueAsNewSuggested(true) })
	s.says(10*second, decides(conversation.Approved, 1, "q"))
	s.at(20*second, s.CancelWorkflow)
	s.ends("canceled")
	s.wants(
		"0s show p ",
		"0s act p for 1.000000",
		"10s show q ",
		"20s act q for 1.000000",
		"1m0s show p ",
		"1m20s show q ",
		"1m20s closed",
	)
}

func TestApprovedCallsRunBesideTheWork(t *testing.T) {
	s := newEnv(t, thread)
	s.post = func(in activities.PostInput) ending[activities.ReplyOutput] {
		if in.Trigger == ts(1) && in.Occasion == (conversation.Occasion{}) {
			return proposing("p", 1, noon.Add(1440*minute))
		}
		return result(conversation.Done)
	}
	s.act = func(activities.ProposalInput) ending[activities.ActOutput] {
		return ending[activities.ActOutput]{out: activities.ActOutput{Tell: true, Asker: "U1"}, takes: minute}
	}
	s.says(0, byAlice(addressed(1))...)
	s.says(10*second, decides(conversation.Approved, 1, "p"))
	s.says(20*second, addressed(2)) // is answered while the call is made
	s.run()
	s.wants(
		"0s compose addressed 1.000000, /1",
		"0s post 1.000000, /1",
		"10s show p ",
		"10s act p for 1.000000",
		"20s compose addressed 2.000000, /2",
		"20s post 2.000000, /2",
		"1m10s show p ",
		"1m10s compose addressed 1.000000, /3, telling step/p",
		"1m10s post 1.000000, /3",
		"1h1m10s closed",
	)
}
