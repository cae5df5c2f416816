package slack

import (
	"cmp"
	"net/url"
	"time"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

// Interaction is the outer part of what Slack delivers when somebody uses a shortcut, a button or
// a view (docs.slack.dev/reference/interaction-payloads). DecodeInteraction reads the rest.
type Interaction struct {
	Request
	payload object
}

// ParseInteraction reads the body of an interaction: a form whose field payload holds an
// object. Its only error is ErrNotObject.
func ParseInteraction(body []byte) (Interaction, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return Interaction{}, ErrNotObject
	}
	return ReadInteraction([]byte(form.Get("payload")))
}

// ReadInteraction reads the payload itself, as Socket Mode delivers it. Its only error is ErrNotObject.
func ReadInteraction(payload []byte) (Interaction, error) {
	o, ok := parseObject(payload)
	if !ok {
		return Interaction{}, ErrNotObject
	}
	team, _ := o.object("team")
	user, _ := o.object("user")
	view, _ := o.object("view")
	channel, _ := o.object("channel")
	i := Interaction{payload: o, Request: Request{
		Type: logName(o.text("type")), ID: useID(o.text("trigger_id"), payload),
		User: validOrEmpty(user.text("id")), Channel: validOrEmpty(channel.text("id")),
		UserTeam: validOrEmpty(user.text("team_id")), ResponseURL: o.text("response_url"),
		origin: origin{
			app: o.text("api_app_id"),
			// In a shared channel the user may belong to another workspace than the app.
			teams: []string{team.text("id"), user.text("team_id"), view.text("app_installed_team_id")},
			addressee: addressee{team: cmp.Or(workspaceID(view.text("app_installed_team_id")),
				workspaceID(team.text("id")))},
		},
	}}
	if org, ok := o.object("enterprise"); ok && o.flag("is_enterprise_install") {
		i.origin.orgs = []string{org.text("id")}
		// Slack then names no workspace but the user's, who may be a guest of a shared channel.
		i.origin.team = cmp.Or(i.origin.team, workspaceID(user.text("team_id")))
		i.origin.org = validOrEmpty(org.text("id"))
	}
	return i, nil
}

// Action is what somebody did in Slack's interface: a MessageShortcut, BlockAction or ViewSubmission.
type Action interface{ isAction() }

func (MessageShortcut) isAction() {}
func (BlockAction) isAction()     {}
func (ViewSubmission) isAction()  {}

// DecodeInteraction reads an interaction. Errors wrap ErrForeign, ErrIgnored or ErrUnusable.
//
// It reads by hand. slack-go's InteractionCallback decodes the message, its blocks and the view
// with it, and fails on the first field of a type that it does not expect.
func DecodeInteraction(i Interaction, own Identity) (Action, error) {
	onMessage := i.Type == string(slackapi.InteractionTypeMessageAction)
	if err := i.check(own, onMessage); err != nil {
		return nil, err
	}
	switch slackapi.InteractionType(i.Type) {
	case slackapi.InteractionTypeMessageAction:
		return decodeShortcut(i), nil
	case slackapi.InteractionTypeBlockActions:
		return decodeBlockAction(i)
	case slackapi.InteractionTypeViewSubmission:
		return decodeViewSubmission(i)
	}
	return nil, ignored("interaction of type %s", i.Type)
}

// MessageShortcut reports the use of a shortcut on a message
// (docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload).
type MessageShortcut struct {
	Request
	// Callback is the callback_id of the shortcut.
	Callback string

	message object
}

func decodeShortcut(i Interaction) MessageShortcut {
	message, _ := i.payload.object("message")
	return MessageShortcut{Request: i.Request, Callback: singleLine(i.payload.text("callback_id")), message: message}
}

// Message is the message that the shortcut was used on. Errors wrap ErrIgnored, for a message
// that says nothing, or ErrUnusable.
func (s MessageShortcut) Message(own Identity) (chat.Message, error) {
	if s.message == nil {
		return chat.Message{}, unusable("no message")
	}
	if subtype := s.message.text("subtype"); !isStored(subtype) {
		return chat.Message{}, ignored("message of subtype %s", logName(subtype))
	}
	return reader{id: own, channel: s.Channel}.message(s.message, nil)
}

// BlockAction reports the use of a button, or another element, in the blocks of a message or view
// (docs.slack.dev/reference/interaction-payloads/block_actions-payload).
type BlockAction struct {
	Request
	// ActionID and BlockID identify the element. The app chose them when it posted the blocks.
	ActionID, BlockID string
	// Value is the button's value, or that of the option which was chosen.
	Value string
	// MessageTS is the message with the blocks; empty in a view.
	MessageTS string
	// At is when it was used, by Slack's clock; zero if Slack does not say.
	At time.Time
	// Trigger opens a modal for the user, within three seconds.
	Trigger string
}

func decodeBlockAction(i Interaction) (Action, error) {
	var action object
	if actions := i.payload.list("actions"); len(actions) > 0 { // Slack sends one
		action, _ = parseObject(actions[0])
	}
	container, _ := i.payload.object("container")
	b := BlockAction{
		Request: i.Request, ActionID: action.text("action_id"), BlockID: action.text("block_id"),
		Value: action.value(), MessageTS: firstTS(container, "message_ts"),
		Trigger: i.payload.text("trigger_id"),
	}
	if ts := firstTS(action, "action_ts"); ts != "" {
		b.At = chat.Time(ts)
	}
	if b.ActionID == "" {
		return nil, unusable("block_actions without an action_id")
	}
	b.Channel = cmp.Or(b.Channel, validOrEmpty(container.text("channel_id")))
	return b, nil
}

// ViewSubmission reports that somebody submitted a view, such as a modal
// (docs.slack.dev/reference/interaction-payloads/view-interactions-payload).
type ViewSubmission struct {
	Request
	// Callback is the callback_id of the view.
	Callback string
	// Metadata is the private_metadata that the view was opened with.
	Metadata string
	// Values holds what was entered, by block id and action id.
	Values map[string]map[string]string
}

func decodeViewSubmission(i Interaction) (Action, error) {
	view, ok := i.payload.object("view")
	if !ok {
		return nil, unusable("view_submission without a view")
	}
	v := ViewSubmission{Request: i.Request, Callback: singleLine(view.text("callback_id")),
		Metadata: view.text("private_metadata")}
	state, _ := view.object("state")
	blocks, _ := state.object("values")
	for block := range blocks {
		elements, _ := blocks.object(block)
		for id := range elements {
			element, _ := elements.object(id)
			if v.Values == nil {
				v.Values = map[string]map[string]string{}
			}
			if v.Values[block] == nil {
				v.Values[block] = map[string]string{}
			}
			v.Values[block][id] = element.value()
		}
	}
	return v, nil
}

// value is the value of an element, or of the option chosen in it.
func (o object) value() string {
	option, _ := o.object("selected_option")
	return cmp.Or(o.text("value"), option.text("value"))
}
