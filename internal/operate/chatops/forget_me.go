package chatops

import (
	"context"
	"strings"
	"time"

	"myao/internal/chat"
)

// forgetAgain is how soon a person may be forgotten again: each time memories that others are in, too, are made anew.
const forgetAgain = 24 * time.Hour

// forgetMe begins to take the person who asks out of the database. It asks for confirmation first. A
// workflow goes on with it, because it may take long, and tells the person at the end.
func (h *Handler) forgetMe(ctx context.Context, r request) (text, result string) {
	person := chat.Person{Team: r.own.TeamID, User: r.User}
	last, err := h.Store.Forgotten(ctx, person)
	if err != nil {
		return h.internalError(ctx, r, "forget me", err)
	}
	if again := last.Add(forgetAgain); !last.IsZero() && h.Clock().Before(again) {
		return h.say("I have forgotten you within the last day, and do so once a day. You can ask again from %s. "+
			"Until then, delete in Slack what shall be gone: I keep no text of a deleted message.",
			slackTime(again, h.Config.Location())), refused
	}
	if len(r.args) != 1 || !strings.EqualFold(r.args[0], "yes") {
		return h.say("This takes you out of my database for good: the texts of all your messages, what I remember of "+
			"them, my answers to you, "+
			"your reactions and orders, and your name. Slack keeps its own copy, and what you write afterwards I "+
			"store as before. "+
			"You can have that once a day. `%s forget me yes` does it.", quoted(r.Name)), done
	}
	if err := h.CheckTemporal(ctx); err != nil {
		h.Logger.WarnContext(ctx, "Temporal does not answer", "order", "forget me", "error", err)
		return h.say(noTemporal + " Nothing was changed. Try again later."), failed
	}
	if err := h.Operator.ForgetPerson(ctx, person); err != nil {
		return h.internalError(ctx, r, "forget me", err)
	}
	return h.say("I am forgetting you. I will write you a direct message when that is done."), done
}
