package timeline

import (
	"fmt"
	"time"

	"myao/internal/conversation"
	"myao/internal/store"
)

func (t *text) step(decided time.Time, s Step) {
	if p := s.Proposal; p != nil {
		t.proposal(decided, s.Tool, *p)
		return
	}
	if p := s.Promise; p != nil {
		t.promise(decided, *p)
		return
	}
	line := fmt.Sprintf("tool %s: %s, %s", Plain(s.Tool), s.State, tries(s.Attempts))
	if s.State == store.StepDone {
		line += fmt.Sprintf(", %s, %d characters", s.Took.Round(time.Millisecond), s.Size)
		if s.Failed {
			line += ", an error for the model"
		}
	}
	t.further("%s", line)
}

// proposal describes a call that people decide about, without its input.
func (t *text) proposal(decided time.Time, tool string, p Proposal) {
	line := fmt.Sprintf("proposed %s as %s: %s", Plain(tool), p.ID, p.State)
	switch {
	case p.By != "":
		line += fmt.Sprintf(", decided by %s at %s", Plain(p.By), t.at(p.Decided, decided))
	case p.State == store.ProposalOpen:
		line += ", lapses at " + t.at(p.Lapses, decided)
	}
	if p.State.Ran() {
		line += ", ended at " + t.at(p.Ended, decided)
	}
	t.further("%s", line)
}

// promise describes a promise without its words.
func (t *text) promise(decided time.Time, p Promise) {
	line := fmt.Sprintf("promised as %s: %s", p.ID, p.State)
	if p.State == store.PromiseOpen {
		line += ", due at " + t.at(p.Due, decided)
	}
	if p.Every != "" {
		line += ", every " + p.Every
	}
	if !p.HeldUntil.IsZero() {
		line += ", held up until " + t.at(p.HeldUntil, decided)
	}
	switch {
	case conversation.Rule(p.By).Reason() != "":
		line += " by rule " + p.By
	case p.By != "":
		line += " by " + Plain(p.By)
	}
	if !p.Ended.IsZero() {
		line += ", ended at " + t.at(p.Ended, decided)
	}
	t.further("%s", line)
}

// asked names whoever asked for a promise, as the end of a clause; "" if that is not known.
func (p *Promise) asked() string {
	switch {
	case p == nil || p.AskedBy == "":
		return ""
	case p.Name == "":
		return " that " + Plain(p.AskedBy) + " asked for"
	}
	return fmt.Sprintf(" that %s (%s) asked for", Plain(p.Name), Plain(p.AskedBy))
}
