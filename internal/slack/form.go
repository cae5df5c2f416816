package slack

import (
	"context"
	"encoding/json"

	slackapi "github.com/slack-go/slack"
)

// Form is a modal that asks for some values.
type Form struct {
	// Callback comes back with what is entered, as ViewSubmission.Callback, and Metadata as its Metadata.
	Callback, Metadata string
	// Title has at most 24 characters.
	Title, Submit, Close string
	// Text stands above the fields, in mrkdwn; it may be empty.
	Text   string
	Fields []FormField
}

// FormField is a field of a form. It may be left empty.
type FormField struct {
	// ID is the block id and the action id.
	ID, Label, Hint, Value string
	// Options are what can be chosen; without them it is a text of at most MaxLength characters.
	Options   []FormOption
	MaxLength int
	// Multiline has several lines entered.
	Multiline bool
}

// FormOption is one of the options of a field.
type FormOption struct{ Value, Label string }

// OpenForm opens a form for whoever pressed a button. Slack refuses it three seconds after that
// (docs.slack.dev/reference/methods/views.open).
func (c *Client) OpenForm(ctx context.Context, trigger string, f Form) error {
	const method = "views.open"
	if trigger == "" {
		return argument(method, "no trigger_id")
	}
	var blocks []slackapi.Block
	if f.Text != "" {
		blocks = homeBlocks([]HomeSection{{Text: f.Text}})
	}
	for _, field := range f.Fields {
		var hint *slackapi.TextBlockObject
		if field.Hint != "" {
			hint = plainText(field.Hint)
		}
		blocks = append(blocks, slackapi.NewInputBlock(field.ID, plainText(field.Label), hint, field.element()).
			WithOptional(true))
	}
	_, err := c.api().OpenViewContext(ctx, trigger, slackapi.ModalViewRequest{
		Type: slackapi.VTModal, CallbackID: f.Callback, PrivateMetadata: f.Metadata,
		Title: plainText(f.Title), Submit: plainText(f.Submit), Close: plainText(f.Close),
		Blocks: slackapi.Blocks{BlockSet: blocks},
	})
	return c.fail(method, err)
}

func (f FormField) element() slackapi.BlockElement {
	if len(f.Options) == 0 {
		text := slackapi.NewPlainTextInputBlockElement(nil, f.ID).WithMultiline(f.Multiline).WithMaxLength(f.MaxLength)
		text.InitialValue = f.Value
		return text
	}
	var options []*slackapi.OptionBlockObject
	var chosen *slackapi.OptionBlockObject
	for _, o := range f.Options {
		option := slackapi.NewOptionBlockObject(o.Value, plainText(Clip(o.Label, maxOption)), nil)
		if options = append(options, option); o.Value == f.Value {
			chosen = option
		}
	}
	choose := slackapi.NewOptionsSelectBlockElement(slackapi.OptTypeStatic, nil, f.ID, options...)
	choose.InitialOption = chosen
	return choose
}

// maxOption limits the label of an option, in characters.
const maxOption = 75

// FormErrors answers the submission of a form: it stays open, and says what is wrong with some fields, by their ids
// (docs.slack.dev/surfaces/modals#displaying_errors).
func FormErrors(wrong map[string]string) json.RawMessage {
	body, _ := json.Marshal(slackapi.NewErrorsViewSubmissionResponse(wrong)) // which cannot fail for strings
	return body
}

// Value is what was entered in a field of a form.
func (s ViewSubmission) Value(field string) string { return s.Values[field][field] }

func plainText(text string) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.PlainTextType, text, false, false)
}
