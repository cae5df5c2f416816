package e2e

import (
	"strings"
	"testing"

	"myao/internal/runtime/failpoint"
	"myao/sandbox/workspace"
)

// elsewherePoints are where the worker dies while a reply goes elsewhere.
var elsewherePoints = []string{"post: elsewhere", "post: sent"}

// What Slack does not take in a thread is answered once at the top level, and what it does not take in the channel in a
// direct message, wherever a worker dies; and what it does not take as blocks, as text.
func TestAnswersThatSlackDoesNotTake(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database func(*testing.T) string) {
		s := start(t, database(t), quiet(300), maxWait(600))
		locked, closed, odd := s.room(), s.room(), s.room()
		refuse := func(code, channel, argument string) {
			s.Workspace.Faults().Add(workspace.Fault{Method: "chat.postMessage", Error: code, Match: func(c workspace.Call) bool {
				return c.Args.Get("channel") == channel && c.Args.Get(argument) != ""
			}})
		}
		refuse("restricted_action_thread_locked", locked, "thread_ts")
		refuse("restricted_action_read_only_channel", closed, "channel")
		refuse("internal_error", odd, "blocks")
		named := func(channel string) (found []workspace.Post) {
			for _, p := range s.posts() {
				if strings.HasPrefix(p.Text, "<@"+s.alice.ID+">") && p.ThreadTS == "" && (p.Channel == channel || strings.HasPrefix(p.Channel, "D") && strings.Contains(p.Text, channel)) {
					found = append(found, p)
				}
			}
			return found
		}
		for i, channel := range []string{locked, closed} {
			point := elsewherePoints[i]
			s.worker.Kill()
			s.worker.Start(failpoint.Variable + "=" + point)
			s.Workspace.Say(channel, s.alice.ID, s.mention("hello?"))
			s.awaitDeath(s.worker, point)
			s.worker.Start()
			s.await("the answer elsewhere", func() bool { return s.countOutcomes(channel, "posted") == 1 })
			if n := len(named(channel)); n != 1 {
				t.Errorf("killed at %s: %d answers elsewhere, want 1: %+v", point, n, s.posts())
			}
		}
		s.Workspace.Say(odd, s.alice.ID, s.mention("hello?"))
		s.await("the answer as text", func() bool { return s.countOutcomes(odd, "posted") == 1 })
		if posts := s.postsIn(odd); len(posts) != 1 || len(posts[0].Blocks) > 0 {
			t.Errorf("posted as text: %+v", posts)
		}
		if n := len(s.posts()); n != 3 {
			t.Errorf("%d posts, want 3", n)
		}
	})
}
