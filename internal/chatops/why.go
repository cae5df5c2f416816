package chatops

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"myao/internal/chat"
	"myao/internal/ledger"
	"myao/internal/store"
	"myao/internal/words"
)

// maxDecisions is how many decisions are told of.
const maxDecisions = 5

// why tells what was decided in the channel and its threads, or about one message.
func (d *Handler) why(ctx context.Context, r request) (text, result string) {
	options := ledger.Options{
		Threads: true, Settings: d.Directory.Settings(ctx, r.conversation.Team, r.conversation.Channel), Prices: d.Config.LLM.Prices,
		LedgerSince: d.Config.Retention.LedgerSince(d.Clock()),
	}
	var about string // ts
	if len(r.args) > 0 {
		channel, ts, ok := parseMessage(strings.Join(r.args, " "))
		switch {
		case !ok:
			return d.say("I do not know which message that is. Give me its link (Copy link), or its ts, as `1700000000.000100`."), refused
		case channel != "" && channel != r.conversation.Channel:
			return d.say("That message is in another channel. Ask me there."), refused
		}
		about, options.MessageTS = ts, ts
	}
	story, err := ledger.Read(ctx, d.Store, r.conversation, options)
	if errors.Is(err, store.ErrNotFound) {
		return d.say("I have not heard of that message."), done
	}
	if err != nil {
		return d.internalError(ctx, r, "why", err)
	}
	text = story.Brief(maxDecisions, options.Settings.Zone, words.In(d.Config.Language))
	switch {
	case text != "":
		return text, done
	case options.MessageTS != "" && chat.Time(options.MessageTS).Before(options.LedgerSince):
		return d.say("That is so long ago that I do not know any more."), done
	case slices.ContainsFunc(story.Entries, func(e ledger.Entry) bool { return e.Message != nil && e.Message.TS == about && e.Message.OnlyEdited() }):
		return d.say("I have not heard of that message, only of an edit of it, which alone asks nothing of me."), done
	}
	return d.say("I have decided nothing about that yet."), done
}

// A link to a message, bare or as Slack writes it in a text, and what else names one
// (docs.slack.dev/reference/methods/chat.getPermalink).
var permalinkPattern = regexp.MustCompile(`^<?(?:https://[^/\s<>|]+/archives/([A-Z0-9]+)/)?p(\d{10,})(\d{6})(?:\?[^\s<>|]*)?(?:\|[^<>]*)?>?$`)

// parseMessage reads which message somebody means: its ts, or its link, which tells the channel too.
func parseMessage(s string) (channel, ts string, ok bool) {
	if chat.ValidTS(s) {
		return "", s, true
	}
	parts := permalinkPattern.FindStringSubmatch(s)
	if parts == nil {
		return "", "", false
	}
	ts = parts[2] + "." + parts[3]
	return parts[1], ts, chat.ValidTS(ts)
}
