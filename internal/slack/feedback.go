package slack

import (
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

// reasonInput is the only field of the form that asks for the reason of a vote.
const reasonInput = "reason"

// ReasonForm is the form that asks for the reason of a vote about a part of a reply.
func ReasonForm(f Form, label, part string) Form {
	f.Callback, f.Metadata = ActionFeedback, part
	f.Fields = []FormField{{ID: reasonInput, Label: label, Multiline: true, MaxLength: MaxReason}}
	return f
}

// Reason is what was entered in the form.
func (s ViewSubmission) Reason() string { return s.Value(reasonInput) }
