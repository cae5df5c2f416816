package sandbox

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"
)

// visible is the channel named by the call, if the bot may read it. A private
// channel that it is not in does not exist for it
// (docs.slack.dev/reference/methods/conversations.history, errors).
func (c *call) visible() (*Channel, error) {
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
	ch, err := c.visible()
	if err != nil {
		return nil, err
	}
	found, err := c.inRange(ch, (*Message).topLevel)
	if err != nil {
		return nil, err
	}
	slices.Reverse(found)
	limit, err := c.limit(100, 999)
	if err != nil {
		return nil, err
	}
	// The cursor names the message to go on with, so that what is said between two
	// calls shifts nothing.
	start := 0
	if cursor, err := c.cursor(); err != nil {
		return nil, err
	} else if cursor != "" {
		start = slices.IndexFunc(found, func(m *Message) bool { return m.TS <= cursor })
	}
	page, next := cut(found, start, limit)
	return c.messages(ch, page, next), nil
}

// conversationsReplies lists a thread, oldest first, its root at the head
// (docs.slack.dev/reference/methods/conversations.replies).
func (c *call) conversationsReplies() (reply, error) {
	ch, err := c.visible()
	if err != nil {
		return nil, err
	}
	root := ch.find(c.Get("ts"))
	if root == nil || root.visible.After(time.Now()) {
		return nil, apiError("thread_not_found")
	}
	// The ts of a reply yields that reply alone, not its thread
	// (seen in github.com/slackapi/bolt-python/issues/783).
	in := func(m *Message) bool { return m == root }
	if !root.Reply() {
		in = func(m *Message) bool { return m == root || m.ThreadTS == root.TS }
	}
	found, err := c.inRange(ch, in)
	if err != nil {
		return nil, err
	}
	limit, err := c.limit(1000, 1000)
	if err != nil {
		return nil, err
	}
	start := 0
	if cursor, err := c.cursor(); err != nil {
		return nil, err
	} else if cursor != "" {
		start = slices.IndexFunc(found, func(m *Message) bool { return m.TS >= cursor })
	}
	page, next := cut(found, start, limit)
	if c.cfg.RepeatRoot && !slices.Contains(page, root) {
		page = slices.Insert(page, 0, root)
	}
	return c.messages(ch, page, next), nil
}

// inRange are the messages between oldest and latest; those on the bounds only
// with inclusive (docs.slack.dev/reference/methods/conversations.history, "Pagination by time").
func (c *call) inRange(ch *Channel, in func(*Message) bool) ([]*Message, error) {
	oldest, latest, inclusive := c.Get("oldest"), c.Get("latest"), c.flag("inclusive")
	for name, bound := range map[string]string{"oldest": oldest, "latest": latest} {
		if _, err := strconv.ParseFloat(bound, 64); bound != "" && err != nil {
			return nil, apiError("invalid_ts_" + name)
		}
	}
	now := time.Now()
	var found []*Message
	for _, m := range ch.messages {
		after := oldest == "" || compareTS(m.TS, oldest) > 0 || inclusive && compareTS(m.TS, oldest) == 0
		before := latest == "" || compareTS(m.TS, latest) < 0 || inclusive && compareTS(m.TS, latest) == 0
		if after && before && in(m) && !m.visible.After(now) {
			found = append(found, m)
		}
	}
	return found, nil
}

// compareTS compares as numbers do: bounds need not have six decimals.
func compareTS(a, b string) int {
	norm := func(ts string) string {
		sec, frac, _ := strings.Cut(ts, ".")
		return strings.Repeat("0", max(0, 12-len(sec))) + sec + "." + (frac + "000000")[:6]
	}
	return strings.Compare(norm(a), norm(b))
}

