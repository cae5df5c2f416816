package e2e

import (
	"strings"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/store"
	"myao/test/world"
)

func TestEditThatAddsAMentionIsAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), quiet(8), modelAnswers(judgeAndAnswer("here", llmtest.No("not asked"))))
	ts := s.Workspace.Say(s.general, s.alice.ID, "can you help?")
	if err := s.Workspace.AwaitDeliveries(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Workspace.Edit(s.general, ts, s.mention("can you help?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.ThreadTS != ts {
		t.Errorf("posted in thread %q, want %q", p.ThreadTS, ts)
	}
	s.Workspace.Edit(s.general, ts, s.mention("can you help me?"))
	s.never("an answer to a mere correction", 12*time.Second, func() bool { return len(s.posts()) > 1 })
}

func TestEditStartsTheQuietTimeAgain(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), quiet(4), modelAnswers(judgeAndAnswer("never", llmtest.No("no"))))
	ts := s.Workspace.Say(s.general, s.alice.ID, "a qeustion")
	time.Sleep(3 * time.Second)
	edited := time.Now()
	s.Workspace.Edit(s.general, ts, "a question")
	s.await("the judgment", func() bool { return len(s.judgments()) == 1 })
	if waited := s.judgments()[0].At.Sub(edited); waited < 3500*time.Millisecond {
		t.Errorf("judged %s after the edit, want 4s", waited)
	}
	if !strings.Contains(s.judgments()[0].System, "a question") {
		t.Error("the judgment saw the text before the edit")
	}
}

func TestDeletedQuestionIsNotAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), quiet(3), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if c.Judgment() {
			return llmtest.Yes("the other", 1, 0)
		}
		return llmtest.Reply{Text: "an answer", Delay: 4 * time.Second}
	}))
	waiting, writing, two := s.room(), s.room(), s.room()
	mentioned := s.Workspace.Say(writing, s.alice.ID, s.mention("quick?"))
	s.await("the model to be asked", func() bool { return len(s.replies()) == 1 })
	s.Workspace.Delete(writing, mentioned)

	asked := s.Workspace.Say(waiting, s.alice.ID, "a question?")
	first := s.Workspace.Say(two, s.alice.ID, "forget-this")
	s.Workspace.Say(two, s.bob.ID, "a question?")
	s.awaitStored(waiting, asked)
	s.awaitStored(two, first)
	s.Workspace.Delete(waiting, asked)
	s.Workspace.Delete(two, first)
	s.await("the answer to the other", func() bool { return len(s.postsIn(two)) == 1 })
	s.never("another judgment or answer", 6*time.Second, func() bool { return len(s.judgments()) > 1 || len(s.posts()) > 1 })
	if strings.Contains(s.judgments()[0].System, "forget-this") {
		t.Error("the judgment saw a deleted message")
	}
}

// When somebody deletes the bot's reply in Slack, its text is removed from our database.
func TestDeletedAnswerIsGone(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), modelAnswers(func(llmtest.Call) llmtest.Reply { return llmtest.Text("the safe opens with 4711") }))
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
	s := start(t, world.SQLite(t), quiet(1), modelAnswers(judgeAndAnswer("seen", llmtest.Yes("ok", 1, 0))))
	w, guest := s.Workspace, s.Workspace.AddUserAs(sandbox.User{Name: "guest", Team: "T0OTHER"})
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
	root := w.Say(s.general, s.alice.ID, "look at the-cat", sandbox.WithFile("cat.png", "image/png", nil))
	expect("a file", "[image: cat.png]")
	w.Say(s.general, s.alice.ID, "shrugs-loudly", sandbox.Me())
	expect("a /me message", "shrugs-loudly")
	w.Say(s.general, s.bob.ID, "also-to-channel", sandbox.InThread(root), sandbox.Broadcast())
	expect("a broadcast reply", "also-to-channel")
	w.Say(s.general, guest.ID, "greetings-from-outside")
	expect("a guest of Slack Connect", "greetings-from-outside")
	s.await("the events to be taken", func() bool {
		for _, d := range w.Deliveries() {
			if d.Status != 200 {
				t.Fatalf("%s/%s was answered with %d", d.Type, d.Subtype, d.Status)
			}
		}
		return true
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
