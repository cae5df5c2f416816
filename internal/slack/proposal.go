package slack

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

// The action ids of the buttons under a proposal. Their value is Proposal.ID.
const (
	ActionApprove = "myao_approve"
	ActionDecline = "myao_decline"
)

// Proposal stands under a message and asks people to decide about it by two buttons.
type Proposal struct {
	ID string
	// Text is what it would do, at most MaxProposal characters. It is shown as it is: nothing in it
	// becomes a mention, a link or an emoji.
	Text string
	// Approve and Decline are the labels of the buttons.
	Approve, Decline string
	// Outcome stands in place of the buttons if it is not empty. It is Slack's markup: no part of it
	// may come from a model.
	Outcome string
	// Undecidable stands in the place of the buttons, in Slack's markup, if Slack takes none.
	Undecidable string
}

// MaxProposal limits Proposal.Text, in characters. Slack takes 3,000, and five proposals beside the text
// of a reply must stay below what it takes of a whole message.
const MaxProposal = 1800

// blocks are the blocks of a proposal.
func (p Proposal) blocks() []slackapi.Block {
	noEmoji := false
	text := slackapi.NewSectionBlock(&slackapi.TextBlockObject{Type: slackapi.PlainTextType, Text: p.Text, Emoji: &noEmoji}, nil, nil)
	if p.Outcome != "" {
		return []slackapi.Block{text, slackapi.NewContextBlock("", slackapi.NewTextBlockObject(slackapi.MarkdownType, p.Outcome, false, false))}
	}
	button := func(action, label string, style slackapi.Style) slackapi.BlockElement {
		return slackapi.NewButtonBlockElement(action, p.ID, slackapi.NewTextBlockObject(slackapi.PlainTextType, label, false, false)).WithStyle(style)
	}
	return []slackapi.Block{text, slackapi.NewActionBlock("", button(ActionApprove, p.Approve, slackapi.StylePrimary), button(ActionDecline, p.Decline, slackapi.StyleDefault))}
}

// Update is a new form of a message of the bot.
type Update struct {
	Channel, TS string
	// Text, Key, Proposals and Feedback are as in Post.
	Text, Key string
	Proposals []Proposal
	Feedback  Feedback
}

// Update changes a message (docs.slack.dev/reference/methods/chat.update). Mentions in it notify nobody.
// existed is false if Slack has no such message any more. Update may be repeated after any error that is
// not Final.
func (c *Client) Update(ctx context.Context, u Update) (existed bool, err error) {
	const method = "chat.update"
	switch {
	case !validID(u.Channel):
		return false, argument(method, "malformed channel id")
	case !chat.ValidTS(u.TS):
		return false, argument(method, "malformed ts")
	case strings.TrimSpace(u.Text) == "":
		return false, &Error{Method: method, Code: "no_text", Kind: Final}
	}
	for _, options := range forms(u.Text, u.Key, u.Proposals, u.Feedback, maxUpdate) {
		_, _, _, err = c.api.UpdateMessageContext(ctx, u.Channel, u.TS, options...)
		if err = c.fail(method, err); !blockRefused(err) {
			break
		}
	}
	if e, ok := err.(*Error); ok && e.Code == "message_not_found" {
		return false, nil
	}
	return err == nil, err
}

// forms are the ways to send a message, the best first: each is for the case that Slack refuses the
// blocks of the one before. The text that notifications and old clients show names the proposals, too.
// Slack takes at most most characters of it.
func forms(text, key string, proposals []Proposal, feedback Feedback, most int) [][]slackapi.MsgOption {
	var below []slackapi.Block
	for _, p := range proposals {
		below = append(below, p.blocks()...)
	}
	options := func(text string, blocks ...slackapi.Block) []slackapi.MsgOption {
		all := []slackapi.MsgOption{
			slackapi.MsgOptionText(text, false),
			slackapi.MsgOptionMetadata(slackapi.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"key": key}}),
			slackapi.MsgOptionDisableLinkUnfurl(),
			slackapi.MsgOptionDisableMediaUnfurl(),
		}
		if len(blocks) > 0 {
			all = append(all, slackapi.MsgOptionBlocks(append(blocks, below...)...))
		}
		return all
	}
	plain := mrkdwn(text)
	beside := clip(withProposals(plain, proposals, most, false), most)
	var all [][]slackapi.MsgOption
	if block := markdown(text); utf8.RuneCountInString(block) <= maxMarkdown {
		if rated := feedback.blocks(key); len(rated) > 0 {
			all = append(all, append(options(beside), slackapi.MsgOptionBlocks(slices.Concat([]slackapi.Block{slackapi.NewMarkdownBlock("", block)}, below, rated)...)))
		}
		all = append(all, options(beside, slackapi.NewMarkdownBlock("", block)))
	}
	if len(proposals) > 0 { // so that people can decide
		var above []slackapi.Block
		for _, part := range Split(plain, maxSection) {
			above = append(above, slackapi.NewSectionBlock(slackapi.NewTextBlockObject(slackapi.MarkdownType, part, false, false), nil, nil))
		}
		all = append(all, options(beside, above...))
	}
	return append(all, options(withProposals(plain, proposals, most, true)))
}

// withProposals adds the proposals to a text. If the whole is too long, each is only its first line. alone is set if there are no buttons.
func withProposals(plain string, proposals []Proposal, most int, alone bool) string {
	whole, short := plain, plain
	for _, p := range proposals {
		end := p.Outcome
		if end == "" && alone {
			end = p.Undecidable
		}
		if end != "" {
			end = "\n" + end
		}
		first, _, _ := strings.Cut(p.Text, "\n")
		whole += "\n\n" + Escape(p.Text) + end
		short += "\n\n" + Escape(first) + end
	}
	if utf8.RuneCountInString(whole) <= most {
		return whole
	}
	return short
}

// clip cuts a text to most characters.
func clip(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
