package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/failpoint"
	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/slack"
	"myao/internal/store"
)

// actKill is a point at which a program is killed after somebody has clicked, and how the call ends. No server
// has the tool, so a call that is made fails.
type actKill struct {
	point   string
	starter bool
	again   bool // the tool says that its call may be repeated
	ends    store.ProposalState
}

// actKills are in reverse order of work, as workerSteps.
var actKills = []actKill{
	{point: "post: written down", ends: store.ProposalFailed}, // what came of it
	{point: "post: sent", ends: store.ProposalFailed},
	{point: "post: begun", ends: store.ProposalFailed},
	{point: "compose: written", ends: store.ProposalFailed},
	{point: "compose: model answered", ends: store.ProposalFailed},
	{point: "act: done", ends: store.ProposalUnknown},
	{point: "act: begun", ends: store.ProposalUnknown},
	{point: "act: done", again: true, ends: store.ProposalFailed},
	{point: "act: begun", again: true, ends: store.ProposalFailed},
	{point: "relay: marked", starter: true, ends: store.ProposalFailed},
	{point: "relay: signalled", starter: true, ends: store.ProposalFailed},
	{point: "relay: claimed", starter: true, ends: store.ProposalFailed},
}

// offer is a proposal under an answer in a channel of its own.
type offer struct {
	store.Proposal
	channel, question string
}

// offers has a proposal stand under an answer to a mention, as if its model had made it.
func (s *system) offers(n int, again bool) offer {
	s.t.Helper()
	o := offer{channel: s.workspace.AddChannel(sandbox.Private, fmt.Sprintf("desk-%02d", n), s.workspace.Bot().UserID, s.alice.ID)}
	o.question = s.workspace.Say(o.channel, s.alice.ID, s.mention("please open a ticket"))
	s.await("the answer", 30*time.Second, func() bool { return len(s.postsIn(o.channel)) == 1 })
	c := chat.Conversation{Team: "T0E2E", Channel: o.channel, Thread: o.question}
	var key string
	s.await("the ledger", 30*time.Second, func() bool {
		for _, d := range s.decisions(c.ID()) {
			if d.Outcome == conversation.Sent {
				key = d.Key
			}
		}
		return key != ""
	})
	if _, err := s.store.SaveTurn(s.t.Context(), c, o.question, store.Turn{Decision: key, Steps: []store.Step{{
		CallID: "c", Tool: "desk__create", Input: `{"title":"x"}`, State: store.StepProposed,
		Proposal: &store.Proposal{Asker: s.alice.ID, Server: "desk", Idempotent: again, LapsesUS: time.Now().Add(time.Hour).UnixMicro()},
	}}}); err != nil {
		s.t.Fatal(err)
	}
	shown, err := s.store.ShowProposals(s.t.Context(), key, s.postsIn(o.channel)[0].TS)
	if err != nil || len(shown) != 1 {
		s.t.Fatal(shown, err)
	}
	o.Proposal = shown[0]
	return o
}

// Whatever dies after a click, an approved call is made at most once, and what came of it is shown and told once.
func TestKilledWhileItActs(t *testing.T) {
	t.Parallel()
	first := slices.IndexFunc(actKills, func(k actKill) bool { return k.starter })
	for name, kills := range map[string][]actKill{"worker": actKills[:first], "starter": actKills[first:]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDatabase(t, func(t *testing.T, url string) { killedWhileItActs(t, url, kills) })
		})
	}
}

func killedWhileItActs(t *testing.T, url string, kills []actKill) {
	t.Parallel()
	s := start(t, url, quiet(300), maxWait(600), longAckTimeout, modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.System, "## What you proposed, and what came of it") {
			return llmtest.Text("That is what came of it.")
		}
		return llmtest.Text("Shall I open a ticket?")
	}))
	var all []offer
	for i, kill := range kills {
		o := s.offers(i, kill.again)
		program := s.worker
		if kill.starter {
			program = s.starter
			s.await("the relay to have nothing else to do", 30*time.Second, func() bool {
				left, _, err := s.store.BacklogSize(t.Context())
				return err == nil && left == 0
			})
		}
		program.kill()
		program.start(failpoint.Variable + "=" + kill.point)
		if kill.starter {
			s.ready()
		}
		s.workspace.Press(o.channel, s.alice.ID, o.ShownTS, slack.ActionApprove, o.ID)
		program.awaitDeath(kill.point)
		program.start()
		s.ready()
		if kill.again { // it passes this point once more
			s.await("the end of "+kill.point, 60*time.Second, func() bool { return len(s.postsIn(o.channel)) == 2 })
		}
		all = append(all, o)
	}
	for i, o := range all {
		kill := kills[i]
		name := fmt.Sprintf("%s, again %v", kill.point, kill.again)
		s.await("the end of "+name, 90*time.Second, func() bool { return len(s.postsIn(o.channel)) == 2 })
		if p, err := s.store.Proposal(t.Context(), o.ID); err != nil || p.State != kill.ends || p.DecidedBy != "slack:"+s.alice.ID {
			t.Errorf("%s: %+v, %v; want %s", name, p, err, kill.ends)
		}
		s.await("the buttons of "+name, 30*time.Second, func() bool {
			var blocks string
			for _, m := range s.workspace.Messages(o.channel) {
				if m.TS == o.ShownTS {
					blocks = string(m.Blocks)
				}
			}
			return !strings.Contains(blocks, slack.ActionApprove) && strings.Contains(blocks, "approved by")
		})
	}
	s.never("a doubled telling", 2*time.Second, func() bool {
		for _, o := range all {
			if len(s.postsIn(o.channel)) != 2 {
				return true
			}
		}
		return false
	})
	for i, o := range all {
		if posts := s.postsIn(o.channel); posts[1].Text != "That is what came of it." || posts[1].ThreadTS != o.question {
			t.Errorf("%s: told %+v", kills[i].point, posts[1])
		}
	}
}
