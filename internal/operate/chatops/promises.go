package chatops

import (
	"context"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/language/words"
	"myao/internal/operate/choice"
	"myao/internal/slack"
	"myao/internal/store"
)

const (
	// maxPromises bounds how many promises are listed, so that Slack shows the whole answer.
	maxPromises = 20
	// readPromises bounds how many are read and counted.
	readPromises = 1000
)

// promises lists what the bot has promised in the channel and its threads.
func (h *Handler) promises(ctx context.Context, r request) (text, result string) {
	open, hidden, err := h.openPromises(ctx, r)
	switch {
	case err != nil:
		return h.internalError(ctx, r, "promises", err)
	case len(open) == 0 && hidden:
		return h.say("Guests and people from other companies see only what they asked for, and what I promised since " +
			"this channel has been shared."), done
	case len(open) == 0:
		return h.say("I have promised nothing here that is still open."), done
	}
	var lines []string
	for _, p := range open[:min(len(open), maxPromises)] {
		lines = append(lines, "• "+h.promiseText(r, p))
	}
	if more := len(open) - maxPromises; more > 0 {
		lines = append(lines, h.say("… and %d more", more))
	}
	return strings.Join(append(lines, h.say("The button under its message cancels a promise.")), "\n"), done
}

// promiseText is a promise in one line. When it is due links to the message that confirms it, if the
// address of the workspace is known.
func (h *Handler) promiseText(r request, p store.Promise) string {
	text := choice.WhenDue(words.In(h.Config.Language), p)
	if r.own.URL != "" {
		text = "<" + chat.Link(r.own.URL, p.ChannelID, p.ShownTS, p.ThreadTS) + "|" + text + ">"
	}
	if held := p.Held(); held.After(h.Clock()) {
		text += ", " + h.say("held up until %s", slackTime(held, p.Location()))
	}
	text += ": " + slack.Escape(p.What)
	if p.Unless != "" {
		text += " (" + h.say("unless: %s", slack.Escape(p.Unless)) + ")"
	}
	if p.Asker != "" {
		text += " – <@" + p.Asker + ">"
	}
	return text
}

// promisedText counts what the bot has promised in the channel and its threads, and says when it turns
// to the first; "" if there is nothing.
func (h *Handler) promisedText(ctx context.Context, r request) (string, error) {
	open, _, err := h.openPromises(ctx, r)
	if err != nil || len(open) == 0 {
		return "", err
	}
	next := slices.MinFunc(open, func(a, b store.Promise) int { return a.Begins().Compare(b.Begins()) })
	sentence := "%d promises, next %s. `%s promises` lists them."
	if len(open) == 1 {
		sentence = "%d promise, next %s. `%s promises` tells what."
	}
	return h.say(sentence, len(open), slackTime(next.Begins(), next.Location()), quoted(r.Name)), nil
}

// openPromises returns the open promises of the channel and its threads that a user may see, those due
// first coming first. hidden is set if there are others.
func (h *Handler) openPromises(ctx context.Context, r request) (open []store.Promise, hidden bool, err error) {
	open, err = h.Store.Promises(ctx, store.ChoiceFilter{Team: r.own.TeamID, Channel: r.Channel, Limit: readPromises})
	if err != nil || !r.outsider {
		return open, false, err
	}
	since, err := h.sharedSince(ctx, r)
	all := len(open)
	open = slices.DeleteFunc(open, func(p store.Promise) bool { return !forOutsider(p, r.User, since) })
	return open, len(open) < all, err
}

// forOutsider reports whether an outsider may see a promise of a channel that has been shared since a time,
// zero if it is not. A promise may quote what was said before it: outsiders see those that they asked for
// and, in a shared channel, those made since it has been shared.
func forOutsider(p store.Promise, user string, shared time.Time) bool {
	return p.Asker == user || !shared.IsZero() && !p.Stored().Before(shared)
}
