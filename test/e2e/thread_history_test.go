package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// What the bot is given of a thread: a subtest for each criterion of document F8 (docs/decisions/seeds.md). Events of
// messages that begin with "unheard" never arrive, so that nobody but Slack knows them.
func TestThreadHistory(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600), environment("THREAD_HISTORY_LIMIT=4"), modelAnswers(func(llmtest.Call) llmtest.Reply {
		return llmtest.Text("It is in the wiki.")
	}), configured("slack: {thread_history_limit: 50}\nresponse: {thread_as: turns}\nchannels: {replies: {mode: all}}"))
	auto := s.Workspace.AddChannel(workspace.Public, "replies", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
	s.runWorkflow("ChannelSync", nil, nil)
	s.Workspace.Faults().AddEvent(workspace.EventFault{Match: func(e workspace.Event) bool { return strings.HasPrefix(e.Text, "unheard") }, Drop: true})

	said := func(by workspace.User, text string) string {
		return fmt.Sprintf("%s (<@%s>): %s", by.Name, by.ID, text)
	}
	// thread begins one with as many replies.
	thread := func(channel string, replies int) string {
		root := s.Workspace.Say(channel, s.alice.ID, "unheard: let us talk about asyncio")
		for i := range replies {
			s.Workspace.Say(channel, s.bob.ID, fmt.Sprintf("unheard: reply %d", i+1), workspace.InThread(root))
		}
		return root
	}
	var asked string // the ts of the newest question
	// ask says something, and returns what the model is asked then.
	ask := func(channel, text string, options ...workspace.SayOption) llmtest.Call {
		t.Helper()
		before, posted := len(s.replies()), len(s.postsIn(channel))
		asked = s.Workspace.Say(channel, s.alice.ID, text, options...)
		s.await("the answer to "+text, func() bool { return len(s.postsIn(channel)) > posted })
		return s.replies()[before]
	}
	all := func(c llmtest.Call) string {
		var texts []string
		for _, turn := range c.Chat() {
			texts = append(texts, turn.Text)
		}
		return strings.Join(texts, "\n")
	}

	var root string
	t.Run("AC1 a mention in a thread has its messages from Slack", func(t *testing.T) {
		root = thread(s.general, 2)
		chat := ask(s.general, s.mention("how is it used?"), workspace.InThread(root)).Chat()
		want := said(s.alice, "unheard: let us talk about asyncio") + "\n\n" + said(s.bob, "unheard: reply 1") + "\n\n" +
			said(s.bob, "unheard: reply 2") + "\n\n" + said(s.alice, "@myao how is it used?") + "\n\n---\n\n"
		if len(chat) != 1 || chat[0].Own || !strings.HasPrefix(chat[0].Text, want) {
			t.Errorf("got %+v\nwant %q", chat, want)
		}
	})
	t.Run("AC2 THREAD_HISTORY_LIMIT says how many", func(t *testing.T) {
		got := all(ask(s.general, s.mention("and now?"), workspace.InThread(thread(s.general, 7))))
		for text, shown := range map[string]bool{"about asyncio": true, "reply 4": false, "reply 5": true, "reply 7": true} {
			if strings.Contains(got, text) != shown {
				t.Errorf("%q is shown: %v, in %q", text, !shown, got)
			}
		}
	})
	t.Run("AC3 the bot's own messages are the assistant's", func(t *testing.T) {
		chat := ask(s.general, s.mention("where?"), workspace.InThread(root)).Chat()
		if len(chat) != 3 || chat[0].Own || chat[1] != (llm.Speech{Own: true, Text: "It is in the wiki."}) || chat[2].Own ||
			!strings.HasPrefix(chat[2].Text, said(s.alice, "@myao where?")) {
			t.Errorf("got %+v", chat)
		}
	})
	t.Run("AC4 outside of a thread the database is enough", func(t *testing.T) {
		heard := s.Workspace.Say(s.general, s.bob.ID, "heard by everybody")
		s.Workspace.Say(s.general, s.bob.ID, "unheard by the door")
		s.awaitStored(s.general, heard)
		c := ask(s.general, s.mention("what is up?"))
		if !strings.Contains(c.System, "heard by everybody") || strings.Contains(c.System+all(c), "unheard by the door") {
			t.Errorf("got %+v\n%s", c.Chat(), c.System)
		}
		for _, read := range s.Workspace.Calls("conversations.replies") {
			// One message is the question itself, read anew. What comes later looks for the post.
			if read.Args.Get("ts") == asked && read.Args.Get("limit") != "1" && read.At.Before(c.At) {
				t.Errorf("Slack was asked for a thread that nobody had begun: %+v, before %s", read, c.At)
			}
		}
	})
	t.Run("AC5 if Slack fails the database is used and an error is logged", func(t *testing.T) {
		started := s.Workspace.Say(s.general, s.bob.ID, "heard: who has the key?")
		s.Workspace.Say(s.general, s.bob.ID, "unheard: the red one", workspace.InThread(started))
		s.awaitStored(s.general, started)
		s.Workspace.Faults().Add(workspace.Fault{Method: "conversations.replies", Error: "internal_error",
			Match: func(c workspace.Call) bool { return c.Args.Get("ts") == started }})
		got := all(ask(s.general, s.mention("do you know?"), workspace.InThread(started)))
		if !strings.Contains(got, "heard: who has the key?") || strings.Contains(got, "the red one") {
			t.Errorf("got %q", got)
		}
		logged := func(line string) bool {
			return strings.Contains(line, `"level":"ERROR"`) && strings.Contains(line, "thread not fully read from Slack") && strings.Contains(line, started)
		}
		s.await("the error in the log", func() bool {
			return slices.ContainsFunc(strings.Split(s.worker.Log.String(), "\n"), logged)
		})
	})
	t.Run("AC6 a channel that answers everything does so too", func(t *testing.T) {
		began := thread(auto, 1)
		first, then := ask(auto, "and when?", workspace.InThread(began)).Chat(), ask(auto, "really?", workspace.InThread(began)).Chat()
		want := said(s.alice, "unheard: let us talk about asyncio") + "\n\n" + said(s.bob, "unheard: reply 1") + "\n\n" + said(s.alice, "and when?")
		if len(first) != 1 || !strings.HasPrefix(first[0].Text, want+"\n\n---\n\n") {
			t.Errorf("got %+v", first)
		}
		if len(then) != 3 || then[0].Text != want || !then[1].Own || !strings.HasPrefix(then[2].Text, said(s.alice, "really?")) {
			t.Errorf("got %+v", then)
		}
	})
	t.Run("AC7 by default the thread stands in the system text as before", func(t *testing.T) {
		s.Configure("response: {thread_as: transcript}")
		out := s.told("prompt", "--for", "response", "--channel", s.general, "--thread", root)
		if !strings.Contains(out, "alice:\nunheard: let us talk about asyncio\n") || strings.Contains(out, said(s.alice, "")) {
			t.Errorf("starter prompt says\n%s", out)
		}
	})
}
