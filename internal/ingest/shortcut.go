package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/chatops"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
)

// AnswerNow is the callback_id of the message shortcut by which somebody has a message answered.
const AnswerNow = "answer_now"

// What is said to who used the shortcut.
const (
	comes         = "I answer it now."
	notHere       = "I am not in this channel. Invite me, and ask again."
	alreadyAsked  = "I am already on it, or was asked to before. Mention me in a message to ask once more."
	alreadyDone   = "I have already answered that."
	ownMessage    = "I said that myself."
	gone          = "That message is gone."
	nobodySaid    = "There is nothing in that message to answer."
	offHere       = "I am off in this channel: its mode is `off` in my configuration."
	silencedUntil = "I am muted here. Unmute me first."
)

// answerNow makes a message one that addresses the bot, as an edit does that adds a
// mention. It returns what to say to who asked, and the result for the metrics. Once it
// has returned without an error, what it says is committed.
func (d *Door) answerNow(ctx context.Context, i slack.Interaction, own slack.Identity) (text, result string, err error) {
	if !d.Config.Slack.May(i.User, config.MayAnswerNow) {
		return chatops.MayNot(d.Config, "have me answer a message"), "refused", nil
	}
	m, err := i.Message(own)
	if err != nil {
		return nobodySaid, "refused", nil
	}
	if why, err := d.unwilling(ctx, m); err != nil || why != "" {
		return why, "refused", err
	}
	begun, posted, err := d.Store.Answered(ctx, own.TeamID, m.Channel, m.TS)
	switch {
	case err != nil:
		return "", "", err
	case posted:
		return alreadyDone, "refused", nil
	case begun:
		return alreadyAsked, "refused", nil
	}
	targets, err := d.Store.Record(ctx, m, func(known store.Known) (entry store.Entry) {
		entry, text = addressing(m, known, store.Order{ID: "slack/" + i.ID, Kind: "answer-now", By: by(i.User)})
		return entry
	})
	if err != nil {
		return "", "", err
	}
	d.Relay.Kick(targets...)
	if text != comes {
		return text, "refused", nil
	}
	return text, "done", nil
}

// unwilling is why the bot answers nothing where a message is, whatever it is; or empty.
func (d *Door) unwilling(ctx context.Context, m chat.Message) (string, error) {
	if d.Absent(ctx, m.Team, m.Channel) {
		return notHere, nil
	}
	if d.Settings(ctx, m.Team, m.Channel).Mode == config.ModeOff {
		return offHere, nil
	}
	until, err := d.Store.SilencedUntil(ctx, targets(m, true)...)
	if err != nil || !until.After(d.Clock()) {
		return "", err
	}
	return silencedUntil, nil
}

// addressing is what the store shall hold once somebody wants a message answered, and what to
// say about it. Whatever the store knows of the message counts more than what came along.
func addressing(m chat.Message, known store.Known, order store.Order) (entry store.Entry, text string) {
	if known.Message != nil {
		m = *known.Message
	}
	switch {
	case m.Own:
		return store.Entry{}, ownMessage
	case m.Deleted:
		return store.Entry{}, gone
	case known.Addressed:
		return store.Entry{}, alreadyAsked
	}
	order.Scope, order.Subject = chat.Scope{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}, m.TS
	entry = store.Entry{Message: &m, Handled: true, Order: &order}
	for _, c := range targets(m, true) {
		entry.Changes = append(entry.Changes, store.Change{Conversation: c, Change: conversation.Change{
			TS: m.TS, Kind: conversation.Addressed, Revision: m.Revision, By: order.By,
		}})
	}
	return entry, comes
}

// Absent reports whether the bot is not in a channel. Slack is asked, and where it does
// not answer, what it said last counts; what is not known is taken for a yes.
func (r *Recorder) Absent(ctx context.Context, team, channel string) bool {
	ask, cancel := context.WithTimeout(ctx, time.Second) // Slack waits three seconds for its answer
	defer cancel()
	c, err := r.Directory.Channel(ask, channel)
	if err == nil {
		return !c.Member
	}
	if refused, ok := errors.AsType[*slack.Error](err); ok && refused.Kind == slack.Final {
		return refused.Code == "channel_not_found"
	}
	r.Logger.WarnContext(ctx, "not known whether the bot is in a channel", "channel", channel, "error", fmt.Errorf("ask Slack: %w", err))
	known, err := r.Store.Channels(ctx, team, []string{channel})
	return err == nil && !known[channel].Refreshed.IsZero() && !known[channel].Member
}
