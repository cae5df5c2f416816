package slack

import (
	"context"
	"strings"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"
)

// HomeOpened reports that somebody opened a tab of the app's Home
// (docs.slack.dev/reference/events/app_home_opened).
type HomeOpened struct {
	User string
	// Channel is the direct message between the user and the bot.
	Channel string
	// Tab is TabHome or TabMessages.
	Tab string
}

// The tabs of the app's Home.
const (
	TabHome     = "home"
	TabMessages = "messages"
)

func decodeHomeOpened(o object) (Event, error) {
	e := HomeOpened{User: validOrEmpty(o.text("user")), Channel: validOrEmpty(o.text("channel")), Tab: o.text("tab")}
	switch {
	case e.User == "":
		return nil, unusable("home opened by nobody")
	case e.Tab == "": // Slack sends it since there are two
		e.Tab = TabHome
	}
	return e, nil
}

// The action ids of the buttons in the Home tab. Their value is the id of a channel.
const (
	ActionHomeMute   = "myao_home_mute"
	ActionHomeSnooze = "myao_home_snooze"
	ActionHomeUnmute = "myao_home_unmute"
	// ActionHomeSettings opens a form, whose callback id it is, too.
	ActionHomeSettings = "myao_home_settings"
)

// ActionUndoSettings is the action id of the button that undoes what somebody has just set of a channel. Its value is
// the id of the order.
const ActionUndoSettings = "myao_undo_settings"

// HomeSection is a part of the Home tab. Each field may be empty.
type HomeSection struct {
	// Title is plain text, and Text is Slack's markup: whatever people wrote in it must be escaped.
	Title, Text string
	Buttons     []HomeButton
}

// HomeButton is a button in the Home tab.
type HomeButton struct{ Action, Value, Label string }

// Size limits of a view, in blocks and characters (docs.slack.dev/reference/views,
// docs.slack.dev/reference/block-kit/blocks/header-block).
const (
	maxViewBlocks = 100
	maxHeader     = 150
)

// PublishHome shows a person their Home tab (docs.slack.dev/reference/methods/views.publish). What does
// not fit into Slack's limits is left out at the end. PublishHome may be repeated after any error.
func (c *Client) PublishHome(ctx context.Context, user string, sections []HomeSection) error {
	const method = "views.publish"
	if !validID(user) {
		return argument(method, "malformed user id")
	}
	_, err := c.api().PublishViewContext(ctx, slackapi.PublishViewContextRequest{UserID: user,
		View: slackapi.HomeTabViewRequest{
			Type: slackapi.VTHomeTab, Blocks: slackapi.Blocks{BlockSet: homeBlocks(sections)},
		}})
	return c.fail(method, err)
}

func homeBlocks(sections []HomeSection) (blocks []slackapi.Block) {
	for _, s := range sections {
		if s.Title != "" {
			blocks = append(blocks, slackapi.NewHeaderBlock(slackapi.NewTextBlockObject(slackapi.PlainTextType,
				Clip(s.Title, maxHeader), false, false)))
		}
		for _, part := range wholeLinesOf(s.Text, maxSection) {
			blocks = append(blocks, slackapi.NewSectionBlock(slackapi.NewTextBlockObject(slackapi.MarkdownType, part,
				false, false), nil, nil))
		}
		var buttons []slackapi.BlockElement
		for _, b := range s.Buttons {
			buttons = append(buttons, slackapi.NewButtonBlockElement(b.Action, b.Value,
				slackapi.NewTextBlockObject(slackapi.PlainTextType, b.Label, false, false)))
		}
		if len(buttons) > 0 {
			blocks = append(blocks, slackapi.NewActionBlock("", buttons...))
		}
	}
	return blocks[:min(len(blocks), maxViewBlocks)]
}

// wholeLinesOf splits a text between lines into parts of at most most characters. A longer line is left
// out: a cut could leave half of an entity or of a link.
func wholeLinesOf(text string, most int) (parts []string) {
	part, length := "", 0
	for line := range strings.SplitSeq(text, "\n") {
		n := utf8.RuneCountInString(line) + 1
		switch {
		case n > most || line == "":
			continue
		case length+n > most:
			parts, part, length = append(parts, part), "", 0
		}
		part, length = part+line+"\n", length+n
	}
	if part != "" {
		parts = append(parts, part)
	}
	return parts
}

// Prompt is something that a person may ask the bot, and the title under which it is suggested.
type Prompt struct{ Title, Message string }

// SuggestPrompts shows prompts above a direct message, which Slack does for apps with an agent view
// (docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts). Slack takes four.
func (c *Client) SuggestPrompts(ctx context.Context, channel string, prompts []Prompt) error {
	const method = "assistant.threads.setSuggestedPrompts"
	if !validID(channel) {
		return argument(method, "malformed channel id")
	}
	shown := make([]slackapi.AssistantThreadsPrompt, len(prompts))
	for i, p := range prompts {
		shown[i] = slackapi.AssistantThreadsPrompt{Title: p.Title, Message: p.Message}
	}
	return c.fail(method, c.api().SetAssistantThreadsSuggestedPromptsContext(ctx,
		slackapi.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: channel, Prompts: shown}))
}
