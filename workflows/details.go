package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/internal/conversation"
)

var phaseAttribute = temporal.NewSearchAttributeKeyKeyword(conversation.AttributePhase)

// show publishes the state in the Web UI: as current details, and as a search attribute.
func (r *conversationRun) show() {
	workflow.SetCurrentDetails(r.ctx, details(r.state))
	if !r.in.Attributes || !r.phaseOutdated() {
		return
	}
	r.in.Phase = r.state.Phase
	if err := workflow.UpsertTypedSearchAttributes(r.ctx, phaseAttribute.ValueSet(string(r.in.Phase))); err != nil {
		workflow.GetLogger(r.ctx).Warn("phase not set as a search attribute", "error", err)
	}
}

// phaseOutdated reports whether the search attribute needs an upsert, which costs the server
// as much as an activity. A phase that lasts only seconds is therefore shown only where the
// attribute still says idle.
func (r *conversationRun) phaseOutdated() bool {
	if !r.state.Phase.Lasts() {
		return r.in.Phase == conversation.Idle
	}
	return r.in.Phase != r.state.Phase
}

// details renders the state in a few lines of Markdown. They hold nothing that people wrote.
func details(s *conversation.State) string {
	const day = "Mon 2 Jan 15:04 MST"
	var b strings.Builder
	due := s.DueAt.UTC().Format("15:04:05 MST")
	switch s.Phase {
	case conversation.Idle:
		b.WriteString("**idle**: nothing waits")
	case conversation.Waiting:
		fmt.Fprintf(&b, "**waiting** for quiet: judgment due %s, %s pending", due,
			conversation.Count(s.Unanswered(), "message"))
	case conversation.Delaying:
		fmt.Fprintf(&b, "**reply due %s**", due)
	default:
		fmt.Fprintf(&b, "**%s**", s.Doing())
	}
	if s.Verdict != nil {
		v := *s.Verdict
		v.Reason = escapeMarkdown(v.Reason)
		b.WriteString("\n\nlast judged " + v.Summary())
	}
	if n := len(s.Later); n > 0 {
		fmt.Fprintf(&b, "\n\n%s came meanwhile", conversation.Count(n, "message"))
	}
	if n := len(s.Proposals); n > 0 {
		first := slices.MinFunc(s.Proposals,
			func(a, b conversation.OpenProposal) int { return a.LapsesAt.Compare(b.LapsesAt) })
		fmt.Fprintf(&b, "\n\n%s for people to decide about, next lapses %s", conversation.Count(n, "proposal"),
			first.LapsesAt.UTC().Format(day))
	}
	if n := len(s.Promises); n > 0 {
		first := slices.MinFunc(s.Promises, func(a, b conversation.OpenPromise) int { return a.DueAt.Compare(b.DueAt) })
		fmt.Fprintf(&b, "\n\n%s, next %s", conversation.Count(n, "promise"), first.DueAt.UTC().Format(day))
		if s.HeldUntil.After(first.DueAt) {
			fmt.Fprintf(&b, ", held up until %s", s.HeldUntil.UTC().Format(day))
		}
	}
	if n := len(s.Acting); n > 0 {
		fmt.Fprintf(&b, "\n\n%s under way", conversation.Count(n, "approved call"))
	}
	return b.String()
}

// escapeMarkdown escapes Markdown and HTML. People can make the model write a link, a picture
// or a heading into its reason, and the Web UI renders both.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_[]<>&~|$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func timerSummary(s *conversation.State) string {
	if next := s.NextPromise(); !next.IsZero() && next.Equal(s.NextTick()) {
		return "promise"
	}
	switch s.Phase {
	case conversation.Delaying:
		return "reply held back"
	case conversation.Idle:
		return "close when idle"
	default:
		return "quiet time"
	}
}

// decisionKey is the ledger's key of an epoch's decision. Continue-as-new keeps it, because it
// keeps the first run's id and the epoch.
func (r *conversationRun) decisionKey(epoch int) string {
	return fmt.Sprintf("%s/%d", workflow.GetInfo(r.ctx).FirstRunID, epoch)
}
