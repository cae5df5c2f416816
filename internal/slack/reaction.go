package slack

import (
	"strings"

	"github.com/slack-go/slack/slackevents"
)

// Reaction is an emoji that somebody put on a message.
type Reaction struct {
	// User is who did, Author who wrote the message; empty where that is an app without a user.
	User, Author string
	// Name is the emoji's, without colons and without a tone of skin.
	Name string
	// Channel and TS are the message's.
	Channel, TS string
}

// Reacted reports whether an envelope tells that somebody put a reaction on something.
func (e Envelope) Reacted() bool {
	return e.Type == slackevents.CallbackEvent && e.EventType == string(slackevents.ReactionAdded)
}

// ReadReaction reads the event reaction_added (docs.slack.dev/reference/events/reaction_added).
// Errors wrap ErrIgnored or ErrUnusable; whether the event was meant for this bot, it does not ask.
func ReadReaction(env Envelope) (Reaction, error) {
	item, ok := env.event.object("item")
	if !ok {
		return Reaction{}, unusable("reaction on nothing")
	}
	if kind := item.text("type"); kind != "message" {
		return Reaction{}, ignored("reaction on a %s", name(kind))
	}
	ts, err := item.ts("ts")
	if err != nil || ts == "" {
		return Reaction{}, unusable("reaction without the ts of a message")
	}
	// Names of emoji cannot hold a colon: what follows one is how it is shown
	// (docs.slack.dev/reference/methods/reactions.add).
	emoji, _, _ := strings.Cut(env.event.text("reaction"), ":")
	r := Reaction{User: known(env.event.text("user")), Author: known(env.event.text("item_user")), Name: emoji, Channel: known(item.text("channel")), TS: ts}
	if r.User == "" || r.Channel == "" || r.Name == "" {
		return Reaction{}, unusable("reaction without who, what or where")
	}
	return r, nil
}
