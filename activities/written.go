package activities

import (
	"cmp"
	"context"

	"myao/internal/answer/tools"
	"myao/internal/store"
)

// writtenFor reports whether somebody has written an address: the rule on addresses (tools.Written) for the
// text of a reply. It reads nothing before it is asked. What cannot be read was written by
// nobody, so that the address stands in the open.
func (a *Activities) writtenFor(ctx context.Context, in ComposeInput, k knownReply,
	place tools.Place) func(address string) bool {
	var w *tools.Written
	failed := false
	return func(address string) bool {
		if failed {
			return false
		}
		by, err := tools.Nobody, error(nil)
		if w == nil {
			w, err = a.readWritten(ctx, in, k, place)
		}
		if err == nil {
			_, by, err = w.Find(ctx, address)
		}
		if err != nil {
			failed = true
			a.Logger.WarnContext(ctx, "not known who wrote the addresses of a reply: it hides none", "conversation",
				in.Conversation.ID(), "error", err)
		}
		return by != tools.Nobody
	}
}

func (a *Activities) readWritten(ctx context.Context, in ComposeInput, k knownReply,
	place tools.Place) (*tools.Written, error) {
	shown, err := a.Agents.Recall.Shown(ctx, in.Conversation, cmp.Or(in.Until, in.Trigger))
	if err != nil {
		return nil, err
	}
	all, err := a.Store.Steps(ctx, in.decisionKey())
	if err != nil {
		return nil, err
	}
	steps := all[:0]
	for _, st := range all {
		if st.Round < in.Round { // the others are of a run that was reset
			steps = append(steps, st)
		}
	}
	w, err := tools.ReadWritten(ctx, a.Store, place, shown, steps)
	if err != nil {
		return nil, err
	}
	w.Instruct(a.Agents.Recall.Persona.SystemPrompt, a.Agents.ByUse.Response.SystemPrompt, k.Settings.Persona)
	if p := k.call; p != nil {
		before, err := a.Store.Steps(ctx, p.Decision)
		if err != nil {
			return nil, err
		}
		w.Act(store.Step{Decision: p.Decision, Round: lastRound(before), Tool: p.Tool, Input: p.Input, Output: p.Output,
			Failed: p.State != store.ProposalDone}, before)
	}
	return w, nil
}

// lastRound is the round of the last of some steps.
func lastRound(steps []store.Step) int {
	if len(steps) == 0 {
		return 0
	}
	return steps[len(steps)-1].Round
}