// messages answers with a page. Metadata is left out unless all of it is asked
// for (docs.slack.dev/messaging/message-metadata).
func (c *call) messages(ch *Channel, page []*Message, next *Message) reply {
	out := make([]*Message, 0, len(page))
	for _, m := range page {
		wire := c.bare(ch, m)
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

// cut takes the page that begins at start, and the item after it.
func cut[T any](items []T, start, limit int) (page []T, next T) {
	if start < 0 || start > len(items) {
		start = len(items)
	}
	end := min(start+limit, len(items))
	if end < len(items) {
		next = items[end]
	}
	return slices.Clone(items[start:end]), next
}

func (c *call) limit(normal, most int) (int, error) {
	n := normal
	if s := c.Get("limit"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 0 || n > most {
			return 0, apiError("invalid_limit")
		}
		if n == 0 {
			n = normal
		}
	}
	if c.cfg.PageSize > 0 {
		n = min(n, c.cfg.PageSize)
	}
	return n, nil
}

// Cursors are opaque; Slack's are base64 (docs.slack.dev/apis/web-api/pagination).
func encodeCursor(at string) string { return base64.StdEncoding.EncodeToString([]byte("next:" + at)) }

func (c *call) cursor() (string, error) {
	raw, err := base64.StdEncoding.DecodeString(c.Get("cursor"))
	at, ok := strings.CutPrefix(string(raw), "next:")
	if err != nil || !ok && len(raw) > 0 {
		return "", apiError("invalid_cursor")
	}
	return at, nil
}

// list pages through anything with ids, in a fixed order.
func list[T any](c *call, key string, items []T) (reply, error) {
	limit, err := c.limit(100, 1000)
	if err != nil {
		return nil, err
	}
	cursor, err := c.cursor()
	if err != nil {
		return nil, err
	}
	start, _ := strconv.Atoi(cursor)
	page := []T{}
	next := ""
	if start < len(items) {
		end := min(start+limit, len(items))
		page = items[start:end]
		if end < len(items) {
			next = encodeCursor(strconv.Itoa(end))
		}
	}
	return reply{key: page, "response_metadata": reply{"next_cursor": next}}, nil
}

// usersConversations lists what the bot, or a given user, is in
// (docs.slack.dev/reference/methods/users.conversations).
func (c *call) usersConversations() (reply, error) {
	who := c.Get("user")
	if who == "" {
		who = c.bot.UserID
	}
	return c.conversations(func(ch *Channel) bool { return slices.Contains(ch.Members, who) })
}

// conversationsList lists all that the bot could see (docs.slack.dev/reference/methods/conversations.list).
func (c *call) conversationsList() (reply, error) {
	return c.conversations(func(ch *Channel) bool { return ch.Kind == Public || c.botIn(ch) })
}

// conversations filters by types, which are public channels alone unless told otherwise.
func (c *call) conversations(in func(*Channel) bool) (reply, error) {
	types := c.Get("types")
	setDefault(&types, "public_channel")
	var found []reply
	for _, ch := range c.channels {
		kind := map[Kind]string{Public: "public_channel", Private: "private_channel", DM: "im"}[ch.Kind]
		wanted := slices.Contains(strings.Split(types, ","), kind)
		if wanted && in(ch) && !(ch.Archived && c.flag("exclude_archived")) {
			found = append(found, c.describe(ch))
		}
	}
	return list(c, "channels", found)
}

// describe is the channel object (docs.slack.dev/reference/objects/conversation-object).
func (c *call) describe(ch *Channel) reply {
	r := reply{
		"id": ch.ID, "created": ch.Created, "is_im": ch.Kind == DM, "is_archived": ch.Archived,
		"is_private": ch.Kind != Public, "is_channel": ch.Kind != DM, "is_group": ch.Kind == Private, "is_mpim": false,
		"is_ext_shared": c.shared(ch), "context_team_id": c.cfg.Team,
	}
	if ch.Kind == DM {
		// A DM has no name; it has the other user.
		r["user"] = ch.Members[0]
		return r
	}
	r["name"], r["name_normalized"] = ch.Name, ch.Name
	r["is_member"] = c.botIn(ch)
	r["topic"], r["purpose"] = reply{"value": ""}, reply{"value": ""}
	return r
}

func (c *call) conversationsInfo() (reply, error) {
	ch, err := c.visible()
	if ch == nil { // a public channel can be looked at from outside
		return nil, err
	}
	r := c.describe(ch)
	if c.flag("include_num_members") {
		r["num_members"] = len(ch.Members)
	}
	return reply{"channel": r}, nil
}

func (c *call) conversationsMembers() (reply, error) {
	ch, err := c.visible()
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
