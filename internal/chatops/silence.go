package chatops

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"time"

	"myao/internal/conversation"
	"myao/internal/operator"
	"myao/internal/slack"
)

const (
	// defaultSnooze is how long a snooze lasts if nobody says.
	defaultSnooze = time.Hour
	// minSnooze is the shortest snooze that can be asked for.
	minSnooze = time.Minute
)

// noTemporal is what is said when Temporal is.
const noTemporal = "Temporal, which keeps what I mean to do, does not answer."

// snooze silences the channel for a time.
func (d *Handler) snooze(ctx context.Context, r request) (text, result string) {
	length := defaultSnooze
	if len(r.args) > 0 {
		var ok bool
		if length, ok = ParseDuration(r.args[0]); !ok || len(r.args) > 1 {
			return d.say("I do not know how long that is. A snooze is from `1m` to `366d` long, as in `%s snooze 30m`, `2h`, `1d12h`; without a time it is an hour.",
				quoted(r.Name)), refused
		}
	}
	if text, result = d.sendOrder(ctx, r, conversation.UpdateSnooze, int(length/time.Second)); text != "" {
		return text, result
	}
	zone := d.Directory.Settings(ctx, r.conversation.Team, r.conversation.Channel).Zone
	return d.say("I am silent in this channel and its threads until %s. `%s unmute` ends it.", slackTime(d.Clock().Add(length), zone), quoted(r.Name)), done
}

// mute silences the channel until further notice.
func (d *Handler) mute(ctx context.Context, r request) (text, result string) {
	if text, result = d.sendOrder(ctx, r, conversation.UpdateMute, 0); text != "" {
		return text, result
	}
	return d.say("I am silent in this channel and its threads. `%s unmute` ends it.", quoted(r.Name)), done
}

// unmute ends a mute or a snooze.
func (d *Handler) unmute(ctx context.Context, r request) (text, result string) {
	if text, result = d.sendOrder(ctx, r, conversation.UpdateUnmute, 0); text != "" {
		return text, result
	}
	return d.say("I may speak in this channel again."), done
}

// sendOrder gives an order to the channel's top level. Its text is empty once it was carried out.
func (d *Handler) sendOrder(ctx context.Context, r request, update string, seconds int) (text, result string) {
	if err := d.CheckTemporal(ctx); err != nil {
		d.Logger.WarnContext(ctx, "Temporal does not answer", "order", update, "conversation", r.conversation.ID(), "error", err)
		return d.say(noTemporal + " Nothing was changed. Try again later."), failed
	}
	err := d.Operator.Order(ctx, r.conversation, update, conversation.Order{By: r.by(), Seconds: seconds}, r.id())
	var no *operator.Refused
	var pause *operator.PausedError
	switch {
	case err == nil:
		return "", done
	case errors.As(err, &pause):
		d.Logger.WarnContext(ctx, "order to a conversation that is paused in Temporal", "order", update, "conversation", r.conversation.ID())
		return d.say("Nothing was changed: somebody has paused me here in Temporal. Whoever runs me can end that."), refused
	case errors.As(err, &no):
		return d.say("Not done: %s.", slack.Escape(no.Text)), refused
	case errors.Is(err, operator.ErrNoWorker), errors.Is(err, operator.ErrNoServer), errors.Is(err, context.DeadlineExceeded):
		d.Logger.WarnContext(ctx, "order not confirmed", "order", update, "conversation", r.conversation.ID(), "error", err)
		return d.say("Nobody has confirmed that. It may be carried out yet: `%s status` tells.", quoted(r.Name)), failed
	}
	return d.internalError(ctx, r, update, err)
}

var durationPattern = regexp.MustCompile(`^(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?$`)

// ParseDuration reads how long a snooze lasts, as 1d12h or 30m: from a minute to the longest that there is.
func ParseDuration(s string) (time.Duration, bool) {
	parts := durationPattern.FindStringSubmatch(s)
	if parts == nil {
		return 0, false
	}
	var length time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		n, _ := strconv.Atoi(parts[i+1]) // a few digits, or nothing, which is 0
		length += time.Duration(n) * unit
	}
	return length, length >= minSnooze && length <= conversation.MaxSnooze
}
