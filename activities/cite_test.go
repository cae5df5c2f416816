package activities

import (
	"strings"
	"testing"

	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/runtime/timeout"
	"myao/sandbox/workspace"
)

// A number whose link cannot be had is removed, unless nothing would be left of the reply.
func TestCitationsWithoutLinks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.syncChannels()
	b.Workspace.Faults().Add(workspace.Fault{Method: "chat.getPermalink", Error: "message_not_found", Times: 2})
	for text, want := range map[string]string{"In May [1].": "In May", "[1]": "[1]"} {
		got, err := b.linkCitations(timeout.Extend(t.Context()), chat.Conversation{Team: "T1", Channel: b.General}, text, []tools.Reference{{Channel: b.General, TS: "1700000000.000100"}})
		if err != nil || !strings.HasPrefix(got, want) || strings.Contains(got, "[1]") != (text == want) {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}
