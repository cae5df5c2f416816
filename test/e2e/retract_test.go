package e2e

import (
	"slices"
	"strings"
	"testing"

	"myao/internal/conversation"
	"myao/internal/runtime/failpoint"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// What the bot said is taken back: a reply in parts goes whole, also while it is being posted, and
// nothing brings a part back.
func TestRetract(t *testing.T) {
	t.Parallel()
	s := start(t, testserver.Postgres(t), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case strings.Contains(c.System, "everything"):
			return llmtest.Text(manyParts)
		case strings.Contains(c.System, "in-two-halves"):
			return llmtest.Text(twoPartAnswer)
		}
		return llmtest.Text("the safe opens with 4711")
	}))
	var out struct {
		Deleted  []string
		Unposted int
	}
	gone := func(q *question, n int) {
		t.Helper()
		for _, m := range s.Workspace.Messages(q.channel) {
			if m.BotID != "" {
				t.Errorf("still in Slack: %s", m.TS)
			}
		}
		parts := q.outbox(s)
		if len(parts) != n || slices.ContainsFunc(parts, func(p store.Part) bool { return p.State != store.Retracted || p.Text != "" }) {
			t.Errorf("the outbox has %+v", parts)
		}
		id := "thread/T0E2E/" + q.channel + "/" + q.ts
		if got := s.outcomes(id); !slices.Equal(got, []string{string(conversation.Retracted) + " cli:carol"}) {
			t.Errorf("outcomes %q", got)
		}
		for _, p := range parts {
			if p.SentTS == "" {
				continue
			}
			if m, err := s.store.Message(t.Context(), "T0E2E", q.channel, p.SentTS); err != nil || !m.Deleted || m.Text != "" || !m.Own {
				t.Errorf("%+v, %v", m, err)
			}
		}
	}
	ask := func(channel, text string) *question {
		return &question{channel: channel, ts: s.Workspace.Say(channel, s.alice.ID, s.mention(text))}
	}
	room := func(name string) string {
		return s.Workspace.AddChannel(workspace.Public, name, s.Workspace.Bot().UserID, s.alice.ID)
	}

	// The second of two parts names the reply, by its link.
	q := ask(room("halves"), "in-two-halves please")
	s.await("both halves", func() bool {
		parts := q.outbox(s)
		return len(parts) == 2 && parts[1].State == store.Sent
	})
	second := s.postsIn(q.channel)[1].TS
	s.commandJSON(&out, "retract", "https://example.slack.com/archives/"+q.channel+"/p"+strings.ReplaceAll(second, ".", "")+"?thread_ts="+q.ts)
	if len(out.Deleted) != 2 || out.Unposted != 0 {
		t.Errorf("%+v", out)
	}
	gone(q, 2)
	s.mustContain(s.told("why", q.channel, q.ts), "→ retracted by cli:carol", "part 2 of 2: retracted, was in Slack as "+second, "cli:carol ordered: retract "+second)
	// Again, and after Slack's own events of the deletion.
	s.commandJSON(&out, "retract", q.channel, second)
	gone(q, 2)

	// While the rest is being posted.
	q = ask(room("long"), "tell me everything")
	s.await("two parts", func() bool { return len(s.postsIn(q.channel)) >= 2 })
	s.commandJSON(&out, "retract", "#long", s.postsIn(q.channel)[0].TS)
	if len(out.Deleted) < 2 || len(out.Deleted)+out.Unposted != 20 || len(s.postsIn(q.channel)) != len(out.Deleted) {
		t.Errorf("%+v after %d posts", out, len(s.postsIn(q.channel)))
	}
	gone(q, 20)
	s.await("the conversation to end", func() bool {
		var shown struct{ State *conversation.State }
		s.commandJSON(&shown, "show", q.channel, q.ts)
		return shown.State.Phase == conversation.Idle
	})
	gone(q, 20)

	// The worker died before it knew that Slack had taken the message.
	s.worker.Kill()
	s.worker.Start(failpoint.Variable + "=post: sent")
	q = ask(room("died"), "the safe?")
	s.awaitDeath(s.worker, "post: sent")
	s.commandJSON(&out, "retract", q.channel, s.postsIn(q.channel)[0].TS)
	s.worker.Start()
	s.await("the conversation to end", func() bool {
		var shown struct{ State *conversation.State }
		s.commandJSON(&shown, "show", q.channel, q.ts)
		return shown.State.Phase == conversation.Idle
	})
	if len(out.Deleted) != 1 || len(s.postsIn(q.channel)) != 1 {
		t.Errorf("%+v after %d posts", out, len(s.postsIn(q.channel)))
	}
	gone(q, 1)

	// Somebody else's message, one that is gone already, and one that never was.
	s.commandFails("is not the bot's own: nothing was deleted", "retract", q.channel, q.ts)
	q = ask(room("gone"), "the safe?")
	s.await("the answer", func() bool { return len(q.outbox(s)) == 1 && q.outbox(s)[0].State == store.Sent })
	s.Workspace.Delete(q.channel, q.outbox(s)[0].SentTS)
	s.commandJSON(&out, "retract", q.channel, q.outbox(s)[0].SentTS)
	gone(q, 1)
	s.commandFails("there is no message 1700000000.000100", "retract", q.channel, "1700000000.000100")
}
