package slack

import (
	"context"

	slackapi "github.com/slack-go/slack"
)

// ActionFeedback is the action id of the buttons to rate a reply, and the callback id of the modal that
// asks for the reason. The block id of the buttons is Post.Key, their values are FeedbackUp and
// FeedbackDown.
const (
	ActionFeedback = "myao_feedback"
	FeedbackUp     = "up"
	FeedbackDown   = "down"
)

// MaxReason limits what is entered in the modal, in characters.
const MaxReason = 500

// Feedback is the labels of the buttons to rate a reply; the zero value is no buttons.
type Feedback struct{ Up, Down string }

// blocks are the buttons under the message with a key
// (docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element).
func (f Feedback) blocks(key string) []slackapi.Block {
	if f == (Feedback{}) {
		return nil
	}
	button := func(label, value string) *slackapi.FeedbackButton {
		return slackapi.NewFeedbackButton(plainText(label), value).WithAccessibilityLabel(label)
	}
	return []slackapi.Block{slackapi.NewContextActionsBlock(key,
		slackapi.NewFeedbackButtonsBlockElement(ActionFeedback, button(f.Up, FeedbackUp),
			button(f.Down, FeedbackDown)))}
}

// ReasonForm is a modal that asks for the reason of a vote.
type ReasonForm struct {
	// Title has at most 24 characters.
	Title, Label, Submit, Close string
	// Part comes back with what is entered, as ViewSubmission.Metadata.
	Part string
}

// reasonInput is the block id and the action id of the only field of the form.
const reasonInput = "reason"

// AskReason opens the form for whoever pressed a button. Slack refuses it three seconds after that
// (docs.slack.dev/reference/methods/views.open).
func (c *Client) AskReason(ctx context.Context, trigger string, f ReasonForm) error {
	const method = "views.open"
	if trigger == "" {
		return argument(method, "no trigger_id")
	}
	field := slackapi.NewPlainTextInputBlockElement(nil, reasonInput).WithMultiline(true).WithMaxLength(MaxReason)
	_, err := c.api().OpenViewContext(ctx, trigger, slackapi.ModalViewRequest{
		Type: slackapi.VTModal, CallbackID: ActionFeedback, PrivateMetadata: f.Part,
		Title: plainText(f.Title), Submit: plainText(f.Submit), Close: plainText(f.Close),
		Blocks: slackapi.Blocks{BlockSet: []slackapi.Block{slackapi.NewInputBlock(reasonInput, plainText(f.Label), nil,
			field).WithOptional(true)}},
	})
	return c.fail(method, err)
}

// Reason is what was entered in the form.
func (s ViewSubmission) Reason() string { return s.Values[reasonInput][reasonInput] }

func plainText(text string) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.PlainTextType, text, false, false)
}
