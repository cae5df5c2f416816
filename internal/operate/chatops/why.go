package chatops

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/language/words"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// maxDecisions bounds how many decisions are listed.
const maxDecisions = 5

// why lists the latest decisions in the channel and its threads, or those about one message.
func (h *Handler) why(ctx context.Context, r request) (text, result string) {
	options := timeline.Options{
		Threads: true, Settings: h.Directory.Settings(ctx, r.conversation.Team, r.conversation.Channel),
		Prices:      h.Config.LLM.Prices,
		LedgerSince: h.Config.Retention.LedgerSince(h.Clock()),
	}
	var about string // ts
	if len(r.args) > 0 {
		channel, ts, ok := ParseMessage(strings.Join(r.args, " "))
		switch {
		case !ok:
			return h.say("I do not know which message you mean. Give me its link (Copy link) or its ts, such as " +
				"`1700000000.000100`."), refused
		case channel != "" && channel != r.conversation.Channel:
			return h.say("That message is in another channel. Ask me there."), refused
		}
		about, options.MessageTS = ts, ts
	}
	story, err := timeline.Read(ctx, h.Store, r.conversation, options)
	if errors.Is(err, store.ErrNotFound) {
		return h.say("I do not know that message."), done
	}
	if err != nil {
		return h.internalError(ctx, r, "why", err)
	}
	if hidden, err := h.hideFromOutsider(ctx, r, &story); err != nil {
		return h.internalError(ctx, r, "why", err)
	} else if hidden {
		return h.say("Guests and people from other companies see only what I decided since this channel has been " +
			"shared."), done
	}
	text = story.Brief(maxDecisions, options.Settings.Zone, r.own.URL, words.In(h.Config.Language))
	unheard := h.unheard(options.Settings)
	heard := func(e timeline.Entry) bool {
		return e.Message != nil && e.Message.TS == about && len(e.Message.Changes) > 0
	}
	switch {
	case text != "" && about == "" && unheard != "":
		return text + "\n" + unheard, done
	case text != "":
		return text, done
	case options.MessageTS != "" && chat.Time(options.MessageTS).Before(options.LedgerSince):
		return h.say("That is too long ago: I no longer have a record of it."), done
	case slices.ContainsFunc(story.Entries, func(e timeline.Entry) bool {
		return e.Message != nil && e.Message.TS == about && e.Message.OnlyEdited()
	}):
		return h.say("I know only an edit of that message, and I do not answer edits alone."), done
	}
	if unheard != "" && !slices.ContainsFunc(story.Entries, heard) {
		return unheard, done
	}
	return h.say("I have decided nothing about that yet."), done
}

// unheard says which messages the bot does not even decide about in a channel, or returns "".
func (h *Handler) unheard(s config.ChannelSettings) string {
	switch {
	case s.Mode == config.ModeOff && s.ModeInSlack:
		return h.say("I am off in this channel: somebody has set its mode to `off` in Slack.")
	case s.Mode == config.ModeOff:
		return h.say("I am off in this channel: its mode is `off` in my configuration.")
	case s.Mode == config.ModeMention && s.ModeInSlack:
		return h.say("In this channel I only answer who mentions me: somebody has set its mode to `mention` in Slack.")
	case s.Mode == config.ModeMention:
		return h.say("In this channel I only answer who mentions me: its mode is `mention` in my configuration.")
	}
	return ""
}

// hideFromOutsider removes the decisions from before the channel was shared, or all while it is not,
// if an outsider asks. hidden is set if no others remain.
func (h *Handler) hideFromOutsider(ctx context.Context, r request, story *timeline.Timeline) (hidden bool, err error) {
	if !r.outsider {
		return false, nil
	}
	since, err := h.sharedSince(ctx, r)
	if err != nil {
		return false, err
	}
	decided := func(e timeline.Entry) bool { return e.Decision != nil }
	before := slices.ContainsFunc(story.Entries, decided)
	story.Entries = slices.DeleteFunc(story.Entries, func(e timeline.Entry) bool {
		return decided(e) && (since.IsZero() || e.At.Before(since))
	})
	return before && !slices.ContainsFunc(story.Entries, decided), nil
}

// sharedSince is since when the channel has been shared with outsiders; zero if it is not.
func (h *Handler) sharedSince(ctx context.Context, r request) (time.Time, error) {
	known, err := h.Store.Channels(ctx, r.conversation.Team, []string{r.conversation.Channel})
	return known[r.conversation.Channel].Shared, err
}

// linkEnd matches the last part of a link to a message.
var linkEnd = regexp.MustCompile(`^p(\d{10,})(\d{6})(?:\?\S*)?$`)

// ParseMessage parses a reference to a message: its ts, or a link, which names the channel too. Of a
// ts alone channel is empty. ok is false for anything else.
func ParseMessage(s string) (channel, ts string, ok bool) {
	if chat.ValidTS(s) {
		return "", s, true
	}
	if l, ok := chat.ParseLink(s); ok && l.TS != "" && !strings.HasPrefix(s, "http:") { // as Slack gives no link
		return l.Channel, l.TS, true
	}
	parts := linkEnd.FindStringSubmatch(s)
	if parts == nil {
		return "", "", false
	}
	ts = parts[1] + "." + parts[2]
	return "", ts, chat.ValidTS(ts)
}
