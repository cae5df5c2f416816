package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
)

var (
	// ErrNotForm means that a body is not the form of a slash command.
	ErrNotForm = errors.New("not the form of a slash command")
	// ErrCertificateCheck means that nobody has typed a command: Slack checks the certificate of the
	// address, and expects an answer.
	ErrCertificateCheck = errors.New("a check of the certificate")
)

// Request is what commands and interactions have in common.
type Request struct {
	// Type is slash_command, block_actions, message_action or another type of interaction, for logs.
	Type string
	// ID identifies this one use. It is the same when the request is repeated.
	ID string
	// User is the user who asks, and Channel the place; empty if Slack sends none, or a malformed one.
	User, Channel string
	// UserTeam is the workspace of the user, as far as Slack says; empty if it does not.
	UserTeam string
	// ResponseURL accepts five answers within half an hour; see Responder.
	ResponseURL string

	origin origin
}

// Authorization returns the workspace whose installation the request is for, and the organisation if the app
// is installed in all of that. Either may be empty.
func (r Request) Authorization() (team, organisation string) { return r.origin.team, r.origin.org }

// FromElsewhere reports whether a request names our app, which is known, and other workspaces alone.
// Its user may still be in a channel that is shared with us.
func (r Request) FromElsewhere(own Identity) bool {
	return own.AppID != "" && r.origin.app == own.AppID && r.origin.of(own) != nil && r.User != ""
}

// check returns ErrForeign if a request was not meant for this bot, and ErrUnusable if it has no user,
// or no channel while one is needed.
func (r Request) check(own Identity, where bool) error {
	if err := r.origin.of(own); err != nil {
		return err
	}
	if r.User == "" || where && r.Channel == "" {
		return unusable("a request without who or where")
	}
	return nil
}

// Command is a slash command as somebody typed it.
type Command struct {
	Request
	// Name is the command with its slash, Text what was typed after it.
	Name, Text string
}

// Check returns the reason to leave a command out, or nil. It wraps ErrForeign or ErrUnusable.
func (c Command) Check(own Identity) error { return c.check(own, true) }

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

// ReadCommand reads a slash command as Socket Mode delivers it: an object with the fields of the form.
// Its only error is ErrNotForm.
func ReadCommand(payload []byte) (Command, error) {
	o, ok := parseObject(payload)
	if !ok {
		return Command{}, ErrNotForm
	}
	return command(func(key string) string {
		if o.flag(key) { // is_enterprise_install, a boolean or a string
			return "true"
		}
		return o.text(key)
	}, payload)
}

func command(field func(key string) string, body []byte) (Command, error) {
	c := Command{Name: singleLine(field("command")), Text: field("text")}
	if c.Name == "" {
		return Command{}, ErrNotForm
	}
	c.Request = Request{
		Type: "slash_command", ID: useID(field("trigger_id"), body),
		User: validOrEmpty(field("user_id")), Channel: validOrEmpty(field("channel_id")),
		UserTeam: validOrEmpty(field("team_id")), ResponseURL: field("response_url"),
		origin: origin{app: field("api_app_id"), teams: []string{field("team_id")},
			addressee: addressee{team: workspaceID(field("team_id"))}},
	}
	if field("is_enterprise_install") == "true" {
		c.origin.orgs = []string{field("enterprise_id")}
		c.origin.org = validOrEmpty(field("enterprise_id"))
	}
	return c, nil
}

// useID names one use of a button or command: Slack's unique trigger_id, or else a hash of the
// body.
func useID(trigger string, body []byte) string {
	if validID(trigger) {
		return trigger
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}

// validOrEmpty returns an id, or "" if it is malformed.
func validOrEmpty(id string) string {
	if !validID(id) {
		return ""
	}
	return id
}

// Answer is what the user of a request is told, alone.
type Answer struct {
	// Text is in mrkdwn.
	Text string
	// Button stands under it, unless it is the zero HomeButton.
	Button HomeButton
}

// Ephemeral returns an answer that only the user of the request sees
// (docs.slack.dev/interactivity/handling-user-interaction#message_responses).
func Ephemeral(a Answer) json.RawMessage {
	message := map[string]any{"response_type": "ephemeral", "replace_original": false, "text": a.Text}
	if a.Button != (HomeButton{}) {
		message["blocks"] = homeBlocks([]HomeSection{{Text: a.Text, Buttons: []HomeButton{a.Button}}})
	}
	body, _ := json.Marshal(message) // which cannot fail for strings and our own blocks
	return body
}
