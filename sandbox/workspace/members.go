package workspace

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// User is a person or the user of an app.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	RealName string `json:"real_name"`
	// Display is the profile's display name. Many people leave it empty; Slack then shows
	// the real name (docs.slack.dev/reference/objects/user-object).
	Display string `json:"display_name"`
	// Team differs from the workspace's for external people in a Slack Connect channel.
	Team string `json:"team_id"`
	// Guest is set for a guest, who sees only the channels that they are in.
	Guest bool   `json:"is_restricted,omitempty"`
	Bot   bool   `json:"is_bot"`
	BotID string `json:"bot_id,omitempty"`
	// Zone is the IANA name of the person's time zone; UTC if it is empty or unknown.
	Zone string `json:"tz,omitempty"`
	// Deleted is set once the account is deactivated.
	Deleted bool `json:"deleted,omitempty"`
}

// Kind is a channel's channel_type.
type Kind string

// The kinds of channel (docs.slack.dev/reference/events/message, channel_type).
const (
	Public  Kind = "channel"
	Private Kind = "group"
	DM      Kind = "im"
	GroupDM Kind = "mpim"
)

func (k Kind) direct() bool { return k == DM || k == GroupDM }

// Channel is a conversation in Slack's sense, with its messages.
type Channel struct {
	ID       string
	Kind     Kind
	Name     string
	Members  []string
	Archived bool
	Created  int64
	messages []*Message   // by ts, including replies
	shared   []*Workspace // that have it, its owner first; nil: one alone
}

// AddUser adds a person with this name and returns them.
func (w *Workspace) AddUser(name string) User {
	return w.AddUserAs(User{Name: name, Display: name, RealName: capitalized(name)})
}

// Deactivate closes a person's account. Their messages and DMs stay.
func (w *Workspace) Deactivate(user string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.user(user); u != nil {
		u.Deleted = true
		w.hub.send(change{Kind: "workspace"})
	}
}

// SetGuest makes a person a guest or a member, and delivers user_guest_status_changed
// (docs.slack.dev/reference/events/user_guest_status_changed). They stay in their channels.
func (w *Workspace) SetGuest(user string, guest bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.user(user)
	if u == nil || u.Guest == guest {
		return
	}
	u.Guest = guest
	now := w.nextTS()
	const event = "user_guest_status_changed"
	e := Event{ID: w.nextID("Ev"), Type: event, TS: now, User: user, EventTS: now}
	e.Body = w.envelope(&Channel{}, e.ID, now,
		map[string]any{"type": event, "user": w.profile(u), "event_ts": now}, nil)
	w.out.enqueue(e)
	w.hub.send(change{Kind: "workspace"})
}

func capitalized(name string) string {
	first, rest := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[rest:]
}

// AddUserAs adds this person; it fills in an empty id or team.
func (w *Workspace) AddUserAs(u User) User {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u.ID == "" {
		u.ID = w.nextID("U")
	}
	setDefault(&u.Team, w.cfg.Team)
	w.users = append(w.users, &u)
	w.hub.send(change{Kind: "workspace"})
	return u
}

// AddChannel adds a channel and returns its id. The bot is a member only if members names
// it, except that a DM is always between the bot and one person. A group DM is named after
// its members.
func (w *Workspace) AddChannel(kind Kind, name string, members ...string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addChannel(kind, name, members...).ID
}

func (w *Workspace) addChannel(kind Kind, name string, members ...string) *Channel {
	// Ids of DMs begin with D, those of channels and group DMs with C
	// (docs.slack.dev/apis/web-api/using-the-conversations-api).
	c := &Channel{Kind: kind, Name: name, Members: members, Created: w.cfg.Clock().Unix()}
	if kind == DM {
		c.ID, c.Name = w.nextID("D"), ""
		if !slices.Contains(c.Members, w.bot.UserID) {
			c.Members = append(c.Members, w.bot.UserID)
		}
	} else {
		c.ID = w.nextID("C")
	}
	if kind == GroupDM {
		names := make([]string, len(members))
		for i, id := range members {
			names[i] = w.user(id).Name
		}
		c.Name = "mpdm-" + strings.Join(names, "--") + "-1"
	}
	w.channels = append(w.channels, c)
	w.hub.send(change{Kind: "workspace"})
	return c
}

// Join adds a user to a channel. Like Slack it delivers a channel_join message and a
// member_joined_channel event, if the bot is in the channel.
func (w *Workspace) Join(channel, user string) { w.membership(channel, user, true) }

