package store

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// propose saves a turn with a look and an act, and returns the act's proposal.
func (db database) propose(t *testing.T, decision, trigger string, idempotent bool) Proposal {
	t.Helper()
	c := chat.Conversation{Team: team, Channel: channel, Thread: at(1)}
	steps, err := db.SaveTurn(t.Context(), c, trigger, Turn{Decision: decision, Steps: []Step{
		{CallID: "c1", Tool: "search_messages", State: StepWaiting},
		{CallID: "c2", Tool: "desk__create", Input: `{"title":"x"}`, State: StepProposed, Output: "proposed, not done",
			Proposal: &Proposal{Choice: Choice{Asker: "U1"}, Server: "desk", Idempotent: idempotent, LapsesUS: db.nowMicros() + 1000}},
	}})
	if err != nil || len(steps) != 2 || !steps[1].Ended() {
		t.Fatalf("saved %+v, %v", steps, err)
	}
	shown, err := db.ShowProposals(t.Context(), decision, at(9))
	if err != nil || len(shown) != 1 || shown[0].ID != steps[1].ID {
		t.Fatalf("shown %+v, %v", shown, err)
	}
	return shown[0]
}

func TestProposals(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		registry := prometheus.NewRegistry()
		db.metrics = NewMetrics(registry)
		db.store(t, said(at(1), ""), said(at(2), at(1)), said(at(3), at(1)))
		decide := func(p Proposal, kind conversation.Kind, by string) (Proposal, bool, []Target) {
			t.Helper()
			decided, first, targets, err := db.DecideProposal(t.Context(), p.ID, kind, by)
			if err != nil {
				t.Fatal(err)
			}
			return decided, first, targets
		}
		begin := func(p Proposal, wantState ProposalState, wantRun bool) {
			t.Helper()
			if got, run, err := db.BeginProposal(t.Context(), p.ID); err != nil || got.State != wantState || run != wantRun {
				t.Errorf("begun: %s, %v, %v; want %s, %v", got.State, run, err, wantState, wantRun)
			}
		}
		p := db.propose(t, "run/1/x", at(2), false)
		if p.State != ProposalOpen || p.Tool != "desk__create" || p.Input != `{"title":"x"}` || p.Asker != "U1" || p.ShownTS != at(9) {
			t.Errorf("proposed %+v", p)
		}
		begin(p, ProposalOpen, false)
		// The first decides, and its conversation hears of it once.
		got, first, targets := decide(p, conversation.Approved, "slack:U1")
		if !first || got.State != ProposalApproved || len(targets) != 1 || targets[0].Conversation != p.Conversation() {
			t.Errorf("approved: %+v, %v, %v", got, first, targets)
		}
		if got, first, targets = decide(p, conversation.Declined, "slack:U2"); first || got.State != ProposalApproved || got.DecidedBy != "slack:U1" || targets != nil {
			t.Errorf("a second click: %+v, %v, %v", got, first, targets)
		}
		changes, err := db.PendingChanges(t.Context(), p.Conversation().ID(), 10)
		if err != nil || len(changes) == 0 {
			t.Fatalf("changes %+v, %v", changes, err)
		}
		if c := changes[len(changes)-1].Change; c != (conversation.Change{TS: at(2), Kind: conversation.Approved, Revision: p.ID, By: "slack:U1"}) {
			t.Errorf("the change is %+v", c)
		}
		// It is run once, and nobody knows what became of a run that was cut off.
		begin(p, ProposalBegun, true)
		begin(p, ProposalUnknown, false)
		must(t, db.EndProposal(t.Context(), p.ID, ProposalDone, "too late"))
		begin(p, ProposalUnknown, false)

		again := db.propose(t, "run/2/x", at(2), true)
		decide(again, conversation.Approved, "slack:U1")
		begin(again, ProposalBegun, true)
		begin(again, ProposalBegun, true)
		must(t, db.EndProposal(t.Context(), again.ID, ProposalDone, "ticket 7"))
		if got, err := db.Proposal(t.Context(), again.ID); err != nil || got.State != ProposalDone || got.Output != "ticket 7" || got.EndedUS == 0 {
			t.Errorf("done: %+v, %v", got, err)
		}

		// Nobody decides what has lapsed, and nothing lapses that is decided.
		late := db.propose(t, "run/3/x", at(2), false)
		db.clock.advance(time.Millisecond)
		if got, first, _ := decide(late, conversation.Approved, "slack:U1"); first || got.State != ProposalOpen {
			t.Errorf("after it lapsed: %+v, %v", got, first)
		}
		for _, test := range []struct {
			id          string
			state, want ProposalState
		}{{late.ID, ProposalLapsed, ProposalLapsed}, {late.ID, ProposalWithdrawn, ProposalLapsed}, {again.ID, ProposalWithdrawn, ProposalDone}} {
			if got, err := db.CloseProposal(t.Context(), test.id, test.state); err != nil || got.State != test.want {
				t.Errorf("closed as %s: %s, %v", test.state, got.State, err)
			}
		}
		// The message that asked is deleted between the click and the run.
		gone := db.propose(t, "run/4/x", at(3), false)
		decide(gone, conversation.Approved, "slack:U1")
		m := said(at(3), at(1))
		m.Deleted = true
		db.store(t, m)
		begin(gone, ProposalWithdrawn, false)

		open, err := db.Proposals(t.Context(), ChoiceFilter{Team: team, Limit: 10})
		all, err2 := db.Proposals(t.Context(), ChoiceFilter{Team: team, Channel: channel, Thread: at(1), All: true, Limit: 10})
		of, err3 := db.ProposalsOf(t.Context(), "run/1/x")
		if err := errors.Join(err, err2, err3); err != nil || len(open) != 0 || len(all) != 4 || len(of) != 1 {
			t.Errorf("%d open, %d in all, %d of a decision, %v", len(open), len(all), len(of), err)
		}
		ended := counted(t, registry, "myao_proposals_ended_total")
		if want := map[string]float64{"done": 1, "unknown": 1, "lapsed": 1, "withdrawn": 1, "failed": 0, "declined": 0, "cancelled": 0}; !maps.Equal(ended, want) {
			t.Errorf("counted %v, want %v", ended, want)
		}
		if _, _, _, err := db.DecideProposal(t.Context(), "none", conversation.Approved, "slack:U1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("no such proposal: %v", err)
		}
	})
}
