package chatops

import (
	"slices"
	"strings"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
)

// greeting says how to address the bot.
func (h *Home) greeting(own slack.Identity) string {
	return h.say("I read along in the channels that I am in, keep quiet while people talk, and answer when you "+
		"mention me (@%s), when a question stays open, "+
		"and here in direct messages.", slack.Escape(own.Name))
}

// help says what the bot can do, and whom to ask. The names of MCP servers are left out where a server is
// for some channels only: they may be secret.
func (h *Home) help(v Viewer) slack.HomeSection {
	var can, playbooks []string
	if !v.Outsider && slices.Contains(h.Config.Tools.Enabled, chat.ToolReadPlaybook) {
		for _, p := range h.Playbooks.All() {
			playbooks = append(playbooks, slack.Escape(p.Title))
		}
	}
	for _, t := range chat.Tools {
		text, enabled := h.say(t.Ability), slices.Contains(h.Config.Tools.Enabled, t.Name)
		if t.Name == chat.ToolReadPlaybook {
			enabled = len(playbooks) > 0
		}
		if t.Name == chat.ToolPostMessage {
			enabled = !v.Outsider && h.Config.PostsAnywhere()
		}
		if enabled && !slices.Contains(can, text) {
			can = append(can, text)
		}
	}
	var servers []string
	for name, s := range h.Config.MCP.Servers {
		if s.In(config.ChannelFacts{}) && (!v.Outsider || s.External) { // in every channel
			servers = append(servers, "`"+quoted(name)+"`")
		}
	}
	slices.Sort(servers)
	var lines []string
	if len(can) > 0 {
		lines = append(lines, h.say("Before I answer I can: %s.", strings.Join(can, h.say(", "))))
	}
	if len(servers) > 0 {
		lines = append(lines, h.say("I also use: %s. What changes something I only propose: a person decides.",
			strings.Join(servers, ", ")))
	}
	if more := len(playbooks) - maxHomeLines; more > 0 {
		playbooks = append(playbooks[:maxHomeLines:maxHomeLines], h.say("and %d more", more))
	}
	if len(playbooks) > 0 {
		lines = append(lines, h.say("I go by these playbooks: %s.", strings.Join(playbooks, "; ")))
	}
	lines = append(lines, h.say("`%s help`, typed in a channel, lists what you can tell me there.",
		quoted(h.Config.Slack.Command)))
	if emoji := h.Config.Slack.HushReaction; emoji != "" {
		lines = append(lines, h.say("React with :%s: to a message that I am not to answer.", emoji))
	}
	if emoji := h.Config.Slack.AnswerReaction; emoji != "" {
		lines = append(lines, h.say("React with :%s: to a message that I am to answer.", emoji))
	}
	var names []string
	for _, id := range h.Config.Slack.Operators {
		names = append(names, "<@"+id+">")
	}
	if len(names) > 0 {
		lines = append(lines, h.say("Who runs me: %s", strings.Join(names, ", ")))
	} else {
		lines = append(lines, h.say("Who runs me is not written down: my configuration names no operators "+
			"(`slack.operators`)."))
	}
	return slack.HomeSection{Title: h.say("What I can do, and who runs me"), Text: strings.Join(lines, "\n")}
}
