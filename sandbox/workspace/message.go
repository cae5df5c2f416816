package workspace

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Message is a message in Slack's JSON.
type Message struct {
	Type         string          `json:"type"`
	Subtype      string          `json:"subtype,omitempty"`
	Hidden       bool            `json:"hidden,omitempty"`
	User         string          `json:"user,omitempty"`
	BotID        string          `json:"bot_id,omitempty"`
	AppID        string          `json:"app_id,omitempty"`
	Username     string          `json:"username,omitempty"`
	Text         string          `json:"text"`
	TS           string          `json:"ts"`
	ClientMsgID  string          `json:"client_msg_id,omitempty"`
	Team         string          `json:"team,omitempty"`
	UserTeam     string          `json:"user_team,omitempty"`
	SourceTeam   string          `json:"source_team,omitempty"`
	BotProfile   *BotProfile     `json:"bot_profile,omitempty"`
	Blocks       json.RawMessage `json:"blocks,omitempty"`
	Attachments  json.RawMessage `json:"attachments,omitempty"`
	Files        []File          `json:"files,omitempty"`
	Upload       bool            `json:"upload,omitempty"`
	Edited       *Edited         `json:"edited,omitempty"`
	Reactions    []Reaction      `json:"reactions,omitempty"`
	Metadata     *Metadata       `json:"metadata,omitempty"`
	ThreadTS     string          `json:"thread_ts,omitempty"`
	ParentUserID string          `json:"parent_user_id,omitempty"`
	OldName      string          `json:"old_name,omitempty"` // of a renamed channel
	Name         string          `json:"name,omitempty"`
	Root         *Message        `json:"root,omitempty"`

	// Set on a thread's parent once it has replies.
	ReplyCount      int      `json:"reply_count,omitempty"`
	ReplyUsersCount int      `json:"reply_users_count,omitempty"`
	LatestReply     string   `json:"latest_reply,omitempty"`
	ReplyUsers      []string `json:"reply_users,omitempty"`

	visibleFrom time.Time // hidden from history and replies until then, by the machine's clock
}

// Edited describes the newest edit. Its ts has whole seconds, so two edits within a second
// share it; only their event_ts differ (seen in github.com/slack-go/slack/issues/352).
type Edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// BotProfile is part of the messages of apps.
type BotProfile struct {
	ID     string `json:"id"`
	AppID  string `json:"app_id"`
	Name   string `json:"name"`
	TeamID string `json:"team_id"`
}

// Reaction is one emoji and the users who chose it.
type Reaction struct {
	Name  string   `json:"name"`
	Users []string `json:"users"`
	Count int      `json:"count"`
}

// Metadata is attached to a message by an app.
type Metadata struct {
	EventType    string         `json:"event_type"`
	EventPayload map[string]any `json:"event_payload"`
}

// Reply reports whether the message is in a thread and not its root.
func (m *Message) Reply() bool { return m.ThreadTS != "" && m.ThreadTS != m.TS }

// topLevel reports whether conversations.history shows the message. It shows a reply only
// if it was also sent to the channel (docs.slack.dev/reference/methods/conversations.history).
func (m *Message) topLevel() bool { return !m.Reply() || m.Subtype == "thread_broadcast" }

func (m *Message) clone() *Message {
	c := *m
	c.Files = slices.Clone(m.Files)
	c.ReplyUsers = slices.Clone(m.ReplyUsers)
	c.Reactions = nil
	for _, r := range m.Reactions {
		r.Users = slices.Clone(r.Users)
		c.Reactions = append(c.Reactions, r)
	}
	return &c
}

// insert adds a message in order of ts and updates its thread's parent. Callers hold mu.
func (w *Workspace) insert(c *Channel, m *Message) {
	at, _ := slices.BinarySearchFunc(c.messages, m.TS,
		func(m *Message, ts string) int { return strings.Compare(m.TS, ts) })
	c.messages = slices.Insert(c.messages, at, m)
	if root := c.find(m.ThreadTS); root != nil && m.Reply() {
		c.recount(root)
		w.hub.send(change{Kind: "message", Channel: c.ID, Message: root.clone()})
	}
	w.hub.send(change{Kind: "message", Channel: c.ID, Message: m.clone()})
	w.notify()
}

func (c *Channel) find(ts string) *Message {
	if ts == "" {
		return nil
	}
	at, ok := slices.BinarySearchFunc(c.messages, ts,
		func(m *Message, ts string) int { return strings.Compare(m.TS, ts) })
	if !ok {
		return nil
	}
	return c.messages[at]
}

// replies are the messages of a thread without its root, oldest first.
func (c *Channel) replies(root string) []*Message {
	var out []*Message
	for _, m := range c.messages {
		if m.Reply() && m.ThreadTS == root {
			out = append(out, m)
		}
	}
	return out
}

// recount updates a parent's fields about its thread. Once somebody has replied, a parent
// has thread_ts equal to its ts (docs.slack.dev/messaging/retrieving-messages#threads).
func (c *Channel) recount(root *Message) {
	root.ThreadTS, root.ReplyCount, root.LatestReply, root.ReplyUsers = "", 0, "", nil
	for _, m := range c.replies(root.TS) {
		who := m.User
		if who == "" {
			who = m.BotID // docs.slack.dev/reference/methods/conversations.replies: reply_users may hold bot ids
		}
		root.ThreadTS, root.LatestReply = root.TS, m.TS
		root.ReplyCount++
		if !slices.Contains(root.ReplyUsers, who) {
			root.ReplyUsers = append(root.ReplyUsers, who)
		}
	}
	root.ReplyUsersCount = len(root.ReplyUsers)
}

// Messages returns a channel's messages with replies and metadata, oldest first.
func (w *Workspace) Messages(channel string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Message
	if c := w.channel(channel); c != nil {
		for _, m := range c.messages {
			out = append(out, *m.clone())
		}
	}
	return out
}
