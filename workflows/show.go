package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/internal/conversation"
)

var phaseAttribute = temporal.NewSearchAttributeKeyKeyword(conversation.AttributePhase)

// show tells people in the Web UI where the conversation stands.
func (t *talk) show() {
	workflow.SetCurrentDetails(t.ctx, details(t.state))
	if !t.in.Attributes || !t.tells() {
		return
	}
	t.phase = t.state.Phase
	if err := workflow.UpsertTypedSearchAttributes(t.ctx, phaseAttribute.ValueSet(string(t.phase))); err != nil {
		workflow.GetLogger(t.ctx).Warn("phase not shown as a search attribute", "error", err)
	}
}

// tells reports whether the search attribute has to be written anew. It costs the server as
// much as an activity: so of what is over in seconds it tells only that the conversation is
// not idle.
func (t *talk) tells() bool {
	if t.in.LastingPhases && !t.state.Phase.Lasts() {
		return t.phase == conversation.Idle
	}
	return t.phase != t.state.Phase
}

// details is a conversation's state in a few lines of Markdown, without a word
// of what was said in it.
func details(s *conversation.State) string {
	var b strings.Builder
	due := s.DueAt.UTC().Format("15:04:05 MST")
	switch s.Phase {
	case conversation.Idle:
		b.WriteString("**idle**: nothing waits")
	case conversation.Waiting:
		fmt.Fprintf(&b, "**waiting** for quiet: judgment due %s, %s pending", due, count(len(s.Pending), "message"))
	case conversation.Judging:
		fmt.Fprintf(&b, "**judging** %s", count(len(s.Pending), "message"))
	case conversation.Delaying:
		fmt.Fprintf(&b, "**reply due %s**", due)
	case conversation.Replying:
		what := "composing a reply"
		if s.Posting {
			what = "posting a reply"
		}
		fmt.Fprintf(&b, "**%s**", what)
		if n := len(s.Answering); n > 0 {
			fmt.Fprintf(&b, " to %s that addressed the bot", count(n, "message"))
		}
	}
	if v := s.Verdict; v != nil {
		answer := "no"
		if v.ShouldRespond {
			answer = "yes"
		}
		fmt.Fprintf(&b, "\n\nlast judged %s, %.1f: %s", answer, v.Confidence, literally(v.Reason))
	}
	if n := len(s.Later); n > 0 {
		fmt.Fprintf(&b, "\n\n%s came meanwhile", count(n, "message"))
	}
	return b.String()
}

// literally is a text in Markdown that shows as it is. A reason is the model's, whom people
// may talk into writing a link, a picture or a heading, and the Web UI takes HTML, too.
func literally(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_[]<>&~|$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func timerSummary(p conversation.Phase) string {
	switch p {
	case conversation.Delaying:
		return "reply held back"
	case conversation.Idle:
		return "close when idle"
	default:
		return "quiet time"
	}
}

// decision is the key of an epoch's decision in the ledger. It outlasts
// continue-as-new, which keeps both the first run's id and the epoch.
func (t *talk) decision(epoch int) string {
	return fmt.Sprintf("%s/%d", workflow.GetInfo(t.ctx).FirstRunID, epoch)
}
