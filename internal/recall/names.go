package recall

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"myao/internal/channels"
	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
)

// freshFor is how long a name is believed before Slack is asked again.
const freshFor = 24 * time.Hour

// askAtMost bounds how many names Slack is asked for in one build, and askFor for
// how long: names are worth less than the answer that waits for them. nameAtMost
// bounds how many are looked up at all: one message has room for thousands.
const (
	askAtMost  = 20
	askFor     = 5 * time.Second
	nameAtMost = 500
)

var (
	mentionedUser    = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^>]*)?>`)
	mentionedChannel = regexp.MustCompile(`<#([A-Z0-9]+)(?:\|[^>]*)?>`)
)

// ids gathers ids, each once and no more than nameAtMost.
type ids struct {
	list []string
	seen map[string]bool
}

func (i *ids) add(id string) {
	if id != "" && !i.seen[id] && len(i.list) < nameAtMost {
		i.seen[id] = true
		i.list = append(i.list, id)
	}
}

func (i *ids) addAll(pattern *regexp.Regexp, text string) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		i.add(match[1])
	}
}

// users is the display names of all who speak or are spoken of: those who speak
// come first, so that nobody hides them behind a heap of mentions.
func (b *Builder) users(ctx context.Context, team string, own slack.Identity, messages []chat.Message) map[string]string {
	who := ids{seen: map[string]bool{own.UserID: true}}
	for _, m := range messages {
		if !m.Own {
			who.add(m.UserID)
		}
	}
	for _, m := range messages {
		who.addAll(mentionedUser, m.Text)
	}
	names := map[string]string{own.UserID: b.Persona.Name}
	known, err := b.Store.Users(ctx, team, who.list)
	if err != nil {
		b.Logger.WarnContext(ctx, "names of users not read", "error", err)
	}
	ask, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	asked := 0
	for _, id := range who.list {
		user, ok := known[id]
		if stale := !ok || b.Clock().Sub(user.Refreshed) > freshFor; stale && asked < askAtMost && ask.Err() == nil {
			asked++
			if fresh, err := b.Directory.User(ask, id); err != nil && !unknown(err) {
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

// unknown reports whether Slack says that there is no such user: anybody can write <@NOBODY>.
func unknown(err error) bool {
	var e *slack.Error
	return errors.As(err, &e) && slices.Contains([]string{"user_not_found", "users_not_found", "user_not_visible", "bot_not_found"}, e.Code)
}

// channels is the names of the conversation's channel and of those that Slack
// itself names in the text, as far as they may be known there. Only the former is
// asked of Slack. label reports of which others the name may be shown that Slack wrote
// into the text: a channel that the bot has never been in has no other. Slack names none
// that not everybody may read, but it may have been closed since.
func (b *Builder) channels(ctx context.Context, c chat.Conversation, messages []chat.Message) (names map[string]string, label func(id string) bool) {
	which := ids{seen: map[string]bool{}}
	which.add(c.Channel)
	for _, m := range messages {
		which.addAll(mentionedChannel, m.Text)
	}
	known, readErr := b.Store.Channels(ctx, c.Team, which.list)
	if readErr != nil {
		b.Logger.WarnContext(ctx, "channels not read", "channel", c.Channel, "error", readErr)
	}
	b.refresh(ctx, c, known[c.Channel])
	names, err := b.Store.ChannelNames(ctx, c.Team, c.Channel, which.list)
	if err != nil {
		b.Logger.WarnContext(ctx, "names of channels not read", "error", err)
		names = map[string]string{}
	}
	return names, func(id string) bool {
		return names[id] != "" || which.seen[id] && readErr == nil && known[id].Refreshed.IsZero()
	}
}

// unlabelled is a text without those names of channels that may not be shown.
func unlabelled(text string, label func(id string) bool) string {
	return mentionedChannel.ReplaceAllStringFunc(text, func(mention string) string {
		if id := mentionedChannel.FindStringSubmatch(mention)[1]; !label(id) {
			return "<#" + id + ">"
		}
		return mention
	})
}

// refresh asks Slack for what it says of a channel, if that is a day old.
func (b *Builder) refresh(ctx context.Context, c chat.Conversation, known store.Channel) {
	if b.Clock().Sub(known.Refreshed) <= freshFor {
		return
	}
	ask := channels.Asker{Store: b.Store, Source: b.Directory, Clock: b.Clock, Logger: b.Logger}
	ask.Ask(ctx, c.Team, c.Channel, askFor)
}
