package e2e

import (
	"testing"
	"time"

	"myao/internal/sandbox"
)

// A mention fires two events, message and app_mention. It is answered once, even if one is lost
// or late.
func TestMentionWithOneEventLostOrLate(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t))
	for name, fault := range map[string]sandbox.EventFault{
		"only the mention":    {Match: sandbox.MentionMessage, Drop: true},
		"only the message":    {Match: sandbox.AppMention, Drop: true},
		"the message is late": {Match: sandbox.MentionMessage, Delay: 4 * time.Second},
		"the mention is late": {Match: sandbox.AppMention, Delay: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.forSubtest(t)
			room, event := s.room(), fault.Match
			fault.Match = func(e sandbox.Event) bool { return e.Channel == room && event(e) }
			s.Workspace.Faults().AddEvent(fault)
			s.Workspace.Say(room, s.alice.ID, s.mention("hello?"))
			s.await("the answer", func() bool { return len(s.postsIn(room)) == 1 })
			s.never("a second answer", 6*time.Second, func() bool { return len(s.postsIn(room)) > 1 })
		})
	}
}
