package cli

import (
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

func TestProposalsCommand(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "")
	root := o.message(0, "")
	o.record(root, conversation.Said, conversation.Addressed)
	in := chat.Conversation{Team: "T1", Channel: "C1", Thread: root.TS}
	p := &store.Proposal{Choice: store.Choice{Asker: "U1"}, Server: "desk", LapsesUS: time.Now().Add(time.Hour).UnixMicro()}
	steps, err := o.SaveTurn(t.Context(), in, root.TS, store.Turn{Decision: "r/1", Steps: []store.Step{
		{Tool: "desk__create", Input: `{"title":"a \u001b[2J <b>"}`, State: store.StepProposed, Proposal: p},
		{Tool: "desk__close", Input: "no JSON \x1b", State: store.StepProposed, Proposal: p},
	}})
	o.must(err)
	_, err = o.ShowProposals(t.Context(), "r/1", o.ts(9))
	o.must(err)
	if got := o.ids("proposals", "--channel", "general"); len(got) != 2 {
		t.Errorf("open: %q", got)
	}
	if got := o.ids("proposals", "--channel", "random"); len(got) != 0 {
		t.Errorf("of another channel: %q", got)
	}
	o.prints([]string{"proposals", "list", "--json"}, []string{
		`"state": "open"`, `"tool": "desk__create"`, `"server": "desk"`, `"title": "a \u001b[2J <b>"`, `"channel": "C1"`, `"thread": "` + root.TS + `"`, `"asked_by": "U1"`,
		`"decided_by": ""`, `"lapses_at": "`, `"shown_ts": "` + o.ts(9) + `"`, `"no JSON \u001b"`,
	}, nil)
	o.prints([]string{"proposals", "list", "--channel", "random"}, []string{"none"}, nil)
	o.prints([]string{"proposals", "list"}, []string{steps[0].ID + "  open ", "#general, thread " + root.TS, `desk__create {"title":"a \u001b[2J <b>"}`}, nil)

	decline := []string{"proposals", "decline", steps[0].ID, "--by", "carol"}
	o.prints(decline, []string{"is cancelled"}, nil)
	if got, err := o.Proposal(t.Context(), steps[0].ID); err != nil || got.State != store.ProposalCancelled || got.DecidedBy != "cli:carol" {
		t.Errorf("after that: %+v, %v", got, err)
	}
	changes, err := o.PendingChanges(t.Context(), in.ID(), 10)
	o.must(err)
	if n := len(changes); n == 0 || changes[n-1].Kind != conversation.Cancelled || changes[n-1].Revision != steps[0].ID {
		t.Errorf("its conversation hears %+v", changes)
	}
	o.fails(1, decline, "is cancelled already")
	o.fails(1, []string{"proposals", "decline", "none"}, "there is no proposal none: `starter proposals list --all` shows them")
	if open, all := o.ids("proposals"), o.ids("proposals", "--all"); len(open) != 1 || len(all) != 2 {
		t.Errorf("%d open, %d in all", len(open), len(all))
	}
	o.fails(2, []string{"proposals", "list", "--limit", "0"}, "1 to 10000")
}
