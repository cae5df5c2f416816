package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"time"
)

// ErrNotObject means that a body is no JSON object.
var ErrNotObject = errors.New("not a JSON object")

// Envelope is the outer part of what the Events API delivers, the same over HTTP and in a
// Socket Mode payload (docs.slack.dev/apis/events-api/#callback-field). Decode reads the event
// in it. Any field may be empty.
type Envelope struct {
	// Type is event_callback, url_verification, app_rate_limited or something new.
	Type string
	// Challenge is what url_verification wants back.
	Challenge string
	// EventID is the same in every redelivery of one event. An app_mention and the message
	// event of the same message have different ones.
	EventID string
	// EventType is the type of the event, for logs.
	EventType string

	at          time.Time // event_time, to the second, UTC
	rateLimited time.Time // minute_rate_limited, UTC
	external    bool      // people of other companies read the channel of the event, too
	enterprise  string    // the organisation of the first authorization, or of the event
	context     string    // event_context
	origin      origin
	raw         json.RawMessage // the event
	event       object          // the same; nil if it is no object
}

// Authorization returns the workspace whose installation the event is for, and the organisation if the app is
// installed in all of that. Without authorizations Slack does not say whether it is: then the organisation is
// the one of the context. Either may be empty, the workspace for an event of the whole organisation.
func (e Envelope) Authorization() (team, organisation string) { return e.origin.team, e.origin.org }

// ParseEnvelope reads an envelope. Its only error is ErrNotObject.
func ParseEnvelope(body []byte) (Envelope, error) {
	o, ok := parseObject(body)
	if !ok {
		return Envelope{}, ErrNotObject
	}
	env := Envelope{
		Type:        o.text("type"),
		Challenge:   o.text("challenge"),
		at:          o.unix("event_time"),
		rateLimited: o.unix("minute_rate_limited"),
		external:    o.flag("is_ext_shared_channel"),
		context:     o.text("event_context"),
		// team_id is the workspace in which the event happened; in a shared channel that can be
		// another one than the app is installed in.
		origin: origin{app: o.text("api_app_id"), teams: []string{o.text("team_id"), o.text("context_team_id")}},
		raw:    o["event"],
	}
	for _, raw := range o.list("authorizations") {
		// Installations that may see the event (docs.slack.dev/apis/events-api/#authorizations).
		authorization, _ := parseObject(raw)
		env.origin.add(authorization)
		env.enterprise = cmp.Or(env.enterprise, validOrEmpty(authorization.text("enterprise_id")))
	}
	env.enterprise = cmp.Or(env.enterprise, validOrEmpty(o.text("enterprise_id")),
		validOrEmpty(o.text("context_enterprise_id")))
	if env.origin.addressee = addresseeOf(o); env.origin.team == "" {
		env.origin.orgs = append(env.origin.orgs, env.origin.org)
	}
	if id, err := o.id("event_id"); err == nil {
		env.EventID = id
	}
	env.event, _ = parseObject(env.raw)
	env.EventType = env.event.text("type")
	return env, nil
}
