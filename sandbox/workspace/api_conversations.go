package workspace

import (
	"slices"
	"strconv"
	"strings"
)

// readableChannel returns the channel named by the call, with an error unless the bot may
// read it. For a private channel that the bot is not in, Slack answers channel_not_found
// (docs.slack.dev/reference/methods/conversations.history, errors).
func (c *call) readableChannel() (*Channel, error) {
	ch := c.channelByID(c.Get("channel"))
	switch {
	case ch == nil:
		return nil, apiError("channel_not_found")
	case c.botIn(ch):
		return ch, nil
	case ch.Kind == Public:
		return ch, apiError("not_in_channel")
	}
	return nil, apiError("channel_not_found")
}

func (w *Workspace) channelByID(id string) *Channel {
	if c := w.channel(id); c != nil && c.ID == id {
		return c
	}
	return nil
}

// conversationsHistory lists the top level, newest first
// (docs.slack.dev/reference/methods/conversations.history).
func (c *call) conversationsHistory() (reply, error) {
	ch, err := c.readableChannel()
	if err != nil {
		return nil, err
	}
	found, err := c.inRange(ch, (*Message).topLevel)
	if err != nil {
		return nil, err
	}
	forward := c.cfg.OldestPageFirst && c.Get("oldest") != "" && c.Get("latest") == ""
	if !forward {
		slices.Reverse(found)
	}
	page, next, err := c.page(found, 100, 999, forward)
	if err != nil {
		return nil, err
	}
	if forward {
		slices.Reverse(page)
	}
	return c.messages(ch, page, next), nil
}

// conversationsReplies lists a thread, root first, then oldest first
// (docs.slack.dev/reference/methods/conversations.replies).
func (c *call) conversationsReplies() (reply, error) {
	ch, err := c.readableChannel()
	if err != nil {
		return nil, err
	}
	root := ch.find(c.Get("ts"))
	if root == nil || root.visibleFrom.After(c.cfg.Clock()) {
		return nil, apiError("thread_not_found")
	}
	// For the ts of a reply Slack returns only that reply, not its thread
	// (seen in github.com/slackapi/bolt-python/issues/783).
	in := func(m *Message) bool { return m == root }
	if !root.Reply() {
		in = func(m *Message) bool { return m == root || m.ThreadTS == root.TS }
	}
	found, err := c.inRange(ch, in)
	if err != nil {
		return nil, err
	}
	page, next, err := c.page(found, 1000, 1000, true)
	if err != nil {
		return nil, err
	}
	if c.cfg.RepeatRoot && !slices.Contains(page, root) {
		page = slices.Insert(page, 0, root)
	}
	return c.messages(ch, page, next), nil
}

// inRange returns the messages between oldest and latest. The bounds themselves count only
// with inclusive (docs.slack.dev/reference/methods/conversations.history, "Pagination by time").
func (c *call) inRange(ch *Channel, in func(*Message) bool) ([]*Message, error) {
	oldest, latest, inclusive := c.Get("oldest"), c.Get("latest"), c.flag("inclusive")
	for name, bound := range map[string]string{"oldest": oldest, "latest": latest} {
		if _, err := strconv.ParseFloat(bound, 64); bound != "" && err != nil {
			return nil, apiError("invalid_ts_" + name)
		}
	}
	now := c.cfg.Clock()
	var found []*Message
	for _, m := range ch.messages {
		after := oldest == "" || compareTS(m.TS, oldest) > 0 || inclusive && compareTS(m.TS, oldest) == 0
		before := latest == "" || compareTS(m.TS, latest) < 0 || inclusive && compareTS(m.TS, latest) == 0
		if after && before && in(m) && !m.visibleFrom.After(now) {
			found = append(found, m)
		}
	}
	return found, nil
}

// compareTS compares numerically, because bounds need not have six decimals.
func compareTS(a, b string) int {
	norm := func(ts string) string {
		sec, frac, _ := strings.Cut(ts, ".")
		return strings.Repeat("0", max(0, 12-len(sec))) + sec + "." + (frac + "000000")[:6]
	}
	return strings.Compare(norm(a), norm(b))
}

// messages answers with a page. It leaves out metadata unless include_all_metadata is set
// (docs.slack.dev/messaging/message-metadata).
func (c *call) messages(ch *Channel, page []*Message, next *Message) reply {
	out := make([]*Message, 0, len(page))
	for _, m := range page {
		wire := c.wireMessage(ch, m)
		if c.flag("include_all_metadata") {
			wire.Metadata = m.Metadata
		}
		out = append(out, wire)
	}
	answer := reply{"messages": out, "has_more": next != nil, "response_metadata": reply{"next_cursor": ""}}
	if next != nil {
		answer["response_metadata"] = reply{"next_cursor": encodeCursor(next.TS)}
	}
	return answer
}

