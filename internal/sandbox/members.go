package sandbox

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// User is a person, or the user of an app.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	RealName string `json:"real_name"`
	// Display is the profile's display name; many people leave it empty, and
	// Slack then shows the real name (docs.slack.dev/reference/objects/user-object).
	Display string `json:"display_name"`
	// Team differs from the workspace's for people of a Slack Connect channel.
	Team  string `json:"team_id"`
	Bot   bool   `json:"is_bot"`
	BotID string `json:"bot_id,omitempty"`
	// Deleted: the account is closed.
	Deleted bool `json:"deleted,omitempty"`
}

// Kind is what sort of channel it is, in the words of channel_type.
type Kind string

// The kinds of channel (docs.slack.dev/reference/events/message, channel_type).
const (
	Public  Kind = "channel"
	Private Kind = "group"
	DM      Kind = "im"
	GroupDM Kind = "mpim"
)

func (k Kind) direct() bool { return k == DM || k == GroupDM }

// Channel is a conversation in Slack's sense, with all that was said in it.
type Channel struct {
	ID       string
	Kind     Kind
	Name     string
	Members  []string
	Archived bool
	Created  int64
	messages []*Message // by ts, replies among them
}

// AddUser adds a person with this name and returns them.
func (w *Workspace) AddUser(name string) User {
	return w.AddUserAs(User{Name: name, Display: name, RealName: capital(name)})
}

// Deactivate closes a person's account. What they said stays, and so do their DMs.
func (w *Workspace) Deactivate(user string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.user(user); u != nil {
		u.Deleted = true
		w.hub.send(change{Kind: "members"})
	}
}

func capital(name string) string {
	first, rest := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[rest:]
}

// AddUserAs adds a person as given; an empty id or team is filled in.
func (w *Workspace) AddUserAs(u User) User {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u.ID == "" {
		u.ID = w.nextID("U")
	}
	setDefault(&u.Team, w.cfg.Team)
	w.users = append(w.users, &u)
	w.hub.send(change{Kind: "members"})
	return u
}

// AddChannel adds a channel and returns its id. The bot is a member only where
// it is named, except in a DM, which is always between it and one person. The name of a
// group DM is made of its members'.
func (w *Workspace) AddChannel(kind Kind, name string, members ...string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addChannel(kind, name, members...).ID
}

func (w *Workspace) addChannel(kind Kind, name string, members ...string) *Channel {
	// Ids begin with C for channels, public and private alike, and groups, and D for DMs
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
	w.hub.send(change{Kind: "members"})
	return c
}

// Join adds a user to a channel and says so, as Slack does: a channel_join
// message and a member_joined_channel event. Nobody hears of a channel that the bot is not in.
func (w *Workspace) Join(channel, user string) { w.membership(channel, user, true) }

// Leave removes a user from a channel. Those in a group DM stay the same.
func (w *Workspace) Leave(channel, user string) { w.membership(channel, user, false) }

// Archive archives or reopens a channel.
func (w *Workspace) Archive(channel string, archived bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.channel(channel); c != nil {
		c.Archived = archived
	}
}

// Rename gives a channel another name, in the name of its first member, and says so in the
// channel (docs.slack.dev/reference/events/message/channel_name). A DM has no name to change,
// and a group DM keeps its own.
func (w *Workspace) Rename(channel, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channel(channel)
	if c == nil || c.Kind.direct() || c.Name == name {
		return
	}
	old := c.Name
	c.Name = name
	w.announce(c, &Message{Subtype: prefix(c) + "name", OldName: old, Name: name, Text: `has renamed the channel from "` + old + `" to "` + name + `"`})
}

// announce has the channel's first member say what has become of it.
func (w *Workspace) announce(c *Channel, m *Message) {
	m.Type, m.User, m.TS = "message", w.bot.UserID, w.nextTS()
	if len(c.Members) > 0 {
		m.User = c.Members[0]
	}
	w.insert(c, m)
	w.emitMessage(c, m)
	w.hub.send(change{Kind: "members"})
}

// SetPrivate makes a public channel private, which Slack announces there, or a private one
// public. It keeps its id and its members. A DM, of
// a group or not, stays what it is.
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
	w.hub.send(change{Kind: "members"})
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
	}
	m := &Message{Type: "message", Subtype: prefix(c) + verb, User: user, Text: "<@" + user + ">" + text, TS: w.nextTS()}
	w.insert(c, m)
	w.emitMessage(c, m)
	w.emit(c, event, m.TS, map[string]any{
		"type": event, "user": user, "channel": c.ID, "team": w.cfg.Team,
		"channel_type": channelLetter(c), "event_ts": m.TS,
	})
	if !joined {
		c.Members = slices.DeleteFunc(c.Members, func(id string) bool { return id == user })
	}
	w.hub.send(change{Kind: "members"})
}

// prefix begins the subtypes of what happens to a channel
// (docs.slack.dev/reference/events/message/group_join).
func prefix(c *Channel) string {
	if c.Kind == Private {
		return "group_"
	}
	return "channel_"
}

// channelLetter is what member_joined_channel carries as channel_type: C or G,
// not the words of message events (docs.slack.dev/reference/events/member_joined_channel).
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

// dm is the DM of the bot and a user, opened if there is none. Callers hold mu.
func (w *Workspace) dm(user string) *Channel {
	for _, c := range w.channels {
		if c.Kind == DM && slices.Contains(c.Members, user) {
			return c
		}
	}
	return w.addChannel(DM, "", user)
}

func (w *Workspace) botIn(c *Channel) bool { return slices.Contains(c.Members, w.bot.UserID) }

// shared reports whether people of another workspace are in the channel (Slack Connect).
func (w *Workspace) shared(c *Channel) bool {
	return slices.ContainsFunc(c.Members, func(id string) bool {
		u := w.user(id)
		return u != nil && u.Team != w.cfg.Team
	})
}
