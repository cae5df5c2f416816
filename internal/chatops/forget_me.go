package chatops

import (
	"context"
	"strings"

	"myao/internal/chat"
)

// forgetMe begins to take the person who asks out of the database. It asks for confirmation first. A
// workflow goes on with it, because it may take long, and tells the person at the end.
func (h *Handler) forgetMe(ctx context.Context, r request) (text, result string) {
	if len(r.args) != 1 || !strings.EqualFold(r.args[0], "yes") {
		return h.say("This takes you out of my database for good: the texts of all your messages, what I remember of them, my answers to you, "+
			"your reactions and orders, and your name. Slack keeps its own copy, and what you write afterwards I store as before. "+
			"`%s forget me yes` does it.", quoted(r.Name)), done
	}
	if err := h.CheckTemporal(ctx); err != nil {
		h.Logger.WarnContext(ctx, "Temporal does not answer", "order", "forget me", "error", err)
		return h.say(noTemporal + " Nothing was changed. Try again later."), failed
	}
	if err := h.Operator.ForgetPerson(ctx, chat.Person{Team: r.own.TeamID, User: r.User}); err != nil {
		return h.internalError(ctx, r, "forget me", err)
	}
	return h.say("I am forgetting you. I will write you a direct message when that is done."), done
}
