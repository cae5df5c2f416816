package chatops

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"myao/internal/chat"
	"myao/internal/slack"
)

// notes lists what people asked the bot to remember in the channel, or takes a note back.
func (h *Handler) notes(ctx context.Context, r request) (text, result string) {
	switch {
	case len(r.args) == 0:
		return h.listNotes(ctx, r)
	case len(r.args) == 2 && strings.EqualFold(r.args[0], "forget"):
		if id, err := strconv.ParseInt(strings.TrimPrefix(r.args[1], "#"), 10, 64); err == nil {
			return h.forgetNote(ctx, r, id)
		}
	}
	return h.say("I did not understand that. `%s notes` lists the notes, `%s notes forget 3` takes back note 3.",
		quoted(r.Name), quoted(r.Name)), refused
}

func (h *Handler) listNotes(ctx context.Context, r request) (text, result string) {
	notes, err := h.Store.Notes(ctx, r.own.TeamID, r.Channel)
	if err != nil {
		return h.internalError(ctx, r, "notes", err)
	}
	if len(notes) == 0 {
		return h.say("Nobody has asked me to remember anything here."), done
	}
	zone := h.Directory.Settings(ctx, r.own.TeamID, r.Channel).Zone
	var b strings.Builder
	for _, n := range notes {
		when := slackTime(n.Noted, zone)
		if n.Permalink != "" {
			when = "<" + n.Permalink + "|" + n.Noted.In(zone).Format("2006-01-02 15:04") + ">"
		}
		fmt.Fprintf(&b, "*%d* %s – <@%s>, %s\n", n.ID, slack.Escape(n.Text), n.Author, when)
	}
	return strings.TrimSpace(b.String()), done
}

func (h *Handler) forgetNote(ctx context.Context, r request, id int64) (text, result string) {
	found, err := h.Store.ForgetNote(ctx, chat.Scope(r.conversation), id, r.id(), r.by())
	switch {
	case err != nil:
		return h.internalError(ctx, r, "notes", err)
	case !found:
		return h.say("There is no note %d here. `%s notes` lists them.", id, quoted(r.Name)), refused
	}
	return h.say("I have forgotten note %d.", id), done
}
