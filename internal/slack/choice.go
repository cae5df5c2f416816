package slack

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
	"myao/internal/runtime/pause"
)

// The action ids of buttons: those under a proposal, and that under a promise. Their value is Choice.ID.
const (
	ActionApprove = "myao_approve"
	ActionDecline = "myao_decline"
	ActionCancel  = "myao_cancel"
)

// Choice stands under a message and lets people decide about something by buttons.
type Choice struct {
	ID string
	// Text is what it is about, at most MaxChoice characters. It is shown as it is: nothing in it becomes
	// a mention, a link or an emoji.
	Text    string
	Buttons []Button
	// Outcome stands in place of the buttons if it is not empty. It is Slack's markup: no part of it
	// may come from a model.
	Outcome string
	// Undecidable stands in the place of the buttons, in Slack's markup, if Slack takes none.
	Undecidable string
}

// Button is one of the buttons of a Choice.
type Button struct {
	Action, Label string
	Primary       bool
}

// MaxChoice limits Choice.Text, in characters. Slack takes 3,000, and five choices beside the text of a
// reply must stay below what it takes of a whole message.
const MaxChoice = 1800

// blocks are the blocks of a choice.
func (c Choice) blocks() []slackapi.Block {
	noEmoji := false
	text := slackapi.NewSectionBlock(&slackapi.TextBlockObject{Type: slackapi.PlainTextType, Text: c.Text,
		Emoji: &noEmoji}, nil, nil)
	if c.Outcome != "" {
		return []slackapi.Block{text, slackapi.NewContextBlock("", slackapi.NewTextBlockObject(slackapi.MarkdownType,
			c.Outcome, false, false))}
	}
	var buttons []slackapi.BlockElement
	for _, b := range c.Buttons {
		style := slackapi.StyleDefault
		if b.Primary {
			style = slackapi.StylePrimary
		}
		buttons = append(buttons, slackapi.NewButtonBlockElement(b.Action, c.ID,
			slackapi.NewTextBlockObject(slackapi.PlainTextType, b.Label, false, false)).WithStyle(style))
	}
	if len(buttons) == 0 {
		return []slackapi.Block{text}
	}
	return []slackapi.Block{text, slackapi.NewActionBlock("", buttons...)}
}

// Update is a new form of a message of the bot.
type Update struct {
	Channel, TS string
	// Text, Key, Choices and Feedback are as in Post.
	Text, Key string
	Choices   []Choice
	Feedback  Feedback
}

// Update changes a message (docs.slack.dev/reference/methods/chat.update). Mentions in it notify nobody.
// existed is false if Slack has no such message any more. Update may be repeated after any error that is
// not Final. After two errors of Slack's own (OfSlack) it sends a plainer form.
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
	for _, options := range forms(u.Text, u.Key, u.Choices, u.Feedback, maxUpdate) {
		var failed bool
		for try := range triesOfForm {
			_, _, _, err = c.api().UpdateMessageContext(ctx, u.Channel, u.TS, options...)
			err = c.fail(method, err)
			e, ok := errors.AsType[*Error](err)
			if failed = ok && e.OfSlack(); !failed || try+1 < triesOfForm && !pause.For(ctx, pauseOfForm) {
				break
			}
		}
		if !failed && !blockRefused(err) || ctx.Err() != nil {
			break
		}
	}
	if e, ok := err.(*Error); ok && e.Code == "message_not_found" {
		return false, nil
	}
	return err == nil, err
}

const (
	// triesOfForm is how often a form of an update is tried if Slack fails.
	triesOfForm = 2
	// pauseOfForm is the pause between two tries.
	pauseOfForm = 300 * time.Millisecond
)

// namedPattern matches the person whom a message names first.
var namedPattern = regexp.MustCompile(`^<@[UW][A-Z0-9]+>`)

// forms are the ways to send a message, the best first: each is for the case that Slack refuses the
// blocks of the one before. The text that notifications and old clients show names the choices, too.
// Slack takes at most most characters of it.
func forms(text, key string, choices []Choice, feedback Feedback, most int) [][]slackapi.MsgOption {
	var below []slackapi.Block
	for _, c := range choices {
		below = append(below, c.blocks()...)
	}
	options := func(text string, blocks ...slackapi.Block) []slackapi.MsgOption {
		all := []slackapi.MsgOption{
			slackapi.MsgOptionText(text, false),
			slackapi.MsgOptionMetadata(slackapi.SlackMetadata{EventType: metadataType,
				EventPayload: map[string]any{"key": key}}),
			slackapi.MsgOptionDisableLinkUnfurl(),
			slackapi.MsgOptionDisableMediaUnfurl(),
		}
		if len(blocks) > 0 {
			all = append(all, slackapi.MsgOptionBlocks(append(blocks, below...)...))
		}
		return all
	}
	plain := mrkdwn(text)
	if named := namedPattern.FindString(text); named != "" {
		// whom the message is for learns of it from notifications, too
		plain = named + strings.TrimPrefix(plain, Escape(named))
	}
	beside := Clip(withChoices(plain, choices, most, false), most)
	var all [][]slackapi.MsgOption
	if block := markdown(text); utf8.RuneCountInString(block) <= maxMarkdown {
		if rated := feedback.blocks(key); len(rated) > 0 {
			all = append(all, append(options(beside),
				slackapi.MsgOptionBlocks(slices.Concat([]slackapi.Block{slackapi.NewMarkdownBlock("", block)}, below,
					rated)...)))
		}
		all = append(all, options(beside, slackapi.NewMarkdownBlock("", block)))
	}
	if len(choices) > 0 { // so that people can decide
		var above []slackapi.Block
		for _, part := range Split(plain, maxSection) {
			above = append(above, slackapi.NewSectionBlock(slackapi.NewTextBlockObject(slackapi.MarkdownType, part,
				false, false), nil, nil))
		}
		all = append(all, options(beside, above...))
	}
	return append(all, options(withChoices(plain, choices, most, true)))
}

// withChoices adds the choices to a text. If the whole is too long, each is only its first line. alone is set if there
// are no buttons.
func withChoices(plain string, choices []Choice, most int, alone bool) string {
	whole, short := plain, plain
	for _, c := range choices {
		end := c.Outcome
		if end == "" && alone {
			end = c.Undecidable
		}
		if end != "" {
			end = "\n" + end
		}
		first, _, _ := strings.Cut(c.Text, "\n")
		whole += "\n\n" + Escape(c.Text) + end
		short += "\n\n" + Escape(first) + end
	}
	if utf8.RuneCountInString(whole) <= most {
		return whole
	}
	return short
}

// Clip cuts a text to most characters, with a mark where it ends early.
func Clip(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
