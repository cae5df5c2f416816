package chat

import (
	"fmt"
	"strings"
)

// Conversation identifies what has one workflow: a thread, or the top level of a channel.
type Conversation struct {
	Team    string `json:"team"`
	Channel string `json:"channel"`
	// Thread is the ts of the thread's parent; empty for a channel's top level.
	Thread string `json:"thread,omitempty"`
}

// ID is the conversation's workflow id: thread/{team}/{channel}/{thread_ts} or
// channel/{team}/{channel}. ParseConversation is its inverse.
func (c Conversation) ID() string {
	if c.Thread != "" {
		return "thread/" + c.Team + "/" + c.Channel + "/" + c.Thread
	}
	return "channel/" + c.Team + "/" + c.Channel
}

// TopLevel reports whether the conversation is the top level of a channel.
func (c Conversation) TopLevel() bool { return c.Thread == "" }

// Top is the top level of the conversation's channel.
func (c Conversation) Top() Conversation { return Conversation{Team: c.Team, Channel: c.Channel} }

// Direct reports whether the channel is a direct message with the bot. Slack gives those ids that
// begin with D (docs.slack.dev/apis/web-api/using-the-conversations-api).
func (c Conversation) Direct() bool { return strings.HasPrefix(c.Channel, "D") }

// AnswersHere reports whether messages that address the bot are answered in the conversation
// itself. At a channel's top level they are answered in a new thread, except in a direct message.
func (c Conversation) AnswersHere() bool { return !c.TopLevel() || c.Direct() }

// ParseConversation reads a workflow id made by Conversation.ID.
func ParseConversation(id string) (Conversation, error) {
	parts := strings.Split(id, "/")
	switch {
	case len(parts) == 3 && parts[0] == "channel" && parts[1] != "" && parts[2] != "":
		return Conversation{Team: parts[1], Channel: parts[2]}, nil
	case len(parts) == 4 && parts[0] == "thread" && parts[1] != "" && parts[2] != "" && parts[3] != "":
		return Conversation{Team: parts[1], Channel: parts[2], Thread: parts[3]}, nil
	}
	return Conversation{}, fmt.Errorf("conversation id %q: want channel/TEAM/CHANNEL or thread/TEAM/CHANNEL/TS", id)
}
