package prompt

import (
	"cmp"
	"strings"

	"myao/internal/chat"
)

// defaultName is what the bot is called where nothing can be seen of its name.
const defaultName = "myao"

// names is what people, the bot and channels are called in one prompt.
type names struct {
	persona  string
	users    map[string]string // user id → name
	authors  map[string]string // author's key → name
	channels map[string]string // channel id → name
	direct   string            // what a direct message is called
}

// newNames gathers the names of a context. Two people of one name are told apart by their
// ids, whether they speak or are spoken of; the persona keeps its name, so that nobody speaks
// as the bot, or is called when it is.
func newNames(c chat.Context, o Options, direct string) names {
	n := names{
		direct:   direct,
		persona:  cmp.Or(cleanName(c.Persona.Name), defaultName),
		users:    map[string]string{},
		authors:  map[string]string{},
		channels: map[string]string{},
	}
	for id, name := range o.Names {
		n.users[id] = cleanName(name)
	}
	ids := map[string]string{} // author's key → id
	own := map[string]bool{o.BotUserID: true}
	said := c.Conversation.All()
	for _, m := range said {
		key := author(m)
		_, seen := n.authors[key]
		switch {
		case m.Deleted || seen:
		case m.Own:
			own[m.UserID] = true
		default:
			name := m.Name
			if name == m.UserID {
				name = n.users[m.UserID]
			}
			ids[key] = cleanName(cmp.Or(m.UserID, m.BotID))
			n.authors[key] = cmp.Or(cleanName(name), ids[key], "?")
		}
	}
	for id, name := range n.users {
		key := author(chat.Message{UserID: id})
		if _, speaks := n.authors[key]; !speaks && !own[id] && id != "" && name != "" {
			n.authors[key], ids[key] = name, cleanName(id)
		}
	}
	n.tellApart(ids)
	for key, name := range n.authors {
		if id, ok := strings.CutPrefix(key, userKey); ok {
			n.users[id] = name
		}
	}
	for id := range own {
		n.users[id] = n.persona
	}
	for _, m := range c.Channels {
		n.channels[m.ChannelID] = cleanName(m.ChannelName)
	}
	n.channels[c.Conversation.ChannelID] = cleanName(c.Conversation.ChannelName)
	for id, name := range o.ChannelNames {
		if name = cleanName(name); name != "" {
			n.channels[id] = name
		}
	}
	return n
}

// tellApart adds their ids, by author's key, to names that several have. A name with an id
// may be what another is called: that one gets its own id then, until all differ.
func (n names) tellApart(ids map[string]string) {
	for again := true; again; {
		again = false
		speakers := map[string]int{fold(n.persona): 1} // name → how many have it
		for _, name := range n.authors {
			speakers[fold(name)]++
		}
		for key, name := range n.authors {
			if speakers[fold(name)] > 1 && ids[key] != "" {
				n.authors[key] = name + " (" + ids[key] + ")"
				delete(ids, key)
				again = true
			}
		}
	}
}

// userKey begins the keys of those who have a user id.
const userKey = "user "

// author is a key for who wrote a message: an app may have no user id, and one
// app may speak under several names.
func author(m chat.Message) string {
	if m.UserID != "" {
		return userKey + m.UserID
	}
	return "app " + m.BotID + " " + m.Name
}

// author is the name that a message is shown under.
func (n names) author(m chat.Message) string {
	if m.Own {
		return n.persona
	}
	return n.authors[author(m)]
}

// place is the name of the channel that the conversation is in.
func (n names) place(c chat.Context) string {
	id := c.Conversation.ChannelID
	return cmp.Or(cleanName(c.Conversation.ChannelName), n.channels[id], cleanName(id), "?")
}
