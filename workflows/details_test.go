package workflows

import (
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

func items(n ...int) []conversation.Item {
	var out []conversation.Item
	for _, n := range n {
		out = append(out, conversation.Item{TS: ts(n)})
	}
	return out
}

func TestDetails(t *testing.T) {
	t.Parallel()
	due := noon.Add(187 * second)
	for _, c := range []struct {
		name  string
		state conversation.State
		want  string
	}{
		{"new", *conversation.New(topLevel), "**idle**: nothing waits"},
		{"idle after a no", conversation.State{Phase: conversation.Idle, Verdict: &chat.Verdict{Reason: "they answered it", Confidence: 0.95}},
			"**idle**: nothing waits\n\nlast judged no, 0.95: they answered it"},
		{"waiting for one", conversation.State{Phase: conversation.Waiting, DueAt: due, Pending: items(1)},
			"**waiting** for quiet: judgment due 12:03:07 UTC, 1 message pending"},
		{"waiting for two", conversation.State{Phase: conversation.Waiting, DueAt: due, Pending: items(1, 2)},
			"**waiting** for quiet: judgment due 12:03:07 UTC, 2 messages pending"},
		{"judging", conversation.State{Phase: conversation.Judging, Pending: items(1), Later: items(2, 3)},
			"**judging 1 message**\n\n2 messages came meanwhile"},
		{"delaying", conversation.State{Phase: conversation.Delaying, DueAt: due, Verdict: &chat.Verdict{ShouldRespond: true, Confidence: 0.8, Reason: "nobody answered the question"}},
			"**reply due 12:03:07 UTC**\n\nlast judged yes, 0.80: nobody answered the question"},
		{"judged by somebody's order", conversation.State{Phase: conversation.Idle, Verdict: &chat.Verdict{
			Confidence: 1, Reason: "<a href=\"https://evil\">sign in</a> ![x](https://evil/x) **`a_b`** \\<h1> &lt; ~~x~~ a|b $c$",
		}}, "**idle**: nothing waits\n\nlast judged no, 1.00: " +
			`\<a href="https://evil"\>sign in\</a\> !\[x\](https://evil/x) \*\*` + "\\`a\\_b\\`" + `\*\* \\\<h1\> \&lt; \~\~x\~\~ a\|b \$c\$`},
		{"proposing", conversation.State{Phase: conversation.Idle, Proposals: []conversation.OpenProposal{{ID: "a", LapsesAt: due.Add(48 * time.Hour)}, {ID: "b", LapsesAt: due.Add(24 * time.Hour)}},
			Acting: []conversation.ProposalRef{{ID: "c"}}},
			"**idle**: nothing waits\n\n2 proposals for people to decide about, next lapses " + due.Add(24*time.Hour).Format("Mon 2 Jan") + " 12:03 UTC\n\n1 approved call under way"},
		{"composing", conversation.State{Phase: conversation.Replying}, "**composing a reply**"},
		{"looking things up", conversation.State{Phase: conversation.Replying, Work: conversation.Work{Answering: items(1), Round: 1, Steps: []conversation.Step{
			{ID: "a", Tool: "search_messages", Done: true}, {ID: "b", Tool: "read_thread"},
		}}}, "**looking things up for a reply to 1 message that addressed the bot: 1 of 2 done, search messages, read thread, after 1 round of looking up**"},
		{"posting an answer", conversation.State{Phase: conversation.Replying, Work: conversation.Work{Posting: true, Answering: items(1, 2)}, Later: items(3)},
			"**posting a reply to 2 messages that addressed the bot**\n\n1 message came meanwhile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := details(&c.state); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestTimerSummary(t *testing.T) {
	t.Parallel()
	for phase, want := range map[conversation.Phase]string{
		conversation.Idle: "close when idle", conversation.Waiting: "quiet time", conversation.Delaying: "reply held back",
	} {
		if got := timerSummary(&conversation.State{Phase: phase}); got != want {
			t.Errorf("%s: %q, want %q", phase, got, want)
		}
	}
}
