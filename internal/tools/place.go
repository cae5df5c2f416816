// Package tools is what a model may do before it answers.
package tools

import "myao/internal/chat"

// Place is where and for whom a reply is written.
type Place struct {
	Conversation chat.Conversation
	// Trigger is the ts of the message that is answered.
	Trigger string
	// Addressed is set if somebody addressed the bot. Some tools are offered only then.
	Addressed bool
	// Asker is the user id of whoever addressed it, or "".
	Asker string
	// Allowed are the names of the tools that the configuration allows here.
	Allowed []string
}