// Leave removes a user from a channel. It does nothing in a group DM.
func (w *Workspace) Leave(channel, user string) { w.membership(channel, user, false) }

// Archive archives or reopens a channel.
func (w *Workspace) Archive(channel string, archived bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.channel(channel); c != nil {
		c.Archived = archived
	}
}

// Rename gives a channel another name and announces it there, as its first member
// (docs.slack.dev/reference/events/message/channel_name). It does nothing in a DM or group DM.
func (w *Workspace) Rename(channel, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channel(channel)
	if c == nil || c.Kind.direct() || c.Name == name {
		return
	}
	old := c.Name
	c.Name = name
	w.announce(c, &Message{Subtype: subtypePrefix(c) + "name", OldName: old, Name: name,
		Text: `has renamed the channel from "` + old + `" to "` + name + `"`})
}

// announce posts m as the channel's first member.
func (w *Workspace) announce(c *Channel, m *Message) {
	m.Type, m.User, m.TS = "message", w.bot.UserID, w.nextTS()
	if len(c.Members) > 0 {
		m.User = c.Members[0]
	}
	w.insert(c, m)
	w.emitMessage(c, m)
	w.hub.send(change{Kind: "workspace"})
}

// SetPrivate makes a public channel private, which Slack announces there, or a private
// channel public. The channel keeps its id and members. DMs and group DMs do not change.
func (w *Workspace) SetPrivate(channel string, private bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channel(channel)
	if c == nil || c.Kind.direct() {
		return
	}
	was := c.Kind
	c.Kind = Public
	if private {
		c.Kind = Private
	}
	if private && was == Public {
		w.announce(c, &Message{Subtype: "channel_convert_to_private", Text: "made this channel private"})
		return
	}
	w.hub.send(change{Kind: "workspace"})
}

func (w *Workspace) membership(channel, user string, joined bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channel(channel)
	if c == nil || c.Kind == GroupDM || slices.Contains(c.Members, user) == joined {
		return
	}
	verb, event, text := "leave", "member_left_channel", " has left the channel"
	if joined {
		verb, event, text = "join", "member_joined_channel", " has joined the channel"
		c.Members = append(c.Members, user)
		c.acquaint()
	}
	m := &Message{Type: "message", Subtype: subtypePrefix(c) + verb, User: user, Text: "<@" + user + ">" + text,
		TS: w.nextTS()}
	w.insert(c, m)
	w.emitMessage(c, m)
	w.emit(c, event, m.TS, map[string]any{
		"type": event, "user": user, "channel": c.ID, "team": w.cfg.Team,
		"channel_type": channelLetter(c), "event_ts": m.TS,
	})
	if !joined {
		c.Members = slices.DeleteFunc(c.Members, func(id string) bool { return id == user })
	}
	w.hub.send(change{Kind: "workspace"})
}

// subtypePrefix begins the subtypes of messages about a channel
// (docs.slack.dev/reference/events/message/group_join).
func subtypePrefix(c *Channel) string {
	if c.Kind == Private {
		return "group_"
	}
	return "channel_"
}

// channelLetter is the channel_type of member_joined_channel: C or G, unlike that of
// message events (docs.slack.dev/reference/events/member_joined_channel).
func channelLetter(c *Channel) string {
	if c.Kind == Private {
		return "G"
	}
	return "C"
}

// channel finds by id, or by name with or without #. Callers hold mu.
func (w *Workspace) channel(ref string) *Channel {
	name := strings.TrimPrefix(ref, "#")
	for _, c := range w.channels {
		if c.ID == ref || c.Name != "" && c.Name == name {
			return c
		}
	}
	return nil
}

func (w *Workspace) user(id string) *User {
	for _, u := range w.users {
		if u.ID == id {
			return u
		}
	}
	return nil
}

// dm returns the bot's DM with a user and opens it if there is none. Callers hold mu.
func (w *Workspace) dm(user string) *Channel {
	for _, c := range w.channels {
		if c.Kind == DM && slices.Contains(c.Members, user) {
			return c
		}
	}
	return w.addChannel(DM, "", user)
}

func (w *Workspace) botIn(c *Channel) bool { return slices.Contains(c.Members, w.bot.UserID) }

// shared reports whether the channel has members of another workspace (Slack Connect).
func (w *Workspace) shared(c *Channel) bool {
	return slices.ContainsFunc(c.Members, func(id string) bool {
		u := w.user(id)
		return u != nil && u.Team != w.cfg.Team
	})
}
