package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// proposed has a proposal to whoever asked stand under a message, as if a reply had made it.
func (s *system) proposed(asker, question, shown string, lapses time.Time) store.Proposal {
	s.t.Helper()
	c := chat.Conversation{Team: "T0E2E", Channel: s.general, Thread: question}
	decision := "e2e/" + shown
	if _, err := s.store.SaveTurn(s.t.Context(), c, question, store.Turn{Decision: decision, Steps: []store.Step{{
		CallID: "c", Tool: "desk__create", Input: `{"title":"x"}`, State: store.StepProposed,
		Proposal: &store.Proposal{Choice: store.Choice{Asker: asker}, Server: "desk", LapsesUS: lapses.UnixMicro()},
	}}}); err != nil {
		s.t.Fatal(err)
	}
	open, err := s.store.ShowProposals(s.t.Context(), decision, shown)
	if err != nil || len(open) != 1 {
		s.t.Fatalf("proposed %v, %v", open, err)
	}
	return open[0]
}

// Whoever asked decides by a button, once. Everybody else is told alone, and a forged click does nothing.
func TestButtonsInSlack(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"http": nil, "socket": {socketMode}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite(t), append(options, longAckTimeout, quiet(300), maxWait(600))...)
			stranger := s.Workspace.AddUserAs(workspace.User{Name: "mallory", Team: "T0OTHER"}).ID
			guest := s.Workspace.AddUserAs(workspace.User{Name: "gil", Guest: true}).ID
			for _, user := range []string{stranger, guest} {
				s.Workspace.Join(s.general, user)
			}
			elsewhere := s.Workspace.AddChannel(workspace.Public, "elsewhere", s.Workspace.Bot().UserID, s.alice.ID)
			question := s.Workspace.Say(s.general, s.alice.ID, "who opens a ticket?")
			s.awaitStored(s.general, question)
			const shown = "1700000000.000300"
			p := s.proposed(s.alice.ID, question, shown, time.Now().Add(time.Hour))
			press := func(user, action string, p store.Proposal) string {
				t.Helper()
				text, _ := s.interact(action, func() *workspace.Interaction { return s.Workspace.Press(s.general, user, p.ShownTS, action, p.ID) })
				return text
			}
			now := func(p store.Proposal) store.Proposal {
				t.Helper()
				p, err := s.store.Proposal(t.Context(), p.ID)
				testserver.Must(t, err)
				return p
			}
			s.mustContain(s.typeCommand(s.general, s.bob.ID, "status"), "I propose `desk__create`, which <@"+s.alice.ID+"> or an operator may decide about")
			for _, user := range []string{stranger, guest} {
				s.mustContain(press(user, slack.ActionApprove, p), "Guests and people from other companies decide about nothing here.")
			}
			theirs := s.proposed(guest, question, "1700000000.000200", time.Now().Add(time.Hour))
			s.mustContain(press(guest, slack.ActionApprove, theirs), "Guests and people")
			s.mustContain(press(s.bob.ID, slack.ActionApprove, p), "Only <@"+s.alice.ID+">, who asked, and my operators")
			for _, told := range s.Workspace.Ephemeral() {
				if told.For != stranger && told.For != guest && told.For != s.bob.ID {
					t.Errorf("%s is told %q", told.For, told.Text)
				}
			}

			count := func() (left int) {
				t.Helper()
				for _, result := range []string{"ignored", "unusable"} {
					n, err := strconv.Atoi(s.metric(`myao_events_total{result="` + result + `"}`))
					testserver.Must(t, err)
					left += n
				}
				return left
			}
			before := count()
			var forged []*workspace.Interaction
			for _, f := range [][3]string{
				{elsewhere, shown, slack.ActionApprove}, {s.general, "1700000000.000999", slack.ActionApprove},
				{s.general, shown, "myao_other"}, {s.general, shown, ""},
			} {
				forged = append(forged, s.taken("a forged click", func() *workspace.Interaction {
					return s.Workspace.Press(f[0], s.alice.ID, f[1], f[2], p.ID)
				}))
			}
			s.mustContain(press(s.alice.ID, slack.ActionApprove, store.Proposal{Choice: store.Choice{ID: "none", ShownTS: shown}}), "I no longer know of this proposal")
			if left := count() - before; left != len(forged) {
				t.Errorf("%d of %d forged clicks are counted", left, len(forged))
			}
			for i, click := range forged {
				if told := s.Workspace.Responses(click); len(told) > 0 {
					t.Errorf("forged %d: %v", i, told)
				}
			}
			if p := now(p); p.State != store.ProposalOpen || p.DecidedBy != "" {
				t.Fatalf("before whoever asked decides, it is %s by %s", p.State, p.DecidedBy)
			}

			clicks := make(chan *workspace.Interaction, 2)
			for range 2 {
				go func() { clicks <- s.click(s.general, s.alice.ID, shown, slack.ActionApprove, p.ID) }()
			}
			a, b := <-clicks, <-clicks
			s.await("the second click to be told", func() bool { return len(s.Workspace.Responses(a))+len(s.Workspace.Responses(b)) == 1 })
			for _, r := range append(s.Workspace.Responses(a), s.Workspace.Responses(b)...) {
				s.mustContain(r.Text, "This is decided already: approved by <@"+s.alice.ID+">")
			}
			s.mustContain(press(s.alice.ID, slack.ActionDecline, p), "This is decided already: approved by")
			if name == "http" { // an attacker replays the signed request
				if status, _, err := s.Workspace.PostSignedForm(t.Context(), "interactions", a.Body); status != 200 || err != nil {
					t.Errorf("again: status %d, %v", status, err)
				}
			}
			if p := now(p); p.State == store.ProposalOpen || p.State == store.ProposalDeclined || p.DecidedBy != "slack:"+s.alice.ID {
				t.Errorf("decided: %s by %s", p.State, p.DecidedBy)
			}
			changes, err := s.store.ChangesSince(t.Context(), []string{p.Conversation().ID()}, time.Time{}, 100)
			testserver.Must(t, err)
			var heard []string
			for _, c := range changes {
				if c.Kind == conversation.Approved || c.Kind == conversation.Declined {
					heard = append(heard, fmt.Sprint(c.Kind, " ", c.Revision == p.ID, " ", c.By))
				}
			}
			if got, want := strings.Join(heard, ", "), "approved true slack:"+s.alice.ID; got != want {
				t.Errorf("its conversation hears %q, want %q", got, want)
			}

			second := s.proposed(s.alice.ID, question, "1700000000.000400", time.Now().Add(time.Hour))
			s.taken("a decline", func() *workspace.Interaction {
				return s.Workspace.Press(s.general, s.alice.ID, second.ShownTS, slack.ActionDecline, second.ID)
			})
			if state := now(second).State; state != store.ProposalDeclined {
				t.Errorf("declined: %s", state)
			}
			late := s.proposed(s.alice.ID, question, "1700000000.000500", time.Now().Add(-time.Second))
			s.mustContain(press(s.alice.ID, slack.ActionApprove, late), "This has lapsed")
			if state := now(late).State; state != store.ProposalOpen && state != store.ProposalLapsed {
				t.Errorf("late: %s", state)
			}
		})
	}
}
