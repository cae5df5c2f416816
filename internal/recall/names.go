package recall

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
)

// nameMaxAge is how long a name is believed before Slack is asked again.
const nameMaxAge = 24 * time.Hour

// maxNameRequests bounds how many names Slack is asked for in one build, and askFor for
// how long: names are worth less than the answer that waits for them. nameAtMost
// bounds how many are looked up at all: one message has room for thousands.
const (
	maxNameRequests = 20
	nameTimeout     = 5 * time.Second
	maxNames        = 500
)

var (
	mentionedUser    = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^>]*)?>`)
	mentionedChannel = regexp.MustCompile(`<#([A-Z0-9]+)(?:\|[^>]*)?>`)
)

// idSet gathers ids, each once and no more than nameAtMost.
type idSet struct {
	list []string
	seen map[string]bool
}

func (i *idSet) add(id string) {
	if id != "" && !i.seen[id] && len(i.list) < maxNames {
		i.seen[id] = true
		i.list = append(i.list, id)
	}
}

func (i *idSet) addAll(pattern *regexp.Regexp, text string) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		i.add(match[1])
	}
}

// usersIn is all who speak or are spoken of, but for the bot: those who speak come
// first, so that nobody hides them behind a heap of mentions.
func usersIn(messages []chat.Message, own slack.Identity) idSet {
	who := idSet{seen: map[string]bool{own.UserID: true}}
	for _, m := range messages {
		if !m.Own {
			who.add(m.UserID)
		}
	}
	for _, m := range messages {
		who.addAll(mentionedUser, m.Text)
	}
	return who
}

// channelsIn is the conversation's channel and those that Slack itself names in the text.
func channelsIn(messages []chat.Message, c chat.Conversation) idSet {
	which := idSet{seen: map[string]bool{}}
	which.add(c.Channel)
	for _, m := range messages {
		which.addAll(mentionedChannel, m.Text)
	}
	return which
}

// users is the display names of users. Slack is asked for those that are not known, or
// were asked for a day ago.
func (b *Builder) users(ctx context.Context, team string, own slack.Identity, who idSet, known map[string]store.User) map[string]string {
	names := map[string]string{own.UserID: b.Persona.Name}
	ask, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	asked := 0
	for _, id := range who.list {
		user := known[id]
		if stale := b.Clock().Sub(user.Refreshed) > nameMaxAge; stale && asked < maxNameRequests && ask.Err() == nil {
			asked++
			if fresh, err := b.Users.User(ask, id); err != nil && !isUnknownUser(err) {
				b.Logger.WarnContext(ctx, "name of user not learnt", "user", id, "error", err)
			} else {
				// Whom Slack does not know is not asked for again for a day.
				user = store.User{ID: id, Name: cmp.Or(fresh.Name, user.Name), Bot: fresh.IsBot, Refreshed: b.Clock()}
				if err := b.Store.SaveUser(ctx, team, user); err != nil {
					b.Logger.WarnContext(ctx, "name of user not kept", "user", id, "error", err)
				}
			}
		}
		if user.Name != "" {
			names[id] = user.Name
		}
	}
	return names
}

// isUnknownUser reports whether Slack says that there is no such user: anybody can write <@NOBODY>.
func isUnknownUser(err error) bool {
	e, ok := errors.AsType[*slack.Error](err)
	return ok && slices.Contains([]string{"user_not_found", "users_not_found", "user_not_visible", "bot_not_found"}, e.Code)
}

// channels is the names of channels as far as they may be known in the conversation's own,
// which alone is asked of Slack. label reports of which others the name may be shown that
// Slack wrote into the text: a channel that the bot has never been in has no other. Slack
// names none that not everybody may read, but it may have been closed since, and of some
// that only events have told of it is known that they are private.
func (b *Builder) channels(ctx context.Context, c chat.Conversation, which idSet, known store.Names) (names map[string]string, label func(id string) bool) {
	names = map[string]string{}
	for _, id := range which.list {
		name := known.Channels[id]
		if id == c.Channel {
			name = cmp.Or(b.refresh(ctx, c, known.Refreshed[id]), name)
		}
		if name != "" {
			names[id] = name
		}
	}
	return names, func(id string) bool {
		return names[id] != "" || which.seen[id] && known.Refreshed[id].IsZero() && (id == c.Channel || !known.Private[id])
	}
}

// withoutHiddenNames is a text without those names of channels that may not be shown.
func withoutHiddenNames(text string, label func(id string) bool) string {
	return mentionedChannel.ReplaceAllStringFunc(text, func(mention string) string {
		if id := mentionedChannel.FindStringSubmatch(mention)[1]; !label(id) {
			return "<#" + id + ">"
		}
		return mention
	})
}

// refresh asks Slack for what it says of a channel, if that is a day old, and returns the
// name that it tells, if any.
func (b *Builder) refresh(ctx context.Context, c chat.Conversation, described time.Time) (name string) {
	if b.Clock().Sub(described) <= nameMaxAge {
		return ""
	}
	fresh, _ := b.Directory.Refresh(ctx, c.Team, c.Channel, nameTimeout)
	return fresh.Name
}
