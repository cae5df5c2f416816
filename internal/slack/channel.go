package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	slackapi "github.com/slack-go/slack"
)

// Channel is what Slack tells of a channel or direct message.
type Channel struct {
	ID string
	// Name is without the "#"; empty for a direct message.
	Name string
	// Private is set for whatever Slack does not say that everybody in the workspace can
	// read it, direct messages included.
	Private bool
	// External is set where people of other companies are in it, too (docs.slack.dev/apis/slack-connect).
	External bool
	// Direct is set for the direct message of one person with the bot.
	Direct bool
	Member bool
	// Archived is set for a channel that is closed, and for the direct message of
	// somebody whose account is.
	Archived bool
}

// Channel looks up a channel (docs.slack.dev/reference/methods/conversations.info).
func (c *Client) Channel(ctx context.Context, id string) (Channel, error) {
	const method = "conversations.info"
	if !validID(id) {
		return Channel{}, argument(method, "malformed channel id")
	}
	ctx, answer := withAnswer(ctx)
	if _, err := c.api.GetConversationInfoContext(ctx, &slackapi.GetConversationInfoInput{ChannelID: id}); err != nil {
		return Channel{}, c.fail(method, err)
	}
	o, ok := answer.object("channel")
	if !ok {
		// Taking an unknown channel for a public one would open a private one's memory.
		return Channel{}, unreadable(method, errors.New("no channel"))
	}
	return readChannel(o, id), nil
}

// ChannelPage is a page of channels.
type ChannelPage struct {
	Channels []Channel
	// Next is the cursor of the following page; empty on the last.
	Next string
	// NoGroups is set where group direct messages are left out, since the token may not
	// list them (mpim:read).
	NoGroups bool
}

// withoutGroupsPrefix begins the cursors of a listing that leaves group direct messages out: a cursor
// of Slack's is one of the listing that it was given for.
const withoutGroupsPrefix = "without mpim:"

// listPageSize is the most that Slack allows, and more than it recommends (pageSize): tens of
// thousands of conversations are to be listed within the calls that it allows a minute.
const listPageSize = 999

// Conversations reads a page of the channels and direct messages that the bot is in, archived
// ones among them (docs.slack.dev/reference/methods/users.conversations); the cursor of the
// first page is "". A page with an entry that names no channel is an error as a whole: to pass
// over it would make a channel look as if the bot had left it.
//
// Slack refuses the whole listing where the scope for one of its types is missing, and an app
// that was installed before group direct messages were asked for lacks theirs: then the
// listing is made without them, which is a second request.
func (c *Client) Conversations(ctx context.Context, cursor string) (ChannelPage, error) {
	types := []string{"public_channel", "private_channel", "im"}
	if after, ok := strings.CutPrefix(cursor, withoutGroupsPrefix); ok {
		return c.listWithoutGroups(ctx, after, types)
	}
	page, err := c.list(ctx, cursor, append(types, "mpim"))
	if refused, ok := errors.AsType[*Error](err); ok && cursor == "" && refused.Code == "missing_scope" {
		return c.listWithoutGroups(ctx, "", types)
	}
	return page, err
}

func (c *Client) listWithoutGroups(ctx context.Context, cursor string, types []string) (ChannelPage, error) {
	page, err := c.list(ctx, cursor, types)
	if err != nil {
		return ChannelPage{}, err
	}
	page.NoGroups = true
	if page.Next != "" {
		page.Next = withoutGroupsPrefix + page.Next
	}
	return page, nil
}

func (c *Client) list(ctx context.Context, cursor string, types []string) (ChannelPage, error) {
	const method = "users.conversations"
	ctx, answer := withAnswer(ctx)
	_, next, err := c.api.GetConversationsForUserContext(ctx, &slackapi.GetConversationsForUserParameters{
		Cursor: cursor, Limit: listPageSize, Types: types,
	})
	if err != nil {
		return ChannelPage{}, c.fail(method, err)
	}
	entries, err := answer.items(method, "channels", next)
	if err != nil {
		return ChannelPage{}, err
	}
	page := ChannelPage{Next: next}
	for i, raw := range entries {
		o, _ := parseObject(raw)
		id, err := o.id("id")
		if err != nil || id == "" {
			return ChannelPage{}, unreadable(method, fmt.Errorf("channel %d of the page has no valid id", i))
		}
		channel := readChannel(o, id)
		channel.Member = true // to be listed is to be in it; Slack leaves is_member out here
		page.Channels = append(page.Channels, channel)
	}
	return page, nil
}

// readChannel reads a channel object (docs.slack.dev/reference/objects/conversation-object).
func readChannel(o object, id string) Channel {
	direct := o.flag("is_im") || strings.HasPrefix(id, "D")
	channel := Channel{
		ID:       id,
		Name:     singleLine(o.text("name")),
		Private:  direct || !isPublic(o),
		External: o.flag("is_ext_shared"),
		Direct:   direct,
		Member:   direct || o.flag("is_member"),
		Archived: o.flag("is_archived") || direct && o.flag("is_user_deleted"),
	}
	if direct {
		channel.Name = ""
	}
	return channel
}

// isPublic reports whether Slack says that everybody in the workspace can read a channel. What it
// leaves open, or says in a way that cannot be read, is not said. is_channel counts only where
// is_private is absent: private channels are channels, too.
func isPublic(o object) bool {
	for _, key := range []string{"is_private", "is_group", "is_mpim", "is_im"} {
		if _, told := o[key]; told && !o.isExactly(key, false) {
			return false
		}
	}
	return o.isExactly("is_private", false) || o.isExactly("is_channel", true)
}
