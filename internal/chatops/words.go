package chatops

import (
	"fmt"
	"strings"
	"time"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/words"
)

// usage is what can be typed behind a command.
func (d *Handler) usage(command string) string {
	command = quoted(command)
	var b strings.Builder
	for _, line := range [][2]string{
		{"status", "what waits here, until when I am silent, and what today may still cost"},
		{"why", "my newest decisions here, and why"},
		{"why LINK", "the same for one message: its link (Copy link), or its ts"},
		{"snooze 2h", "be silent here for a time: `30m`, `2h`, `1d12h`; without one for an hour"},
		{"mute", "be silent here until `unmute`"},
		{"unmute", "end a mute or a snooze"},
		{"forget", "forget what I remember of this channel"},
	} {
		fmt.Fprintf(&b, "`%s %s` – %s\n", command, line[0], d.say(line[1]))
	}
	return b.String() + d.say("It is all about this channel, with its threads.")
}

// MayNot tells somebody that they may not do something, and who may.
func MayNot(c config.Config, doing string) string {
	w, s := words.In(c.Language), c.Slack
	if len(s.Operators) == 0 {
		return w.Say("You may not %s. Nobody may: my configuration names no operators (`slack.operators`).", w.Of(doing))
	}
	names := make([]string, len(s.Operators))
	for i, id := range s.Operators {
		names[i] = "<@" + id + ">"
	}
	return w.Say("You may not %s. Who may: %s.", w.Of(doing), strings.Join(names, ", "))
}

// quoted is something that somebody typed, fit to stand between back quotes.
func quoted(s string) string {
	const most = 40
	s = strings.Map(func(r rune) rune {
		if r == '`' || r < ' ' {
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return slack.Escape(s)
}

// slackTime is an instant as Slack shows it to each reader by their own clock
// (docs.slack.dev/messaging/formatting-message-text#date-formatting).
func slackTime(t time.Time, zone *time.Location) string {
	return fmt.Sprintf("<!date^%d^{date_short_pretty} {time_secs}|%s>", t.Unix(), t.In(zone).Format("2006-01-02 15:04:05 MST"))
}

// silenceText tells until when the bot is silent; empty: it is not.
func (d *Handler) silenceText(until, now time.Time, zone *time.Location) string {
	switch {
	case !until.After(now):
		return ""
	case until.Sub(now) > conversation.MaxSnooze:
		return d.say("I am muted here until somebody says `unmute`.")
	}
	return d.say("I am silent here until %s.", slackTime(until, zone))
}
