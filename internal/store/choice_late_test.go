package store

import (
	"slices"
	"testing"
	"time"

	"myao/internal/conversation"
)

func TestHandOverProposals(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.store(t, said(at(1), ""), said(at(2), at(1)))
		conv := db.propose(t, "run/0/x", at(2), false).Conversation()
		approved := db.propose(t, "run/1/x", at(2), false)
		begun := db.propose(t, "run/2/x", at(2), false)
		done := db.propose(t, "run/3/x", at(2), false)
		for _, p := range []Proposal{approved, begun, done} {
			if _, first, _, err := db.DecideProposal(t.Context(), p.ID, conversation.Approved, "slack:U1"); err != nil || !first {
				t.Fatal(first, err)
			}
		}
		for _, p := range []Proposal{begun, done} {
			if _, run, err := db.BeginProposal(t.Context(), p.ID); err != nil || !run {
				t.Fatal(run, err)
			}
		}
		must(t, db.EndProposal(t.Context(), done.ID, ProposalDone, "x"))
		hidden, err := db.SaveTurn(t.Context(), conv, at(2), Turn{Decision: "run/4/x", Steps: []Step{
			{CallID: "c", Tool: "desk__create", State: StepProposed, Proposal: &Proposal{Choice: Choice{Asker: "U1"}, LapsesUS: db.nowMicros()}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		handsOver := func(want ...string) {
			t.Helper()
			targets, err := db.HandOverProposals(t.Context())
			if err != nil || len(targets) != len(want) {
				t.Fatalf("handed over %v, %v", targets, err)
			}
			changes, err := db.PendingChanges(t.Context(), conv.ID(), 100)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes[len(changes)-len(want):] {
				if c.Kind != conversation.Overdue || c.TS != at(2) {
					t.Errorf("the change is %+v", c)
				}
				got = append(got, c.Revision)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("handed over %q, want %q", got, want)
			}
		}
		db.clock.advance(overdueAfter) // it lapses a millisecond later
		handsOver()
		db.clock.advance(2 * time.Millisecond)
		want := []string{stepID("run/0/x", 0, 1), approved.ID, begun.ID}
		slices.Sort(want)
		handsOver(want...)
		handsOver() // once
		if p, err := db.Proposal(t.Context(), hidden[0].ID); err != nil || p.State != ProposalWithdrawn {
			t.Errorf("never posted: %+v, %v", p, err)
		}
	})
}
