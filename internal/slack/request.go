package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"

	"myao/internal/chat"
)

var (
	// ErrNotForm means that a body is no form with the fields of a slash command.
	ErrNotForm = errors.New("not the form of a slash command")
	// ErrCertificateCheck means that nobody has typed a command: Slack looks whether the
	// certificate of the address is good, and wants to be answered.
	ErrCertificateCheck = errors.New("a check of the certificate")
)

// Request is what somebody asked of the app by a button, a shortcut or a slash command.
type Request struct {
	// Type is block_actions, message_action …, or slash_command; for logs.
	Type string
	// ID names this one use of it: the same when the request comes again.
	ID string
	// User is who asks, and Channel where; empty where Slack does not tell, or tells what
	// cannot be an id.
	User, Channel string
	// ResponseURL takes answers for half an hour, five of them: see Responder.
	ResponseURL string

	origin origin
}

// Of returns ErrForeign, with the reason, if a request was not meant for this bot.
func (r Request) Of(id Identity) error { return r.origin.of(id) }

// Command is a slash command as somebody typed it.
type Command struct {
	Request
	// Name is the command with its slash, Text what was typed after it.
	Name, Text string
}

// Interaction is the use of a button, a dialog or a shortcut.
type Interaction struct {
	Request
	// Callback is the callback_id of a shortcut or a dialog.
	Callback string

	message object
}

// ParseInteraction reads the body of an interaction: a form whose field payload holds an
// object (docs.slack.dev/reference/interaction-payloads). Its only error is ErrNotObject.
func ParseInteraction(body []byte) (Interaction, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return Interaction{}, ErrNotObject
	}
	return ReadInteraction([]byte(form.Get("payload")))
}

// ReadInteraction reads the payload itself, as Socket Mode brings it. Its only error is ErrNotObject.
func ReadInteraction(payload []byte) (Interaction, error) {
	o, ok := parseObject(payload)
	if !ok {
		return Interaction{}, ErrNotObject
	}
	team, _ := o.object("team")
	user, _ := o.object("user")
	view, _ := o.object("view")
	channel, _ := o.object("channel")
	i := Interaction{Callback: label(o.text("callback_id"))}
	i.Request = Request{
		Type: name(o.text("type")), ID: use(o.text("trigger_id"), payload),
		User: known(user.text("id")), Channel: known(channel.text("id")), ResponseURL: o.text("response_url"),
		origin: origin{
			app: o.text("api_app_id"),
			// Who clicks in a shared channel may be of another workspace than the app.
			teams: []string{team.text("id"), user.text("team_id"), view.text("app_installed_team_id")},
		},
	}
	if org, told := o.object("enterprise"); told && o.flag("is_enterprise_install") {
		i.origin.orgs = []string{org.text("id")}
	}
	i.message, _ = o.object("message")
	return i, nil
}

// Message is the message that a message shortcut was used on
// (docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload). Errors
// wrap ErrIgnored, for what nobody has said, or ErrUnusable.
func (i Interaction) Message(id Identity) (chat.Message, error) {
	if i.message == nil {
		return chat.Message{}, unusable("no message")
	}
	if subtype := i.message.text("subtype"); !stored(subtype) {
		return chat.Message{}, ignored("message of subtype %s", name(subtype))
	}
	return reader{id: id, channel: i.Channel}.message(i.message, nil)
}

// ParseCommand reads the body of a slash command
// (docs.slack.dev/interactivity/implementing-slash-commands). Its errors are ErrNotForm and
// ErrCertificateCheck.
func ParseCommand(body []byte) (Command, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return Command{}, ErrNotForm
	}
	if form.Get("ssl_check") == "1" && !form.Has("command") {
		return Command{}, ErrCertificateCheck
	}
	return command(form.Get, body)
}

// ReadCommand reads a slash command as Socket Mode brings it: an object with the fields of
// the form. Its only error is ErrNotForm.
func ReadCommand(payload []byte) (Command, error) {
	o, ok := parseObject(payload)
	if !ok {
		return Command{}, ErrNotForm
	}
	return command(func(key string) string {
		if o.flag(key) { // is_enterprise_install, which is in quotes or is not
			return "true"
		}
		return o.text(key)
	}, payload)
}

func command(field func(key string) string, body []byte) (Command, error) {
	c := Command{Name: label(field("command")), Text: field("text")}
	if c.Name == "" {
		return Command{}, ErrNotForm
	}
	c.Request = Request{
		Type: "slash_command", ID: use(field("trigger_id"), body),
		User: known(field("user_id")), Channel: known(field("channel_id")), ResponseURL: field("response_url"),
		origin: origin{app: field("api_app_id"), teams: []string{field("team_id")}},
	}
	if field("is_enterprise_install") == "true" {
		c.origin.orgs = []string{field("enterprise_id")}
	}
	return c, nil
}

// use is what names one use of a button or command: Slack's trigger_id, which no other
// use has, or else what the body comes to.
func use(trigger string, body []byte) string {
	if validID(trigger) {
		return trigger
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}

// known is an id, or nothing.
func known(id string) string {
	if !validID(id) {
		return ""
	}
	return id
}

// Ephemeral is an answer to a request that only who asked sees, in Slack's mrkdwn
// (docs.slack.dev/interactivity/handling-user-interaction#message_responses).
func Ephemeral(text string) json.RawMessage {
	// Strings cannot fail to be encoded.
	body, _ := json.Marshal(map[string]any{"response_type": "ephemeral", "replace_original": false, "text": text})
	return body
}
