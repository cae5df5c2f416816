package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
)

// judgeAndAnswer answers judgments with the verdicts in turn, and everything else with a text.
func judgeAndAnswer(text string, verdicts ...llmtest.Reply) llmtest.Handler {
	judge := llmtest.Script(verdicts...)
	return func(c llmtest.Call) llmtest.Reply {
		if c.Judgment() {
			return judge(c)
		}
		return llmtest.Text(text)
	}
}

// A question goes on waiting when somebody is spoken to after it, and when somebody else mentions
// the bot, which is answered in a thread of its own.
func TestNobodysQuestionIsForgotten(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(10), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case !c.Judgment():
			return llmtest.Text("It is in the wiki.")
		case strings.Contains(c.System, "VPN"):
			return llmtest.Yes("nobody answered", 0.9, 0)
		default:
			return llmtest.No("nobody asked")
		}
	}))
	topLevel := func(channel string) (n int) {
		for _, p := range s.postsIn(channel) {
			if p.ThreadTS == "" {
				n++
			}
		}
		return n
	}
	s.Workspace.Say(s.general, s.alice.ID, "does anybody know why the VPN is down?")
	s.Workspace.Say(s.general, s.alice.ID, "<@"+s.bob.ID+"> lunch?")
	s.await("an answer after a word to bob", func() bool { return topLevel(s.general) == 1 })

	other := s.Workspace.AddChannel(workspace.Public, "other", s.alice.ID, s.bob.ID, s.Workspace.Bot().UserID)
	s.runWorkflow("ChannelSync", nil, nil)
	s.Workspace.Say(other, s.alice.ID, "does anybody know why the VPN is down?")
	s.Workspace.Say(other, s.bob.ID, s.mention("what is for lunch?"))
	s.await("an answer beside that to bob", func() bool { return topLevel(other) == 1 && len(s.postsIn(other)) == 2 })
	if !slices.ContainsFunc(s.judgments(), func(c llmtest.Call) bool { return strings.Contains(c.System, "what is for lunch?") }) {
		t.Errorf("no judgment sees the mention: %+v", s.judgments())
	}
}

// Who calls the bot by its name, or by another spelling of it, does not wait for the quiet time, as anybody else does. The
// name alone answers nothing: it is judged.
func TestCalledByName(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(3600), maxWait(7200), configured("response: {named_wait_seconds: 1}\npersona: {names: [みゃお]}"),
		modelAnswers(func(c llmtest.Call) llmtest.Reply {
			switch {
			case !c.Judgment():
				return llmtest.Text("Tabs.")
			case strings.Contains(c.System, "みゃおはすごい"):
				return llmtest.No("said of me, not to me")
			default:
				return llmtest.Yes("asked by name", 0.9, 0)
			}
		}))
	s.Workspace.Say(s.general, s.alice.ID, "myao, which of tabs or spaces?")
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.Workspace.Say(s.general, s.bob.ID, "みゃおはすごい")
	s.await("the second judgment to end", func() bool {
		return len(s.judgments()) == 2 && s.phase("channel/T0E2E/"+s.general) == conversation.Idle
	})
	ts := s.Workspace.Say(s.general, s.alice.ID, "or spaces, myaoist?")
	s.awaitStored(s.general, ts)
	var shown struct{ State *conversation.State }
	s.await("the quiet time", func() bool {
		s.commandJSON(&shown, "show", s.general)
		return shown.State != nil && shown.State.Phase == conversation.Waiting && len(shown.State.Pending) == 1
	})
	if left := shown.State.DueAt.Sub(chat.Time(ts)); left < 3000*time.Second {
		t.Errorf("a message without the name waits %s", left)
	}
	if n := len(s.posts()); n != 1 {
		t.Errorf("%d posts, want the one that the judge wanted", n)
	}
}

