package slack

import (
	"errors"
	"net/url"
)

// ErrNotForm means that a body is no form with the fields of a slash command.
var ErrNotForm = errors.New("not the form of a slash command")

// Request is what somebody asked of the app by a button, a shortcut or a slash command.
type Request struct {
	// Type is block_actions, view_submission …, or slash_command; for logs.
	Type string

	origin origin
}

// Of returns ErrForeign, with the reason, if a request was not meant for this bot.
func (r Request) Of(id Identity) error { return r.origin.of(id) }

// ParseInteraction reads the body of an interaction: a form whose field payload holds an
// object (docs.slack.dev/reference/interaction-payloads). Its only error is ErrNotObject.
func ParseInteraction(body []byte) (Request, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return Request{}, ErrNotObject
	}
	o, ok := parseObject([]byte(form.Get("payload")))
	if !ok {
		return Request{}, ErrNotObject
	}
	team, _ := o.object("team")
	user, _ := o.object("user")
	view, _ := o.object("view")
	r := Request{Type: name(o.text("type")), origin: origin{
		app: o.text("api_app_id"),
		// Who clicks in a shared channel may be of another workspace than the app.
		teams: []string{team.text("id"), user.text("team_id"), view.text("app_installed_team_id")},
	}}
	if org, told := o.object("enterprise"); told && o.flag("is_enterprise_install") {
		r.origin.orgs = []string{org.text("id")}
	}
	return r, nil
}

// ParseCommand reads the body of a slash command
// (docs.slack.dev/interactivity/implementing-slash-commands). Its only error is ErrNotForm.
func ParseCommand(body []byte) (Request, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("command") == "" {
		return Request{}, ErrNotForm
	}
	r := Request{Type: "slash_command", origin: origin{app: form.Get("api_app_id"), teams: []string{form.Get("team_id")}}}
	if form.Get("is_enterprise_install") == "true" {
		r.origin.orgs = []string{form.Get("enterprise_id")}
	}
	return r, nil
}
