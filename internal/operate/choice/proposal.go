package choice

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/language/words"
	"myao/internal/slack"
	"myao/internal/store"
)

const undecidable = "Slack refused the buttons, so nobody can decide about this, and it will not be done. Ask me again."

const (
	postIn = "Post in %s, below a line that says who asked for it:"
	postTo = "Send to %s, below a line that says who asked for it:"
)

// ProposalText says as plain text what a proposal is about. whole is false if that is too long to be shown.
func ProposalText(w words.Words, p store.Proposal) (text string, whole bool) {
	post, ok := tools.ReadPost(p.Input)
	if p.Tool != chat.ToolPostMessage || !ok {
		return tools.Describe(p.Server, p.Tool, json.RawMessage(p.Input), slack.MaxChoice)
	}
	head := postIn
	if post.User != "" {
		head = postTo
	}
	text = w.Say(head, post.Shown) + "\n" + post.ShownText
	return text, utf8.RuneCountInString(text) <= slack.MaxChoice
}

// OfProposal is a proposal as it stands under a message.
func OfProposal(w words.Words, p store.Proposal) slack.Choice {
	text, _ := ProposalText(w, p) // which was whole when it was proposed
	return slack.Choice{
		ID: p.ID, Text: text, Outcome: ProposalOutcome(w, p), Undecidable: w.Of(undecidable),
		Buttons: []slack.Button{{Action: slack.ActionApprove, Label: w.Of("Approve"), Primary: true},
			{Action: slack.ActionDecline, Label: w.Of("Decline")}},
	}
}

// ProposalOutcome says in Slack's markup what has become of a proposal; "" while it is open.
func ProposalOutcome(w words.Words, p store.Proposal) string {
	by := p.DecidedBy
	if user, ok := strings.CutPrefix(by, "slack:"); ok {
		by = "<@" + user + ">"
	} else {
		by = slack.Escape(by)
	}
	switch p.State {
	case store.ProposalApproved, store.ProposalBegun:
		return w.Say("approved by %s, under way", by)
	case store.ProposalDone:
		return w.Say("approved by %s, done", by)
	case store.ProposalFailed:
		return w.Say("approved by %s, failed", by)
	case store.ProposalUnknown:
		return w.Say("approved by %s, but I was interrupted and do not know whether it was done", by)
	case store.ProposalDeclined:
		return w.Say("declined by %s", by)
	case store.ProposalCancelled:
		return w.Say("cancelled by %s", by)
	case store.ProposalLapsed:
		return w.Of("lapsed, because nobody decided in time")
	case store.ProposalWithdrawn:
		return w.Of("withdrawn")
	}
	return ""
}
