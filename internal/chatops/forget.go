package chatops

import (
	"context"
	"strings"

	"myao/internal/chat"
)

// forget takes away what is remembered of the channel, once somebody has said yes to it.
func (d *Handler) forget(ctx context.Context, r request) (text, result string) {
	if len(r.args) != 1 || !strings.EqualFold(r.args[0], "yes") {
		return d.say("This takes away for good what I remember of this channel: my summaries of it and its threads, in all their versions, "+
			"and those of the workspace that were made of them. What was said stays where it is. `%s forget yes` does it.", quoted(r.Name)), done
	}
	scope := chat.Scope{Team: r.conversation.Team, Channel: r.conversation.Channel}
	if _, err := d.Store.Forget(ctx, scope, r.by(), r.id()); err != nil {
		return d.internalError(ctx, r, "forget", err)
	}
	return d.say("I have forgotten what I remembered of this channel. What is said from now on I may remember again."), done
}
