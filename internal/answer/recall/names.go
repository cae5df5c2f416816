package recall

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// nameMaxAge is how long a saved name is used before Slack is asked again.
const nameMaxAge = 24 * time.Hour

// maxNameRequests and nameTimeout bound the requests to Slack for one context: the answer that waits
// is worth more than names. maxNames bounds the names looked up at all, because one message
// can hold thousands.
const (
	maxNameRequests = 20
	nameTimeout     = 5 * time.Second
	maxNames        = 500
)

var (
	mentionedUser = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^>]*)?>`)
	// rememberedUser matches what a memory may hold where nobody knew a name.
	rememberedUser   = regexp.MustCompile(`\b([UW][A-Z0-9]{8,})\b`)
	mentionedChannel = regexp.MustCompile(`<#([A-Z0-9]+)(?:\|[^>]*)?>`)
)

// idSet collects distinct ids, at most maxNames.
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

// NamesIn returns the names of people, by the ids that stand in some memories.
func (b *Builder) NamesIn(ctx context.Context, team string, memories []chat.ChannelMemory) (map[string]string, error) {
	who := idSet{seen: map[string]bool{}}
	who.addRemembered(memories)
	known, err := b.Store.Users(ctx, team, who.list)
	if err != nil {
		return nil, err
	}
	b.refreshUsers(ctx, team, who, known)
	names := map[string]string{}
	for id, user := range known {
		if user.Name != "" {
			names[id] = user.Name
		}
	}
	return names, nil
}

func (i *idSet) addRemembered(memories []chat.ChannelMemory) {
	for _, m := range memories {
		for _, text := range []string{m.LongTerm, m.ShortTerm} {
			for _, match := range rememberedUser.FindAllStringSubmatch(text, -1) {
				if strings.ContainsAny(match[1], "0123456789") { // a word in capitals has none
					i.add(match[1])
				}
			}
		}
	}
}

// usersIn returns the authors and the mentioned users, without the bot. Authors come first, so that
// many mentions cannot crowd them out.
func usersIn(messages []chat.Message, own string) idSet {
	who := idSet{seen: map[string]bool{own: true}}
	for _, m := range messages {
		if !m.Own {
			who.add(m.UserID)
		}
	}
	for _, m := range messages {
		who.addAll(mentionedUser, m.Text)
		for _, r := range m.Reactions {
			who.add(r.UserID)
		}
	}
	return who
}

// channelsIn returns the conversation's channel and the channels linked in the texts.
func channelsIn(messages []chat.Message, c chat.Conversation) idSet {
	which := idSet{seen: map[string]bool{}}
	which.add(c.Channel)
	for _, m := range messages {
		which.addAll(mentionedChannel, m.Text)
	}
	return which
}

// refreshUsers asks Slack for those users that are unknown or older than nameMaxAge, saves what it says, and updates
// known.
func (b *Builder) refreshUsers(ctx context.Context, team string, who idSet, known map[string]store.User) {
	ask, cancel := timeout.After(ctx, nameTimeout)
	defer cancel()
	asked := 0
	for _, id := range who.list {
		user := known[id]
		if b.Clock().Sub(user.Refreshed) <= nameMaxAge || asked == maxNameRequests || ask.Err() != nil {
			continue
		}
		asked++
		at := b.Clock()
		fresh, err := b.Users.User(ask, id)
		if err != nil && !isUnknownUser(err) {
			b.Logger.WarnContext(ctx, "user name not refreshed", "user", id, "error", err)
			continue
		}
		// A user unknown to Slack is saved, too: Slack is not asked again for a day.
		if err == nil {
			user = channels.User(fresh, at)
		}
		user.ID, user.Refreshed = id, at
		known[id] = user
		if err := b.Store.SaveUsers(ctx, team, user); err != nil {
			b.Logger.WarnContext(ctx, "user name not saved", "user", id, "error", err)
		}
	}
}

// isUnknownUser reports whether Slack knows no such user. Anybody can write <@NOBODY>.
func isUnknownUser(err error) bool {
	e, ok := errors.AsType[*slack.Error](err)
	return ok && slices.Contains([]string{"user_not_found", "users_not_found", "user_not_visible", "bot_not_found"},
		e.Code)
}

// refreshChannel asks Slack for the conversation's channel if what is known is older than nameMaxAge, and updates
// known.
func (b *Builder) refreshChannel(ctx context.Context, c chat.Conversation, known store.Names) {
	if b.Clock().Sub(known.Refreshed[c.Channel]) <= nameMaxAge {
		return
	}
	fresh, _ := b.Directory.Refresh(ctx, c.Team, c.Channel, nameTimeout) // which logs its error
	if fresh.Name != "" {
		known.Channels[c.Channel] = fresh.Name
	}
}

// labels reports whether a name that Slack wrote into a text may be shown. For a channel that
// the bot was never in, it is the only name. Slack writes the names of public channels
// only, but a channel may have become private since, which only events may have told.
func labels(c chat.Conversation, which idSet, known store.Names) func(id string) bool {
	return func(id string) bool {
		return known.Channels[id] != "" || which.seen[id] && known.Refreshed[id].IsZero() &&
			(id == c.Channel || !known.Private[id])
	}
}

// withoutHiddenNames removes the channel names from a text that label forbids.
func withoutHiddenNames(text string, label func(id string) bool) string {
	return mentionedChannel.ReplaceAllStringFunc(text, func(mention string) string {
		if id := mentionedChannel.FindStringSubmatch(mention)[1]; !label(id) {
			return "<#" + id + ">"
		}
		return mention
	})
}
