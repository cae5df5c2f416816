package slack

import "strings"

// ReactionAdded reports that somebody put an emoji on a message
// (docs.slack.dev/reference/events/reaction_added).
type ReactionAdded struct {
	// User is the user who reacted.
	User string
	// Author is the user who wrote the message; empty for an app without a user.
	Author string
	// Emoji is its name, without colons and without a skin tone.
	Emoji string
	// Channel and TS are the message's.
	Channel, TS string
}

// decodeReaction reads by hand: slackevents.ReactionAddedEvent fails on a reaction to a file, because Slack
// sends the file as its id.
func decodeReaction(o object) (Event, error) {
	item, ok := o.object("item")
	if !ok {
		return nil, unusable("reaction on nothing")
	}
	if kind := item.text("type"); kind != "message" {
		return nil, ignored("reaction on a %s", logName(kind))
	}
	ts := firstTS(item, "ts")
	if ts == "" {
		return nil, unusable("reaction without the ts of a message")
	}
	// Names of emoji hold no colon. A skin tone follows one
	// (docs.slack.dev/reference/methods/reactions.add).
	emoji, _, _ := strings.Cut(o.text("reaction"), ":")
	r := ReactionAdded{User: validOrEmpty(o.text("user")), Author: validOrEmpty(o.text("item_user")), Emoji: emoji, Channel: validOrEmpty(item.text("channel")), TS: ts}
	if r.User == "" || r.Channel == "" || r.Emoji == "" {
		return nil, unusable("reaction without user, emoji or channel")
	}
	return r, nil
}