// A judge sees who has taken a question on by a reaction, and not what was taken back.
func TestJudgeSeesReactions(t *testing.T) {
	t.Parallel()
	s := start(t, testserver.Postgres(t), quiet(20))
	asked := s.Workspace.Say(s.general, s.alice.ID, "who can restart staging?")
	s.Workspace.React(s.general, asked, s.bob.ID, "tada")
	s.Workspace.React(s.general, asked, s.bob.ID, "eyes")
	s.Workspace.Unreact(s.general, asked, s.bob.ID, "tada")
	s.await("the judgment", func() bool { return len(s.judgments()) == 1 })
	prompt := s.judgments()[0].System
	for _, want := range []string{"who can restart staging?\nReactions: :eyes: bob\n", " ago) [new]", "a sign under the message of "} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the judgment does not show %q:\n%s", want, prompt)
		}
	}
}

// A group direct message is like a private channel: mentions are answered in a thread, other
// messages are judged, and its memory is used only there.
func TestGroupDirectMessage(t *testing.T) {
	t.Parallel()
	memories := rememberLinesWith("merger")
	verdicts := judgeAndAnswer("I see.", llmtest.Yes("nobody answered", 0.8, 0), llmtest.No("nobody asked"))
	s := start(t, sqlite(t), quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if c.Model == world.MemoryModel {
			return memories(c)
		}
		return verdicts(c)
	}))
	group := s.Workspace.AddChannel(workspace.GroupDM, "", s.alice.ID, s.bob.ID, s.Workspace.Bot().UserID)
	s.runWorkflow("ChannelSync", nil, nil)
	plan := s.Workspace.Say(group, s.alice.ID, "the merger is on, is it not?")
	s.await("the judged answer", func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.Channel != group || p.ThreadTS != "" {
		t.Errorf("a judged reply was posted in thread %q of %s", p.ThreadTS, p.Channel)
	}
	s.awaitStored(group, plan, s.posts()[0].TS)
	s.runMemory()
	if prompt := s.promptFor(s.general, "what is on?"); strings.Contains(prompt, "merger") || strings.Contains(prompt, "mpdm") {
		t.Errorf("told in a group direct message, known in general:\n%s", prompt)
	}
	if prompt := s.promptFor(group, "what is on?"); !strings.Contains(prompt, "- 2026-01-01 ") || strings.Count(prompt, "the merger is on") < 2 {
		t.Errorf("the group does not know what was said, or its own memory:\n%s", prompt)
	}
	s.await("the answers", func() bool { return len(s.posts()) == 3 })
	for _, p := range s.posts()[1:] {
		if p.ThreadTS == "" {
			t.Errorf("a mention in %s was not answered in a thread", p.Channel)
		}
	}
	if n := len(s.judgments()); n != 1 {
		t.Errorf("%d judgments, want the one of what mentions nobody", n)
	}
}

func TestAnswerInTheThreadWithdrawsADelayedReply(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case !c.Judgment():
			return llmtest.Text("too late")
		case strings.Contains(c.System, "I have"):
			return llmtest.No("answered by bob")
		default:
			return llmtest.Yes("wait and see", 0.6, 30)
		}
	}))
	asked := s.Workspace.Say(s.general, s.alice.ID, "who has the key?")
	top := "channel/T0E2E/" + s.general
	s.await("the first judgment", func() bool { return len(s.decisions(top)) == 1 })
	answer := s.Workspace.Say(s.general, s.bob.ID, "I have", workspace.InThread(asked))
	s.await("a judgment that knows of it", func() bool {
		rows := s.decisions(top)
		return len(rows) == 2 && rows[0].Outcome == "withdrawn" && rows[0].OutcomeBy == answer && rows[1].Outcome == "silent"
	})
	s.never("the withdrawn reply", 3*time.Second, func() bool { return len(s.posts()) > 0 })
}

