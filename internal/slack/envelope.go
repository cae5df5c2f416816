package slack

import (
	"errors"
	"time"
)

// ErrNotObject means that a body is no JSON object.
var ErrNotObject = errors.New("not a JSON object")

// Envelope is the outer part of what Slack delivers, the same over HTTP and in a
// Socket Mode payload (docs.slack.dev/apis/events-api/#callback-field). Any field
// may be empty.
type Envelope struct {
	// Type is event_callback, url_verification, app_rate_limited or something new.
	Type string
	// Challenge is what url_verification wants back.
	Challenge string
	// TeamID is the workspace the event is told of; in a shared channel that can be
	// another than the one the app is installed in.
	TeamID string
	// AppID is the app that the event was sent to.
	AppID string
	// EventID is the same in every redelivery of one event, and differs between an
	// app_mention and its message twin.
	EventID string
	// At is event_time, to the second, UTC.
	At time.Time
	// RateLimited is the minute from which on app_rate_limited says that Slack drops events,
	// UTC; zero where that is not told (docs.slack.dev/reference/events/app_rate_limited).
	RateLimited time.Time
	// External is set where people of other companies read the channel of the event, too.
	External bool
	// EventType and Subtype are those of the event, for logs and counters.
	EventType string
	Subtype   string

	event  object // nil where there is none
	origin origin
}

// Of returns ErrForeign, with the reason, if an event was not meant for this bot.
func (e Envelope) Of(id Identity) error { return e.origin.of(id) }

// ParseEnvelope reads an envelope. Its only error is ErrNotObject.
func ParseEnvelope(body []byte) (Envelope, error) {
	o, ok := parseObject(body)
	if !ok {
		return Envelope{}, ErrNotObject
	}
	env := Envelope{
		Type:        o.text("type"),
		Challenge:   o.text("challenge"),
		TeamID:      o.text("team_id"),
		AppID:       o.text("api_app_id"),
		At:          o.unix("event_time"),
		RateLimited: o.unix("minute_rate_limited"),
		External:    o.flag("is_ext_shared_channel"),
	}
	env.origin = origin{app: env.AppID, teams: []string{env.TeamID, o.text("context_team_id")}}
	for _, raw := range o.list("authorizations") {
		// The installations that the event may be seen by (docs.slack.dev/apis/events-api/#authorizations).
		authorization, _ := parseObject(raw)
		env.origin.add(authorization)
	}
	if id, err := o.id("event_id"); err == nil {
		env.EventID = id
	}
	env.event, _ = o.object("event")
	env.EventType, env.Subtype = env.event.text("type"), env.event.text("subtype")
	return env, nil
}
