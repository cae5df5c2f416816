package workspace

import (
	"slices"
	"strings"
	"sync"
)

// common is what the workspaces of an app have in common, since they may share channels.
type common struct {
	sync.Mutex
	lastTS int64 // microseconds
}

// Share makes a channel one of another workspace of the app, too, with people or the bot of that one (Slack Connect).
// It keeps its id. Those of each are foreign in the other, so their ids must differ (SlackConfig.OwnIDs).
func (w *Workspace) Share(channel string, with *Workspace, members ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channel(channel)
	c.shared, with.channels = append(slices.Clone(w.in(c)), with), append(with.channels, c)
	c.Members = append(c.Members, members...)
	c.acquaint()
}

// acquaint makes the members of a shared channel known in all its workspaces.
func (c *Channel) acquaint() {
	for _, id := range c.Members {
		for _, w := range c.shared {
			for _, other := range c.shared {
				if u := other.user(id); u != nil && w.user(id) == nil {
					w.users = append(w.users, u)
				}
			}
		}
	}
}

// in are the workspaces that have a channel.
func (w *Workspace) in(c *Channel) []*Workspace {
	if len(c.shared) == 0 {
		return []*Workspace{w}
	}
	return c.shared
}

// hearers are the workspaces for whose bots there are events of a channel: of those in it where the app is installed.
func (w *Workspace) hearers(c *Channel) (hear []*Workspace) {
	for _, each := range w.in(c) {
		if each.botIn(c) && !(each.slack != nil && each.absent()) {
			hear = append(hear, each)
		}
	}
	return hear
}

// named are those of the hearers for whom an event is delivered: all, or the one that joined last.
func (w *Workspace) named(hear []*Workspace) []*Workspace {
	if len(hear) > 1 && w.slack.cfg.OneDelivery {
		return hear[len(hear)-1:]
	}
	return hear
}

// asked reports whether a message mentions the bot. Messages in a DM fire only message.im
// (docs.slack.dev/reference/events/app_mention).
func (w *Workspace) asked(c *Channel, m *Message) bool {
	return c.Kind != DM && m.User != w.bot.UserID &&
		(strings.Contains(m.Text, "<@"+w.bot.UserID+">") || strings.Contains(m.Text, "<@"+w.bot.UserID+"|"))
}

// mentioned reports whether the message fires an app_mention.
func (w *Workspace) mentioned(c *Channel, m *Message) bool {
	return slices.ContainsFunc(w.in(c), func(each *Workspace) bool { return each.asked(c, m) })
}

// eventAuthorizations lists the installations that may see an event
// (docs.slack.dev/reference/methods/apps.event.authorizations.list).
func (c *call) eventAuthorizations() (reply, error) {
	all := []*Workspace{c.Workspace}
	if c.slack != nil {
		c.slack.mu.Lock()
		all = slices.Clone(c.slack.workspaces)
		c.slack.mu.Unlock()
	}
	id, ok := strings.CutPrefix(c.Get("event_context"), eventContext)
	if !ok {
		return nil, apiError("invalid_event_context")
	}
	may := []reply{}
	for _, w := range all {
		if ch := w.channelByID(id); ch != nil && slices.Contains(w.hearers(ch), w) {
			may = append(may, w.authorization())
		}
	}
	return list(c, "authorizations", may)
}

// eventContext begins the context of an event, before the id of its channel. To an app it is opaque.
const eventContext = "4-"

// authorization is the installation of the app in the workspace.
func (w *Workspace) authorization() reply {
	org, wide := w.through()
	return reply{"enterprise_id": org.id(), "team_id": w.cfg.Team, "user_id": w.bot.UserID, "is_bot": true,
		"is_enterprise_install": wide}
}