func TestUnreadableVerdictIsAskedForAgain(t *testing.T) {
	t.Parallel()
	unreadable := llmtest.Text("I think so!")
	s := start(t, sqlite(t), quiet(1), modelAnswers(judgeAndAnswer("yes", unreadable, llmtest.Yes("now in JSON", 0.9, 0), unreadable)))
	s.Workspace.Say(s.general, s.alice.ID, "well?")
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	if n := len(s.judgments()); n != 2 {
		t.Errorf("asked %d times, want twice", n)
	}
	// Never readable.
	s.Workspace.Say(s.general, s.alice.ID, "and what else?")
	s.await("two attempts", func() bool { return len(s.judgments()) == 4 })
	s.never("more than silence", 5*time.Second, func() bool { return len(s.posts()) > 1 || len(s.judgments()) > 4 })
	// The conversation continues.
	s.Model.Handle(judgeAndAnswer("here I am", llmtest.Yes("mended", 1, 0)))
	s.Workspace.Say(s.general, s.alice.ID, "and now?")
	s.await("another answer", func() bool { return len(s.posts()) == 2 })
}

func TestChannelModes(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), configured("channels:\n  loud: {mode: all}\n  \"#asked\": {mode: mention}\n  silent: {mode: off}\n  robots: {bots: [A0OTHER]}\n  picky: {bots: [B0DEPLOY, A0DEPLOY]}\n"),
		modelAnswers(judgeAndAnswer("an answer", llmtest.Yes("why not", 1, 0))))
	me, alice := s.Workspace.Bot().UserID, s.alice.ID
	loud := s.Workspace.AddChannel(workspace.Private, "loud", me, alice)
	asked := s.Workspace.AddChannel(workspace.Public, "asked", me, alice)
	silent := s.Workspace.AddChannel(workspace.Public, "silent", me, alice)
	robots := s.Workspace.AddChannel(workspace.Public, "robots", me, alice)
	picky := s.Workspace.AddChannel(workspace.Public, "picky", me, alice)
	direct := s.Workspace.AddChannel(workspace.DM, "", alice)
	in := func(channel string) int { return len(s.postsIn(channel)) }
	alert := workspace.App{BotID: "B0ALERT", Name: "alerts"}
	ts := s.Workspace.Say(loud, alice, "no question at all")
	plain := s.Workspace.Say(asked, alice, "is anybody there?")
	off := s.Workspace.Say(silent, alice, s.mention("you there?"))
	s.Workspace.Say(direct, alice, "hello")
	s.Workspace.SayAsApp(robots, alert, "disk full")
	s.Workspace.SayAsApp(s.general, alert, "disk full")
	s.Workspace.SayAsApp(picky, alert, "disk full")
	s.await("answers", func() bool { return in(loud) == 1 && in(direct) == 1 && in(robots) == 1 })
	for _, p := range s.posts() {
		switch {
		case p.Channel == loud && p.ThreadTS != ts:
			t.Errorf("mode all: posted in thread %q, want %q", p.ThreadTS, ts)
		case p.Channel == direct && p.ThreadTS != "":
			t.Errorf("a direct message is answered in thread %q, want at the top level", p.ThreadTS)
		}
	}
	s.never("a word where it should be silent", 4*time.Second, func() bool { return in(asked)+in(silent)+in(s.general)+in(picky) > 0 })
	for _, id := range []string{"channel/T0E2E/" + asked, "thread/T0E2E/" + asked + "/" + plain, "channel/T0E2E/" + silent, "thread/T0E2E/" + silent + "/" + off} {
		if _, err := s.Client.DescribeWorkflowExecution(t.Context(), id, ""); !errors.As(err, new(*serviceerror.NotFound)) {
			t.Errorf("%s: %v; want no conversation where there is nothing to decide", id, err)
		}
	}
	for channel, why := range map[string]string{asked: "the channel's mode is mention", silent: "the channel's mode is off",
		picky: "a message of the bot B0ALERT, and the channel's bots setting is [B0DEPLOY A0DEPLOY]"} {
		if stdout, stderr, _ := s.Command("why", channel); !strings.Contains(stdout, why) {
			t.Errorf("why: %s%s; want %q", stdout, stderr, why)
		}
	}
	s.Workspace.Say(asked, alice, s.mention("you then"))
	s.await("the answer to the mention", func() bool { return in(asked) == 1 })
}
