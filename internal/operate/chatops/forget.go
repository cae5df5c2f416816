package chatops

import (
	"context"
	"strings"

	"myao/internal/chat"
)

// forget deletes what is remembered of the channel. It asks for confirmation first.
func (h *Handler) forget(ctx context.Context, r request) (text, result string) {
	if len(r.args) != 1 || !strings.EqualFold(r.args[0], "yes") {
		return h.say("This deletes what I remember of this channel for good: every version of my summaries of it and "+
			"its threads, "+
			"and the summaries of the workspace made from them. The messages stay. `%s forget yes` does it.",
			quoted(r.Name)), done
	}
	scope := chat.Scope{Team: r.conversation.Team, Channel: r.conversation.Channel}
	if _, err := h.Store.Forget(ctx, scope, r.by(), r.id()); err != nil {
		return h.internalError(ctx, r, "forget", err)
	}
	return h.say("I have forgotten my summaries of this channel and its threads. Notes stay: `%s notes` lists them. "+
		"I may remember what is said from now on.", quoted(r.Name)), done
}
