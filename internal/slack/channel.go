package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	slackapi "github.com/slack-go/slack"
)

// Channel is a channel or direct message as Slack describes it.
type Channel struct {
	ID string
	// Name is without the "#"; empty for a direct message.
	Name string
	// Private is set unless Slack says that everybody in the workspace can read the channel.
	// Direct messages are private.
	Private bool
	// External is set if people of other companies are members, too (docs.slack.dev/apis/slack-connect).
	External bool
	// OrgShared is set if people of other workspaces of the same organisation are members, too,
	// unless they count as the workspace's own (Config.TrustOrg).
	OrgShared bool
	// Direct is set for the direct message between one person and the bot.
	Direct bool
	Member bool
	// Archived is set for an archived channel, and for a direct message with a person whose
	// account was deactivated.
	Archived bool
}

// Channel looks up a channel (docs.slack.dev/reference/methods/conversations.info).
func (c *Client) Channel(ctx context.Context, id string) (Channel, error) {
	const method = "conversations.info"
	if !validID(id) {
		return Channel{}, argument(method, "malformed channel id")
	}
	ctx, answer := withAnswer(ctx)
	_, err := c.api().GetConversationInfoContext(ctx, &slackapi.GetConversationInfoInput{ChannelID: id})
	if err != nil {
		return Channel{}, c.fail(method, err)
	}
	o, ok := answer.object("channel")
	if !ok {
		// Otherwise an unknown channel would count as public, and a private one's memory would be open.
		return Channel{}, unreadable(method, errors.New("no channel"))
	}
	return c.readChannel(o, id), nil
}

// OpenDirect returns the id of the direct message between a user and the bot, which it opens if there is none
// (docs.slack.dev/reference/methods/conversations.open).
func (c *Client) OpenDirect(ctx context.Context, user string) (string, error) {
	const method = "conversations.open"
	if !validID(user) {
		return "", argument(method, "malformed user id")
	}
	opened, _, _, err := c.api().OpenConversationContext(ctx,
		&slackapi.OpenConversationParameters{Users: []string{user}})
	if err != nil {
		return "", c.fail(method, err)
	}
	if !validID(opened.ID) {
		return "", unreadable(method, errors.New("no channel"))
	}
	return opened.ID, nil
}

// ChannelPage is a page of channels.
type ChannelPage struct {
	Channels []Channel
	// Next is the cursor of the following page; empty on the last.
	Next string
	// NoGroups is set if group direct messages are left out, because the token may not list
	// them (mpim:read).
	NoGroups bool
}

// withoutGroupsPrefix marks the cursors of a listing without group direct messages. Slack's cursors
// belong to the listing that they were given for.
const withoutGroupsPrefix = "without mpim:"

// listPageSize is the most that Slack allows. That is more than it recommends (pageSize), so that
// tens of thousands of channels can be listed within Slack's limit of calls a minute.
const listPageSize = 999

// Conversations reads a page of the channels and direct messages that the bot is in, including
// archived ones (docs.slack.dev/reference/methods/users.conversations). The cursor of the first
// page is "". An entry without a channel id makes the whole page an error: without the entry it
// would look as if the bot had left the channel.
//
// Slack refuses the whole listing if the scope for one of the types is missing. An app that was
// installed before the manifest asked for mpim:read lacks it. Then a second request lists the
// channels without group direct messages.
func (c *Client) Conversations(ctx context.Context, cursor string) (ChannelPage, error) {
	return c.ConversationsOf(ctx, "", cursor)
}

// ConversationsOf is Conversations for a user: the public channels that they are in, and the others
// that both they and the bot are in. With an empty user it is for the bot.
func (c *Client) ConversationsOf(ctx context.Context, user, cursor string) (ChannelPage, error) {
	types := []string{"public_channel", "private_channel", "im"}
	if after, ok := strings.CutPrefix(cursor, withoutGroupsPrefix); ok {
		return c.listWithoutGroups(ctx, user, after, types)
	}
	page, err := c.list(ctx, user, cursor, append(types, "mpim"))
	if refused, ok := errors.AsType[*Error](err); ok && cursor == "" && refused.Code == "missing_scope" {
		return c.listWithoutGroups(ctx, user, "", types)
	}
	return page, err
}

