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
	// maxRead bounds how many promises, and how many proposals, are read and counted.
	maxRead = 1000
)

// promises lists what the bot has promised in the channel and its threads.
func (h *Handler) promises(ctx context.Context, r request) (text, result string) {
	all, err := h.Store.Promises(ctx, store.ChoiceFilter{Team: r.own.TeamID, Channel: r.Channel, Limit: maxRead})
	if err != nil {
		return h.internalError(ctx, r, "promises", err)
	}
	open, hidden, err := h.seen(ctx, r, all)
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
	text += h.heldText(p, p.Location()) + ": " + slack.Escape(p.What)
	if p.Unless != "" {
		text += " (" + h.say("unless: %s", slack.Escape(p.Unless)) + ")"
	}
	if p.Asker != "" {
		text += " – <@" + p.Asker + ">"
	}
	return text
}

// heldText says until when a promise is held up; "" if it is not.
func (h *Handler) heldText(p store.Promise, zone *time.Location) string {
	if p.Held().IsZero() {
		return ""
	}
	return ", " + h.say("held up until %s", slackTime(p.Held(), zone))
}

// promisedText counts open promises, and says when the bot turns to the first; "" if there are none.
func (h *Handler) promisedText(r request, open []store.Promise) string {
	if len(open) == 0 {
		return ""
	}
	next := slices.MinFunc(open, func(a, b store.Promise) int { return a.Begins().Compare(b.Begins()) })
	sentence := "%d promises, next %s. `%s promises` lists them."
	if len(open) == 1 {
		sentence = "%d promise, next %s. `%s promises` tells what."
	}
	return h.say(sentence, len(open), slackTime(next.Begins(), next.Location()), quoted(r.Name))
}

// seen are the promises of a channel that a user may see. hidden is set if there are others.
func (h *Handler) seen(ctx context.Context, r request, all []store.Promise) (open []store.Promise, hidden bool,
	err error) {
	if !r.outsider {
		return all, false, nil
	}
	since, err := h.sharedSince(ctx, r)
	open = slices.DeleteFunc(slices.Clone(all), func(p store.Promise) bool { return !forOutsider(p, r.User, since) })
	return open, len(open) < len(all), err
}

// forOutsider reports whether an outsider may see a promise of a channel that has been shared since a time,
// zero if it is not. A promise may quote what was said before it: outsiders see those that they asked for
// and, in a shared channel, those made since it has been shared.
func forOutsider(p store.Promise, user string, shared time.Time) bool {
	return p.Asker == user || !shared.IsZero() && !p.Stored().Before(shared)
}