// usersConversations lists the conversations of a user, by default the bot. Of another user Slack lists
// only public channels, and others that the bot is in
// (docs.slack.dev/reference/methods/users.conversations).
func (c *call) usersConversations() (reply, error) {
	who := c.Get("user")
	if who == "" {
		who = c.bot.UserID
	}
	answer, err := c.conversations(func(ch *Channel) bool {
		return slices.Contains(ch.Members, who) &&
			(ch.Kind == Public || c.botIn(ch))
	})
	if err != nil {
		return nil, err
	}
	for _, ch := range answer["channels"].([]reply) {
		delete(ch, "is_member") // the examples in its reference have none
	}
	return answer, nil
}

// conversationsList lists the conversations that the bot can see (docs.slack.dev/reference/methods/conversations.list).
func (c *call) conversationsList() (reply, error) {
	return c.conversations(func(ch *Channel) bool { return ch.Kind == Public || c.botIn(ch) })
}

// conversations lists the conversations of the requested types; the default is public channels.
func (c *call) conversations(in func(*Channel) bool) (reply, error) {
	wanted, err := c.types()
	if err != nil {
		return nil, err
	}
	limit, cursor, err := c.limitAndCursor(100, 1000)
	if err != nil {
		return nil, err
	}
	// The cursor names a channel, so that leaving or archiving one between two calls does
	// not shift the pages.
	var found []*Channel
	reached := cursor == ""
	for _, ch := range c.channels {
		reached = reached || ch.ID == cursor
		if reached && slices.Contains(wanted, ch.Kind) && in(ch) && !(ch.Archived && c.flag("exclude_archived")) {
			found = append(found, ch)
		}
	}
	page, next := takePage(found, 0, limit)
	out := make([]reply, 0, len(page))
	for _, ch := range page {
		out = append(out, c.describe(ch))
	}
	answer := reply{"channels": out, "response_metadata": reply{"next_cursor": ""}}
	if next != nil {
		answer["response_metadata"] = reply{"next_cursor": encodeCursor(next.ID)}
	}
	return answer, nil
}

// scopes are the scopes that listing conversations of each kind needs.
var scopes = map[Kind]string{Public: "channels:read", Private: "groups:read", DM: "im:read", GroupDM: "mpim:read"}

func (c *call) types() ([]Kind, error) {
	types := c.Get("types")
	setDefault(&types, "public_channel")
	var kinds []Kind
	for name := range strings.SplitSeq(types, ",") {
		kind, ok := map[string]Kind{"public_channel": Public, "private_channel": Private, "im": DM,
			"mpim": GroupDM}[name]
		if !ok {
			return nil, apiError("invalid_types")
		}
		if !c.granted(scopes[kind]) {
			return nil, apiError("missing_scope")
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// describe returns the channel object (docs.slack.dev/reference/objects/conversation-object).
func (c *call) describe(ch *Channel) reply {
	if ch.Kind == DM {
		// A DM has no name, only the other user.
		u := c.user(ch.Members[0])
		return reply{
			"id": ch.ID, "created": ch.Created, "is_im": true, "is_org_shared": false, "context_team_id": c.cfg.Team,
			"user": ch.Members[0], "is_user_deleted": u != nil && u.Deleted, "priority": 0,
		}
	}
	// is_group is only true of old private channels, whose ids begin with G. Newer ones have
	// is_channel and is_private.
	return reply{
		"id": ch.ID, "created": ch.Created, "name": ch.Name, "name_normalized": ch.Name,
		"is_channel": true, "is_group": false, "is_im": false, "is_mpim": ch.Kind == GroupDM,
		"is_private": ch.Kind != Public, "is_archived": ch.Archived, "is_member": c.botIn(ch),
		"is_ext_shared": c.shared(ch), "context_team_id": c.cfg.Team,
		"topic": reply{"value": ""}, "purpose": reply{"value": ""},
	}
}

func (c *call) conversationsInfo() (reply, error) {
	ch, err := c.readableChannel()
	if ch == nil { // a public channel needs no membership
		return nil, err
	}
	r := c.describe(ch)
	if c.flag("include_num_members") {
		r["num_members"] = len(ch.Members)
	}
	return reply{"channel": r}, nil
}

func (c *call) conversationsMembers() (reply, error) {
	ch, err := c.readableChannel()
	if ch == nil {
		return nil, err
	}
	return list(c, "members", ch.Members)
}

// conversationsOpen opens a DM with one user (docs.slack.dev/reference/methods/conversations.open).
func (c *call) conversationsOpen() (reply, error) {
	who := c.Get("users")
	if c.user(who) == nil {
		return nil, apiError("user_not_found")
	}
	return reply{"channel": reply{"id": c.dm(who).ID}}, nil
}
