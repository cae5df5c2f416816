package workspace

import (
	"slices"
	"strings"
	"time"
)

// SayOption changes how a message is said.
type SayOption func(*saying)

type saying struct {
	thread    string
	broadcast bool
	me        bool
	unseen    bool
	at        time.Time
	files     []*storedFile
}

// InThread makes the message a reply to the message with this ts.
func InThread(ts string) SayOption { return func(s *saying) { s.thread = ts } }

// Broadcast also sends a reply to the channel.
func Broadcast() SayOption { return func(s *saying) { s.broadcast = true } }

// Me makes the message a /me message.
func Me() SayOption { return func(s *saying) { s.me = true } }

// WithoutEvent delivers no event, as if the app had been down.
func WithoutEvent() SayOption { return func(s *saying) { s.unseen = true } }

// At sets the time of the message; its ts is the first free one from then on.
func At(t time.Time) SayOption { return func(s *saying) { s.at = t } }

// App is another app that posts messages.
type App struct {
	BotID, Name string
	// UserID is the app's user, or a member of the channel, who then writes through the app: Slack names both in the
	// same way. It is empty for an incoming webhook or a classic bot, whose messages have the subtype bot_message and
	// no user (docs.slack.dev/reference/events/message/bot_message).
	UserID string
}

// Say posts a person's message, delivers its events and returns its ts. text is Slack's
// mrkdwn with ids in mentions. Say returns "" if there is no such channel.
func (w *Workspace) Say(channel, user, text string, opts ...SayOption) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &Message{Type: "message", User: user, Text: text, Team: w.cfg.Team, ClientMsgID: "00000000-0000-4000-8000-" +
		strings.Repeat("0", 5) + w.nextID("")}
	if u := w.user(user); u != nil && u.Team != w.cfg.Team {
		// Messages from another workspace carry its team (docs.slack.dev/apis/slack-connect).
		m.Team, m.UserTeam, m.SourceTeam = u.Team, u.Team, u.Team
	}
	m.Blocks = richText(text)
	return w.say(channel, m, opts)
}

// otherApp is the id of every app but the bot's.
const otherApp = "A0OTHER"

// SayAsApp posts a message of another app and returns its ts.
func (w *Workspace) SayAsApp(channel string, by App, text string, opts ...SayOption) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &Message{Type: "message", User: by.UserID, BotID: by.BotID, Text: text}
	if by.UserID == "" {
		m.Subtype, m.Username = "bot_message", by.Name
	} else {
		if u, c := w.user(by.UserID), w.channel(channel); u != nil && c != nil &&
			!slices.Contains(c.Members, by.UserID) {
			u.Bot, u.BotID = true, by.BotID
		}
		m.Team, m.AppID = w.cfg.Team, otherApp
		m.BotProfile = &BotProfile{ID: by.BotID, AppID: m.AppID, Name: by.Name, TeamID: w.cfg.Team}
	}
	return w.say(channel, m, opts)
}

func (w *Workspace) say(channel string, m *Message, opts []SayOption) string {
	c := w.channel(channel)
	if c == nil {
		return ""
	}
	var s saying
	for _, opt := range opts {
		opt(&s)
	}
	m.TS = w.freeTS(c, s.at)
	w.store(c, m, s.files)
	switch {
	case len(s.files) > 0:
		m.Subtype, m.Upload = "file_share", true
	case s.me:
		m.Subtype = "me_message"
	}
	w.thread(c, m, s.thread, s.broadcast)
	w.insert(c, m)
	if !s.unseen {
		w.emitMessage(c, m)
	}
	return m.TS
}

func (w *Workspace) freeTS(c *Channel, at time.Time) string {
	if at.IsZero() {
		return w.nextTS()
	}
	micros := at.UnixMicro()
	for c.find(formatTS(micros)) != nil {
		micros++
	}
	w.mu.lastTS = max(w.mu.lastTS, micros)
	return formatTS(micros)
}

// thread makes m a reply if the message named by thread exists.
func (w *Workspace) thread(c *Channel, m *Message, thread string, broadcast bool) {
	root := c.find(thread)
	if root == nil {
		return
	}
	if root.Reply() {
		root = c.find(root.ThreadTS)
		if root == nil {
			return
		}
	}
	m.ThreadTS, m.ParentUserID = root.TS, root.User
	if broadcast {
		m.Subtype = "thread_broadcast"
	}
}

// Edit changes a person's message and delivers the message_changed event.
func (w *Workspace) Edit(channel, ts, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channel(channel)
	if c == nil || c.find(ts) == nil {
		return
	}
	m := c.find(ts)
	w.edit(c, m, m.User, func(m *Message) { m.Text, m.Blocks = text, richText(text) })
}

