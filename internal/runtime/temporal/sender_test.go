package temporal

import (
	"testing"

	"google.golang.org/grpc/codes"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Of the server's InvalidArgument errors, only those about search attributes mean that it lost
// them.
func TestAttributesLost(t *testing.T) {
	t.Parallel()
	for says, lost := range map[string]bool{
		"Namespace myao has no mapping defined for search attribute MyaoTeam": true,
		"search attribute MyaoTeam is not defined":                            true,
		"exceeded workflow execution limit for signal events":                 false,
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			c := dial(t, "default", refuse("SignalWithStartWorkflowExecution", codes.InvalidArgument, says))
			called := false
			s := Sender{Client: c, Attributes: func() bool { return true }, AttributesLost: func() { called = true }}
			err := s.Send(t.Context(), chat.Conversation{Team: "T1", Channel: "C1"}, conversation.Signal{}, "request")
			if err == nil || called != lost {
				t.Errorf("%v: lost is %v, want %v", err, called, lost)
			}
		})
	}
}
