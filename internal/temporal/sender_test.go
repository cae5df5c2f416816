package temporal

import (
	"testing"

	"google.golang.org/grpc/codes"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Of what the server calls invalid, only lost search attributes mean that it was
// set up anew.
func TestOnlyLostAttributesMakeAServerNew(t *testing.T) {
	t.Parallel()
	for says, forgotten := range map[string]bool{
		"Namespace myao has no mapping defined for search attribute MyaoTeam": true,
		"search attribute MyaoTeam is not defined":                            true,
		"exceeded workflow execution limit for signal events":                 false,
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			c := dial(t, "default", refuse("SignalWithStartWorkflowExecution", codes.InvalidArgument, says))
			told := false
			s := Sender{Client: c, Attributes: func() bool { return true }, AttributesLost: func() { told = true }}
			err := s.Send(t.Context(), chat.Conversation{Team: "T1", Channel: "C1"}, conversation.Signal{}, "request")
			if err == nil || told != forgotten {
				t.Errorf("%v: forgotten is %v, want %v", err, told, forgotten)
			}
		})
	}
}
