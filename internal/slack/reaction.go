package slack

import (
	"context"
	"errors"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

// ScopeReact is the scope that React and Unreact need.
const ScopeReact = "reactions:write"

// React puts the bot's emoji under a message, by its name without colons
// (docs.slack.dev/reference/methods/reactions.add). It succeeds if the emoji is there already, and so may
// be repeated after any error that is not Final.
func (c *Client) React(ctx context.Context, channel, ts, name string) error {
	const method = "reactions.add"
	if err := checkReaction(method, channel, ts, name); err != nil {
		return err
	}
	err := c.fail(method, c.api().AddReactionContext(ctx, name, slackapi.NewRefToMessage(channel, ts)))
	if e, ok := errors.AsType[*Error](err); ok && e.Code == "already_reacted" {
		return nil
	}
	return err
}

// Unreact takes the bot's emoji back (docs.slack.dev/reference/methods/reactions.remove). existed is
// false if it is not there, or if the message is gone. Unreact may be repeated like React.
func (c *Client) Unreact(ctx context.Context, channel, ts, name string) (existed bool, err error) {
	const method = "reactions.remove"
	if err := checkReaction(method, channel, ts, name); err != nil {
		return false, err
	}
	err = c.fail(method, c.api().RemoveReactionContext(ctx, name, slackapi.NewRefToMessage(channel, ts)))
	if e, ok := errors.AsType[*Error](err); ok && (e.Code == "no_reaction" || e.Code == "message_not_found") {
		return false, nil
	}
	return err == nil, err
}

func checkReaction(method, channel, ts, name string) error {
	switch {
	case !validID(channel):
		return argument(method, "malformed channel id")
	case !chat.ValidTS(ts):
		return argument(method, "malformed ts")
	case name == "":
		return argument(method, "no name of an emoji")
	}
	return nil
}

// ReactionAdded reports that somebody put an emoji on a message
// (docs.slack.dev/reference/events/reaction_added).
type ReactionAdded struct{ Reaction }

// ReactionRemoved reports that somebody took an emoji back
// (docs.slack.dev/reference/events/reaction_removed).
type ReactionRemoved struct{ Reaction }

// Reaction is an emoji on a message.
type Reaction struct {
	// User is the user who reacted.
	User string
	// Author is the user who wrote the message; empty for an app without a user.
	Author string
	// Emoji is its name, without colons and without a skin tone.
	Emoji string
	// Channel and TS are the message's.
	Channel, TS string
	// At is when it was added or removed, UTC; zero where Slack does not tell it.
	At time.Time
}

// decodeReaction reads by hand: slackevents' types fail on a reaction to a file, because Slack
// sends the file as its id.
func decodeReaction(o object, removed bool) (Event, error) {
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
	r := Reaction{
		User: validOrEmpty(o.text("user")), Author: validOrEmpty(o.text("item_user")), Emoji: emoji,
		Channel: validOrEmpty(item.text("channel")), TS: ts,
		At: chat.Time(firstTS(o, "event_ts")),
	}
	if r.User == "" || r.Channel == "" || r.Emoji == "" || len(r.Emoji) > maxEmoji {
		return nil, unusable("reaction without user, emoji or channel")
	}
	if removed {
		return ReactionRemoved{r}, nil
	}
	return ReactionAdded{r}, nil
}

// maxEmoji is the longest name of an emoji, in bytes: Slack allows 100 characters.
const maxEmoji = 400