func (w *Workspace) edit(c *Channel, m *Message, by string, how func(*Message)) {
	before := m.clone()
	how(m)
	now := w.nextTS()
	seconds, _, _ := strings.Cut(now, ".")
	m.Edited = &Edited{User: by, TS: seconds + ".000000"}
	w.hub.send(change{Kind: "message", Channel: c.ID, Message: m.clone()})
	w.notify()
	w.emitChanged(c, now, m, before)
}

// Delete removes a message. Like Slack it delivers message_deleted, or message_changed to a
// tombstone if the message has a thread.
func (w *Workspace) Delete(channel, ts string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.channel(channel); c != nil {
		if m := c.find(ts); m != nil {
			w.remove(c, m)
		}
	}
}

func (w *Workspace) remove(c *Channel, m *Message) {
	w.discard(m.Files) // Slack deletes a message's files with it
	w.show(c.ID, m.TS, "")
	before, now := m.clone(), w.nextTS()
	defer w.notify()
	if m.ReplyCount > 0 {
		// A parent with replies becomes a tombstone by Slack's own user, and the event is
		// message_changed (seen in github.com/42wim/matterbridge/issues/600).
		*m = Message{Type: "message", Subtype: "tombstone", Hidden: true, User: "USLACKBOT",
			Text: "This message was deleted.",
			TS:   m.TS, ThreadTS: m.TS, ParentUserID: "USLACKBOT",
			ReplyCount: m.ReplyCount, ReplyUsersCount: m.ReplyUsersCount, LatestReply: m.LatestReply,
			ReplyUsers: m.ReplyUsers}
		w.hub.send(change{Kind: "message", Channel: c.ID, Message: m.clone()})
		w.emitChanged(c, now, m, before)
		return
	}
	w.drop(c, m)
	w.emitDeleted(c, now, before)
	if root := c.find(m.ThreadTS); root != nil && m.Reply() {
		c.recount(root)
		if root.Subtype == "tombstone" && root.ReplyCount == 0 {
			// The last reply takes the tombstone with it (seen in github.com/slack-edge/slack-edge/pull/10).
			w.drop(c, root)
			w.emitDeleted(c, w.nextTS(), root.clone())
			return
		}
		w.hub.send(change{Kind: "message", Channel: c.ID, Message: root.clone()})
	}
}

func (w *Workspace) drop(c *Channel, m *Message) {
	c.messages = slices.DeleteFunc(c.messages, func(o *Message) bool { return o == m })
	w.hub.send(change{Kind: "deleted", Channel: c.ID, TS: m.TS})
}

// React adds a person's reaction and delivers reaction_added.
func (w *Workspace) React(channel, ts, user, name string) { w.react(channel, ts, user, name, true) }

// Unreact removes a person's reaction and delivers reaction_removed.
func (w *Workspace) Unreact(channel, ts, user, name string) { w.react(channel, ts, user, name, false) }

func (w *Workspace) react(channel, ts, user, name string, on bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.setReaction(channel, ts, user, name, on)
}

func (w *Workspace) setReaction(channel, ts, user, name string, on bool) error {
	c := w.channel(channel)
	if c == nil {
		return apiError("channel_not_found")
	}
	m := c.find(ts)
	if m == nil {
		return apiError("message_not_found")
	}
	i := slices.IndexFunc(m.Reactions, func(r Reaction) bool { return r.Name == name })
	has := i >= 0 && slices.Contains(m.Reactions[i].Users, user)
	event := "reaction_added"
	switch {
	case on && has:
		return apiError("already_reacted")
	case !on && !has:
		return apiError("no_reaction")
	case on && i < 0:
		m.Reactions = append(m.Reactions, Reaction{Name: name, Users: []string{user}, Count: 1})
	case on:
		m.Reactions[i].Users = append(m.Reactions[i].Users, user)
		m.Reactions[i].Count++
	default:
		event = "reaction_removed"
		m.Reactions[i].Users = slices.DeleteFunc(m.Reactions[i].Users, func(id string) bool { return id == user })
		if m.Reactions[i].Count--; m.Reactions[i].Count == 0 {
			m.Reactions = slices.Delete(m.Reactions, i, i+1)
		}
	}
	w.hub.send(change{Kind: "message", Channel: c.ID, Message: m.clone()})
	w.notify()
	now := w.nextTS()
	w.emit(c, event, now, map[string]any{
		"type": event, "user": user, "reaction": name, "item_user": m.User, "event_ts": now,
		"item": map[string]any{"type": "message", "channel": c.ID, "ts": ts},
	})
	return nil
}
