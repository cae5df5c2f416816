package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/runtime/failpoint"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// reactions are the emoji under a message, each with who put it there.
func (s *system) reactions(channel, ts string) (all []string) {
	for _, m := range s.Workspace.Messages(channel) {
		for _, r := range m.Reactions {
			if m.TS == ts {
				all = append(all, fmt.Sprint(r.Name, r.Users))
			}
		}
	}
	return all
}

// One reaction stands for an answer, whatever dies after Slack has taken it. What Slack refuses is said.
// The judge may choose it, too. The bot knows later that it reacted, and takes it back.
func TestReactionForAnAnswer(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database func(*testing.T) string) {
		s := start(t, database(t), quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
			switch {
			case c.Judgment():
				return llmtest.Verdict(chat.Verdict{ShouldRespond: true, Reason: "they celebrate", Gist: "cheers", Confidence: 1, React: "tada"})
			case strings.Contains(c.System, "what did you say"):
				return llmtest.Text("nothing")
			}
			return llmtest.Text("React: :thumbsup:")
		}))
		bot := s.Workspace.Bot().UserID
		room := func(name string) string {
			return s.Workspace.AddChannel(workspace.Public, name, bot, s.alice.ID)
		}
		thank := func(channel string) *question {
			return &question{channel: channel, ts: s.Workspace.Say(channel, s.alice.ID, s.mention("thanks!"))}
		}
		reacted := func(q *question, emoji string) {
			t.Helper()
			s.await("the reaction to be written down", func() bool {
				parts := q.outbox(s)
				return len(parts) == 1 && parts[0].State == store.Sent
			})
			if got := s.reactions(q.channel, q.ts); !slices.Equal(got, []string{fmt.Sprintf("%s[%s]", emoji, bot)}) || len(s.postsIn(q.channel)) > 0 {
				t.Errorf("reactions %q, posts %+v", got, s.postsIn(q.channel))
			}
		}
		reject := func(code string, after bool) {
			s.Workspace.Faults().Add(workspace.Fault{Method: "reactions.add", Times: 1, Error: code, AfterEffect: after})
		}

		plain := thank(room("plain"))
		reacted(plain, "+1")
		s.mustContain(s.told("why", plain.channel, plain.ts), "→ posted", "part 1 of 1: reacted with :+1:, 1 try")
		s.Workspace.Say(plain.channel, s.alice.ID, s.mention("what did you say?"), workspace.InThread(plain.ts))
		s.await("words", func() bool { return len(s.postsIn(plain.channel)) == 1 })
		calls := s.replies()
		s.mustContain(calls[len(calls)-1].System, "thanks!\nReactions: :+1: myao\n")

		// Slack took it, and nobody knew.
		lost := room("lost")
		reject("internal_error", true)
		reacted(thank(lost), "+1")
		s.worker.Kill()
		s.worker.Start(failpoint.Variable + "=post: sent")
		died := thank(room("died"))
		s.awaitDeath(s.worker, "post: sent")
		s.worker.Start()
		reacted(died, "+1")
		codes := map[string]int{}
		for _, c := range s.Workspace.Calls("reactions.add") {
			codes[c.Error]++
		}
		if codes["already_reacted"] != 2 {
			t.Errorf("reactions.add was answered with %v, want already_reacted twice", codes)
		}

		// Refused, it is said.
		reject("missing_scope", false)
		refused := thank(room("refused"))
		s.await("words", func() bool { return len(s.postsIn(refused.channel)) == 1 })
		if p := s.postsIn(refused.channel)[0]; p.ThreadTS != refused.ts || !strings.Contains(p.Text, "👍") || len(s.reactions(refused.channel, refused.ts)) > 0 {
			t.Errorf("posted %+v", p)
		}

		// Judged: no call for a reply.
		before := len(s.replies())
		judged := &question{step: step{judged: true}, channel: room("judged")}
		judged.ts = s.Workspace.Say(judged.channel, s.alice.ID, "we have shipped it")
		reacted(judged, "tada")
		if n := len(s.replies()); n != before {
			t.Errorf("%d calls for the reply of a judgment that reacts", n-before)
		}
		s.mustContain(s.told("why", judged.channel, judged.ts), "would react with :tada:", "reacted with :tada:")

		// Taken back.
		var out struct{ Reactions []string }
		for range 2 {
			s.commandJSON(&out, "retract", judged.channel, judged.ts)
			if got := s.reactions(judged.channel, judged.ts); len(got) > 0 || !slices.Equal(out.Reactions, []string{"tada"}) {
				t.Errorf("reactions %q after %q were taken back", got, out.Reactions)
			}
		}
		s.mustContain(s.told("why", judged.channel, judged.ts), "retracted by")
		s.never("words to a reaction", 2*time.Second, func() bool {
			return len(s.postsIn(judged.channel))+len(s.postsIn(lost))+len(s.postsIn(died.channel)) > 0
		})
	})
}
