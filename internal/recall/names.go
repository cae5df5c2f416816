package recall

import (
	"context"
	"regexp"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
)

// freshFor is how long a name is believed before Slack is asked again.
const freshFor = 24 * time.Hour

// askAtMost bounds how many names Slack is asked for in one build, and askFor for
// how long: names are worth less than the answer that waits for them.
const (
	askAtMost = 20
	askFor    = 5 * time.Second
)

var (
	mentionedUser    = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^>]*)?>`)
	mentionedChannel = regexp.MustCompile(`<#([A-Z0-9]+)(?:\|[^>]*)?>`)
)

// users is the display names of all who speak or are spoken of.
func (b *Builder) users(ctx context.Context, team string, own slack.Identity, messages []chat.Message) map[string]string {
	var ids []string
	add := func(id string) {
		if id != "" && id != own.UserID && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, m := range messages {
		if !m.Own {
			add(m.UserID)
		}
		for _, match := range mentionedUser.FindAllStringSubmatch(m.Text, -1) {
			add(match[1])
		}
	}
	names := map[string]string{own.UserID: b.Persona.Name}
	known, err := b.Store.Users(ctx, team, ids)
	if err != nil {
		b.Logger.Warn("names of users not read", "error", err)
	}
	ask, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	asked := 0
	for _, id := range ids {
		user, ok := known[id]
		if stale := !ok || b.Clock().Sub(user.Refreshed) > freshFor; stale && asked < askAtMost && ask.Err() == nil {
			asked++
			if fresh, err := b.Directory.User(ask, id); err != nil {
				b.Logger.Warn("name of user not learnt", "user", id, "error", err)
			} else {
				user = store.User{ID: id, Name: fresh.Name, Bot: fresh.IsBot, Refreshed: b.Clock()}
				if err := b.Store.SaveUser(ctx, team, user); err != nil {
					b.Logger.Warn("name of user not kept", "user", id, "error", err)
				}
			}
		}
		if user.Name != "" {
			names[id] = user.Name
		}
	}
	return names
}

// channels is the names of the conversation's channel and of those that Slack
// itself names in the text; the name of another channel is not looked up, since
// it may be private.
func (b *Builder) channels(ctx context.Context, c chat.Conversation, messages []chat.Message) map[string]string {
	ids := []string{c.Channel}
	for _, m := range messages {
		for _, match := range mentionedChannel.FindAllStringSubmatch(m.Text, -1) {
			if !slices.Contains(ids, match[1]) {
				ids = append(ids, match[1])
			}
		}
	}
	known, err := b.Store.Channels(ctx, c.Team, ids)
	if err != nil {
		b.Logger.Warn("names of channels not read", "error", err)
		known = map[string]store.Channel{}
	}
	if here := known[c.Channel]; b.Clock().Sub(here.Refreshed) > freshFor {
		ask, cancel := context.WithTimeout(ctx, askFor)
		defer cancel()
		if fresh, err := b.Directory.Channel(ask, c.Channel); err != nil {
			b.Logger.Warn("name of channel not learnt", "channel", c.Channel, "error", err)
		} else {
			here = store.Channel{ID: c.Channel, Name: fresh.Name, Private: fresh.Private, Refreshed: b.Clock()}
			known[c.Channel] = here
			if err := b.Store.SaveChannel(ctx, c.Team, here); err != nil {
				b.Logger.Warn("name of channel not kept", "channel", c.Channel, "error", err)
			}
		}
	}
	names := map[string]string{}
	for id, channel := range known {
		if channel.Name != "" && (id == c.Channel || !channel.Private) {
			names[id] = channel.Name
		}
	}
	return names
}
