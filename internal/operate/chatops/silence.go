package chatops

import (
	"context"
	"errors"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/internal/slack"
	"myao/internal/store"
)

// defaultSnooze is the duration of a snooze without an argument.
const defaultSnooze = time.Hour

// noTemporal begins the answers given while Temporal does not answer.
const noTemporal = "Temporal, which runs my conversations, does not answer."

// snooze silences the channel for a while.
func (h *Handler) snooze(ctx context.Context, r request) (text, result string) {
	length := defaultSnooze
	if len(r.args) > 0 {
		var ok bool
		if length, ok = ParseDuration(r.args[0]); !ok || len(r.args) > 1 {
			return h.say("I do not understand that duration. A snooze lasts from `1m` to `366d`, as in `%s snooze "+
				"30m`, `2h` or `1d12h`; one hour by default.",
				quoted(r.Name)), refused
		}
	}
	if text, result = h.sendOrder(ctx, r, conversation.UpdateSnooze, int(length/time.Second)); text != "" {
		return text, result
	}
	zone := h.Directory.Settings(ctx, r.conversation.Team, r.conversation.Channel).Zone
	return h.say("I am silent in this channel and its threads until %s. `%s unmute` ends that.",
		slackTime(h.Clock().Add(length), zone), quoted(r.Name)), done
}

// mute silences the channel until further notice.
func (h *Handler) mute(ctx context.Context, r request) (text, result string) {
	if text, result = h.sendOrder(ctx, r, conversation.UpdateMute, 0); text != "" {
		return text, result
	}
	return h.say("I am silent in this channel and its threads. `%s unmute` ends that.", quoted(r.Name)), done
}

// unmute ends a mute or a snooze.
func (h *Handler) unmute(ctx context.Context, r request) (text, result string) {
	if text, result = h.sendOrder(ctx, r, conversation.UpdateUnmute, 0); text != "" {
		return text, result
	}
	order, err := h.Store.MutedEverywhere(ctx, r.conversation.Team)
	switch {
	case err != nil:
		return h.internalError(ctx, r, "unmute", err)
	case order != nil:
		return h.say("The mute of this channel is over, but I am muted everywhere. An operator can end that with `%s "+
			"go`.", quoted(r.Name)), done
	}
	return h.say("I may speak in this channel again."), done
}

// stop silences the bot in the whole workspace. It needs the database only.
func (h *Handler) stop(ctx context.Context, r request) (text, result string) {
	if err := h.everywhere(ctx, r, conversation.UpdateMute, h.Clock().Add(conversation.MuteDuration)); err != nil {
		return h.internalError(ctx, r, "stop", err)
	}
	return h.say("I am silent in the whole workspace from now on. `%s go` ends that.", quoted(r.Name)), done
}

// unstop ends a mute of the whole workspace.
func (h *Handler) unstop(ctx context.Context, r request) (text, result string) {
	if err := h.everywhere(ctx, r, conversation.UpdateUnmute, time.Time{}); err != nil {
		return h.internalError(ctx, r, "go", err)
	}
	return h.say("I may speak again, except where I am muted or snoozed."), done
}

func (h *Handler) everywhere(ctx context.Context, r request, kind string, until time.Time) error {
	return h.Store.ApplyOrder(ctx, store.Order{
		ID: r.id(), Scope: chat.Scope{Team: r.conversation.Team}, Kind: kind, By: r.by(), Until: until,
	})
}

// sendOrder sends an order to the conversation at the channel's top level. Its text is empty
// when the order was carried out.
func (h *Handler) sendOrder(ctx context.Context, r request, update string, seconds int) (text, result string) {
	if err := h.CheckTemporal(ctx); err != nil {
		h.Logger.WarnContext(ctx, "Temporal does not answer", "order", update, "conversation", r.conversation.ID(),
			"error", err)
		return h.say(noTemporal + " Nothing was changed. Try again later."), failed
	}
	err := h.Operator.Order(ctx, r.conversation, update, conversation.Order{By: r.by(), Seconds: seconds}, r.id())
	var no *operator.Refused
	var pause *operator.PausedError
	switch {
	case err == nil:
		return "", done
	case errors.As(err, &pause):
		h.Logger.WarnContext(ctx, "order to a conversation that is paused in Temporal", "order", update, "conversation",
			r.conversation.ID())
		return h.say("Nothing was changed: somebody has paused me here in Temporal. An operator can resume me."),
			refused
	case errors.As(err, &no):
		return h.say("Not done: %s.", slack.Escape(no.Text)), refused
	case errors.Is(err, operator.ErrNoWorker), errors.Is(err, operator.ErrNoServer),
		errors.Is(err, context.DeadlineExceeded):
		h.Logger.WarnContext(ctx, "order not confirmed", "order", update, "conversation", r.conversation.ID(), "error",
			err)
		return h.say("I have no confirmation of that yet. It may still happen: check with `%s status`.",
			quoted(r.Name)), failed
	}
	return h.internalError(ctx, r, update, err)
}
