package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

func TestEditThatAddsAMentionIsAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(8), modelAnswers(judgeAndAnswer("here", llmtest.No("not asked"))))
	ts := s.Workspace.Say(s.general, s.alice.ID, "can you help?")
	testserver.Must(t, s.Workspace.AwaitDeliveries(t.Context()))
	s.Workspace.Edit(s.general, ts, s.mention("can you help?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.ThreadTS != ts {
		t.Errorf("posted in thread %q, want %q", p.ThreadTS, ts)
	}
	s.Workspace.Edit(s.general, ts, s.mention("can you help me?"))
	testserver.Must(t, s.Workspace.AwaitDeliveries(t.Context()))
	s.never("an answer to a mere correction", 4*time.Second, func() bool { return len(s.posts()) > 1 })
}

// When somebody deletes the bot's reply in Slack, its text is removed from our database.
func TestDeletedAnswerIsGone(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), modelAnswers(func(llmtest.Call) llmtest.Reply { return llmtest.Text("the safe opens with 4711") }))
	q := &question{channel: s.general, ts: s.Workspace.Say(s.general, s.alice.ID, s.mention("the safe?"))}
	s.await("the answer", func() bool { return len(s.posts()) == 1 && q.outbox(s)[0].State == store.Sent })
	s.Workspace.Delete(s.general, s.posts()[0].TS)
	s.await("the answer to be gone from the outbox", func() bool { return q.outbox(s)[0].Text == "" })
	s.await("the answer to be gone from the messages", func() bool {
		m, err := s.store.Message(t.Context(), "T0E2E", s.general, q.outbox(s)[0].SentTS)
		return err == nil && m.Deleted && m.Text == ""
	})
}

func TestAllKindsOfMessagesAreRead(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), modelAnswers(judgeAndAnswer("seen", llmtest.No("ok"))))
	w, guest := s.Workspace, s.Workspace.AddUserAs(workspace.User{Name: "guest", Team: "T0OTHER"})
	w.Join(s.general, guest.ID)
	expect := func(what, text string) {
		t.Helper()
		s.await(what+" to be judged", func() bool {
			for _, c := range s.judgments() {
				if strings.Contains(c.System, text) {
					return true
				}
			}
			return false
		})
	}
	root := w.Say(s.general, s.alice.ID, "look at the-cat", workspace.WithFile("cat.png", "image/png", nil))
	expect("a file", "[image: cat.png]")
	w.Say(s.general, s.alice.ID, "shrugs-loudly", workspace.Me())
	expect("a /me message", "shrugs-loudly")
	w.Say(s.general, s.bob.ID, "also-to-channel", workspace.InThread(root), workspace.Broadcast())
	expect("a broadcast reply", "also-to-channel")
	w.Say(s.general, guest.ID, "greetings-from-outside")
	expect("a guest of Slack Connect", "greetings-from-outside")
	s.await("the events to be taken", func() bool {
		taken := map[string]bool{}
		for _, d := range w.Deliveries() {
			taken[d.ID] = taken[d.ID] || d.Status == 200
			if d.Status != 0 && d.Status != 200 && d.Status != 503 { // it was late
				t.Fatalf("%s/%s was answered with %d", d.Type, d.Subtype, d.Status)
			}
		}
		return !slices.Contains(slices.Collect(maps.Values(taken)), false)
	})
	ts := w.Say(s.general, s.alice.ID, "<@"+w.Bot().UserID+"|myao> with a label")
	s.await("the answer to a labelled mention", func() bool {
		for _, p := range s.posts() {
			if p.ThreadTS == ts {
				return true
			}
		}
		return false
	})
}
