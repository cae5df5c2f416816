package prompt

import (
	"cmp"
	"regexp"
	"strings"

	"myao/internal/chat"
)

// defaultName is the bot's name if its own has no visible character.
const defaultName = "myao"

// names are the names of people, the bot and channels in one prompt.
type names struct {
	persona    string
	users      map[string]string // user id → name
	authors    map[string]string // author's key → name
	channels   map[string]string // channel id → name
	directName string            // what a direct message is called
}

// newNames collects the names of a context. People of the same name get their ids added, whether they
// write or are mentioned. Only the bot has the persona's name, so nobody can pass for it.
func newNames(c chat.Context, o Options, direct string) names {
	n := names{
		directName: direct,
		persona:    cmp.Or(cleanName(c.Persona.Name), defaultName),
		users:      map[string]string{},
		authors:    map[string]string{},
		channels:   map[string]string{},
	}
	for id, name := range o.Names {
		n.users[id] = cleanName(name)
	}
	ids := map[string]string{} // author's key → id
	own := map[string]bool{o.BotUserID: true}
	all := c.Conversation.All()
	for _, f := range c.Found {
		all = append(all, f.Message)
	}
	for _, m := range all {
		key := authorKey(m)
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
		key := authorKey(chat.Message{UserID: id})
		if _, speaks := n.authors[key]; !speaks && !own[id] && id != "" && name != "" {
			n.authors[key], ids[key] = name, cleanName(id)
		}
	}
	n.disambiguate(ids)
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

// disambiguate adds ids, which are by author's key, to names that several people have. A name with an
// id may itself be another's name, so it repeats until all differ.
func (n names) disambiguate(ids map[string]string) {
	for again := true; again; {
		again = false
		holders := map[string]int{fold(n.persona): 1} // name → how many have it
		for _, name := range n.authors {
			holders[fold(name)]++
		}
		for key, name := range n.authors {
			if holders[fold(name)] > 1 && ids[key] != "" {
				n.authors[key] = name + " (" + ids[key] + ")"
				delete(ids, key)
				again = true
			}
		}
	}
}

// userKey is the prefix of the keys of authors with a user id.
const userKey = "user "

// authorKey returns a key for the author of a message. An app may have no user id, and one app may
// write under several names.
func authorKey(m chat.Message) string {
	if m.UserID != "" {
		return userKey + m.UserID
	}
	return "app " + m.BotID + " " + m.Name
}

// personID matches what may be the id of a person in a memory: as Slack mentions somebody, or bare.
var personID = regexp.MustCompile(`<@([UW][A-Z0-9]+)(?:\|[^>\n]*)?>|(^|[^(\pL\pN_])([UW][A-Z0-9]+)\b`)

// named puts names for the ids of people in a memory. An id in brackets, which tells two people of one name apart,
// stays.
func (n names) named(text string) string {
	return personID.ReplaceAllStringFunc(text, func(found string) string {
		m := personID.FindStringSubmatch(found)
		name := n.users[m[1]+m[3]]
		switch {
		case name == "":
			return found
		case m[1] != "":
			return "@" + name
		}
		return m[2] + name
	})
}

// author returns the name that a message is shown under.
func (n names) author(m chat.Message) string {
	if m.Own {
		return n.persona
	}
	return n.authors[authorKey(m)]
}

// speaker returns the label of a message in a chat turn: the name, and the id by which people are told apart.
func (n names) speaker(m chat.Message) string {
	id := cleanName(m.UserID)
	if id == "" {
		return n.author(m) + " (app): "
	}
	return strings.TrimSuffix(n.author(m), " ("+id+")") + " (<@" + id + ">): "
}

// channelName returns the name of the conversation's channel.
func (n names) channelName(c chat.Context) string {
	id := c.Conversation.ChannelID
	return cmp.Or(cleanName(c.Conversation.ChannelName), n.channels[id], cleanName(id), "?")
}