// IsIn reports whether a user is in a channel. Slack does not say so of a private one that the bot is not in.
func (c *Client) IsIn(ctx context.Context, channel, user string) (bool, error) {
	for cursor := ""; ; {
		page, err := c.ConversationsOf(ctx, user, cursor)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(page.Channels, func(in Channel) bool { return in.ID == channel }) {
			return true, nil
		}
		if cursor = page.Next; cursor == "" {
			return false, nil
		}
	}
}

func (c *Client) listWithoutGroups(ctx context.Context, user, cursor string, types []string) (ChannelPage, error) {
	page, err := c.list(ctx, user, cursor, types)
	if err != nil {
		return ChannelPage{}, err
	}
	page.NoGroups = true
	if page.Next != "" {
		page.Next = withoutGroupsPrefix + page.Next
	}
	return page, nil
}

func (c *Client) list(ctx context.Context, user, cursor string, types []string) (ChannelPage, error) {
	const method = "users.conversations"
	ctx, answer := withAnswer(ctx)
	_, next, err := c.api().GetConversationsForUserContext(ctx, &slackapi.GetConversationsForUserParameters{
		UserID: user, Cursor: cursor, Limit: listPageSize, Types: types, TeamID: c.teamID,
	})
	if err != nil {
		return ChannelPage{}, c.fail(method, err)
	}
	page, err := c.readPage(method, answer, next)
	for i := range page.Channels {
		page.Channels[i].Member = user == "" // only members' channels are listed; Slack leaves is_member out here
	}
	return page, err
}

// VisibleChannels reads a page of the channels that the bot can see: the public ones, and the private
// ones that it is in; none that is archived (docs.slack.dev/reference/methods/conversations.list). The
// cursor of the first page is "".
func (c *Client) VisibleChannels(ctx context.Context, cursor string) (ChannelPage, error) {
	const method = "conversations.list"
	ctx, answer := withAnswer(ctx)
	_, next, err := c.api().GetConversationsContext(ctx, &slackapi.GetConversationsParameters{
		Cursor: cursor, Limit: listPageSize, ExcludeArchived: true,
		Types: []string{"public_channel", "private_channel"}, TeamID: c.teamID,
	})
	if err != nil {
		return ChannelPage{}, c.fail(method, err)
	}
	return c.readPage(method, answer, next)
}

// readPage reads the channels of a listing. Its error leaves the page empty.
func (c *Client) readPage(method string, answer *object, next string) (ChannelPage, error) {
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
		page.Channels = append(page.Channels, c.readChannel(o, id))
	}
	return page, nil
}

// readChannel reads a channel object (docs.slack.dev/reference/objects/conversation-object).
func (c *Client) readChannel(o object, id string) Channel {
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
	// A channel of the whole organisation is is_global_shared. shared_team_ids names the own
	// workspace, too; in a Slack Connect channel the others belong to other companies.
	channel.OrgShared = !c.trustOrg && !direct &&
		(o.flag("is_org_shared") || o.flag("is_global_shared") || !channel.External &&
			len(o.list("shared_team_ids")) > 1)
	return channel
}

// isPublic reports whether Slack says that everybody in the workspace can read a channel. An absent
// or malformed field says nothing. is_channel counts only if is_private is absent, because it is set
// for private channels, too.
func isPublic(o object) bool {
	for _, key := range []string{"is_private", "is_group", "is_mpim", "is_im"} {
		if _, there := o[key]; there && !o.isExactly(key, false) {
			return false
		}
	}
	return o.isExactly("is_private", false) || o.isExactly("is_channel", true)
}
