package slack

import (
	"context"
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
	// Text, Key and Proposals are as in Post.
	Text, Key string
	Proposals []Proposal
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
	for _, options := range forms(u.Text, u.Key, u.Proposals) {
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
func forms(text, key string, proposals []Proposal) [][]slackapi.MsgOption {
	plain := mrkdwn(text)
	var below []slackapi.Block
	for _, p := range proposals {
		plain += "\n\n" + Escape(p.Text)
		if p.Outcome != "" {
			plain += "\n" + p.Outcome
		}
		below = append(below, p.blocks()...)
	}
	base := []slackapi.MsgOption{
		slackapi.MsgOptionText(plain, false),
		slackapi.MsgOptionMetadata(slackapi.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"key": key}}),
		slackapi.MsgOptionDisableLinkUnfurl(),
		slackapi.MsgOptionDisableMediaUnfurl(),
	}
	with := func(above ...slackapi.Block) []slackapi.MsgOption {
		return append(base[:len(base):len(base)], slackapi.MsgOptionBlocks(append(above, below...)...))
	}
	var all [][]slackapi.MsgOption
	if block := markdown(text); utf8.RuneCountInString(block) <= maxMarkdown {
		all = append(all, with(slackapi.NewMarkdownBlock("", block)))
	}
	if len(proposals) > 0 { // so that people can decide
		var above []slackapi.Block
		for _, part := range Split(mrkdwn(text), maxSection) {
			above = append(above, slackapi.NewSectionBlock(slackapi.NewTextBlockObject(slackapi.MarkdownType, part, false, false), nil, nil))
		}
		all = append(all, with(above...))
	}
	return append(all, base)
}
