package e2e

import (
	"testing"
	"time"

	"myao/sandbox/workspace"
)

// A mention fires two events, message and app_mention. It is answered once, even if one is lost
// or late.
func TestMentionWithOneEventLostOrLate(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t))
	for name, fault := range map[string]workspace.EventFault{
		"only the mention":    {Match: workspace.MentionMessage, Drop: true},
		"only the message":    {Match: workspace.AppMention, Drop: true},
		"the message is late": {Match: workspace.MentionMessage, Delay: 4 * time.Second},
		"the mention is late": {Match: workspace.AppMention, Delay: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.forSubtest(t)
			room, event := s.room(), fault.Match
			fault.Match = func(e workspace.Event) bool { return e.Channel == room && event(e) }
			s.Workspace.Faults().AddEvent(fault)
			s.Workspace.Say(room, s.alice.ID, s.mention("hello?"))
			s.await("the answer", func() bool { return len(s.postsIn(room)) == 1 })
			s.never("a second answer", 6*time.Second, func() bool { return len(s.postsIn(room)) > 1 })
		})
	}
}
