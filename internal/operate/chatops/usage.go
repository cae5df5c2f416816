package chatops

import (
	"fmt"
	"strings"

	"myao/internal/config"
	"myao/internal/language/words"
)

// usage lists the subcommands of a slash command.
func (h *Handler) usage(command string) string {
	command = quoted(command)
	var b strings.Builder
	for _, line := range [][2]string{
		{"status", "what is waiting here, how long I stay silent, and today's budget"},
		{"why", "my latest decisions here and the reasons"},
		{"why LINK", "the same for one message, by its link (Copy link) or its ts"},
		{"snooze 2h", "be silent here for a while: `30m`, `2h`, `1d12h`; one hour by default"},
		{"mute", "be silent here until `unmute`"},
		{"unmute", "end a mute or a snooze"},
		{"promises", "what I have promised here, and when it is due"},
		{"settings", "how I behave here, and since when; `settings mode mention` sets it, `settings mode default` undoes that"},
		{"notes", "what people asked me to remember here; `notes forget 3` takes one back"},
		{"forget", "forget what I remember of this channel"},
		{"forget me", "take you out of my database, wherever you type it"},
		{"stop", "be silent in the whole workspace until `go`; for operators"},
		{"go", "end a `stop`; for operators"},
	} {
		fmt.Fprintf(&b, "`%s %s` – %s\n", command, line[0], h.say(line[1]))
	}
	return b.String() + h.say("All others apply to this channel and its threads.")
}

// MayNot returns the answer to somebody who may not do something: it names who may. action
// completes "You may not …". outsider is set for a guest or somebody of another company.
func MayNot(c config.Config, outsider bool, p config.Permission, action string) string {
	w, s := words.In(c.Language), c.Slack
	if outsider && s.May("", false, p) {
		return w.Say("You may not %s: guests and people from other companies may not do that.", w.Of(action))
	}
	if len(s.Operators) == 0 {
		return w.Say("You may not %s. Nobody may, because my configuration names no operators (`slack.operators`).",
			w.Of(action))
	}
	names := make([]string, len(s.Operators))
	for i, id := range s.Operators {
		names[i] = "<@" + id + ">"
	}
	return w.Say("You may not %s. These people may: %s.", w.Of(action), strings.Join(names, ", "))
}
