package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
	"myao/sandbox/workspace"
)

// The bot introduces itself once in a channel that it joins, however often Slack says so, and whatever
// happens to its answers; not where it is off or muted, and not where it is already.
func TestIntroduction(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database func(*testing.T) string) {
		s := start(t, database(t), quiet(300), maxWait(600), configured("channels: {silent: {mode: off}, asked: {mode: mention}}"))
		bot := s.Workspace.Bot().UserID
		channel := func(name string) string { return s.Workspace.AddChannel(workspace.Public, name, s.alice.ID) }
		random, asked, silent, muted := channel("random"), channel("asked"), channel("silent"), channel("muted")
		if err := s.store.ApplyOrder(t.Context(), store.Order{
			ID: "mute", Scope: chat.Scope{Team: "T0E2E", Channel: muted}, Kind: "mute", Until: time.Now().Add(time.Hour),
		}); err != nil {
			t.Fatal(err)
		}
		joined := func(e workspace.Event) bool { return e.Type == "member_joined_channel" }
		s.Workspace.Faults().AddEvent(workspace.EventFault{Match: joined, RedeliverAfter: slices.Repeat([]time.Duration{100 * time.Millisecond}, 10)})
		// The message is posted, and Slack does not say so.
		s.Workspace.Faults().Add(workspace.Fault{Method: "chat.postMessage", Error: "internal_error", AfterEffect: true, Times: 1})
		for _, c := range []string{random, asked, silent, muted} {
			s.Workspace.Join(c, bot)
		}
		s.await("two introductions", func() bool { return len(s.posts()) == 2 })
		s.starter.Kill()
		s.worker.Kill()
		s.worker.Start()
		s.starter.Start()
		s.Ready()
		s.Workspace.Leave(random, bot)
		s.Workspace.Join(random, bot)
		s.runWorkflow("ChannelSync", nil, nil)
		s.awaitStored(random, s.Workspace.Say(random, s.alice.ID, "hello"))
		s.never("another introduction", 3*time.Second, func() bool { return len(s.posts()) > 2 })
		said := map[string]string{}
		for _, p := range s.posts() {
			said[p.Channel] = p.Text
		}
		s.mustContain(said[random], "Hello, I am myao", "when a question stays open", "/myao mute")
		s.mustContain(said[asked], "and answer when you mention me")
		if strings.Contains(said[asked], "stays open") {
			t.Errorf("where it is only to be mentioned it says %q", said[asked])
		}
	})
}
