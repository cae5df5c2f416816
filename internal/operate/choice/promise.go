// Package choice says in words what is offered under a reply, a promise or a proposal, and what came of it.
package choice

import (
	"fmt"
	"strings"
	"time"

	"myao/internal/conversation"
	"myao/internal/language/when"
	"myao/internal/language/words"
	"myao/internal/slack"
	"myao/internal/store"
)

const uncancellable = "Slack refused the button. `/myao promises` lists what I have promised here."

// askAfter is after how many times people are asked whether a reminder without an end is still wanted.
const askAfter = 10

// lastTime is how many times a promise is kept that comes every day or weekday. Whoever still wants it asks again.
const lastTime = 90

// PromiseEndsWith reports whether a promise ends with its number-th time.
func PromiseEndsWith(p store.Promise, number int) bool {
	every := when.Every(p.Every)
	return (every == when.Day || every == when.Weekday) && number >= lastTime
}

// lateAfter is from when on a promise that is kept late says so.
const lateAfter = 5 * time.Minute

// ZonedTime is a time in a promise's zone, with the zone's name.
func ZonedTime(w words.Words, t time.Time, zone *time.Location) string {
	t = t.In(zone)
	day := w.Of(t.Weekday().String()[:3])
	return fmt.Sprintf(t.Format(w.Of("%s 2 Jan 2006, 15:04"))+" (%s)", day, zone)
}

// WhenDue says when a promise is due, and how it repeats.
func WhenDue(w words.Words, p store.Promise) string {
	at := ZonedTime(w, p.Due(), p.Location())
	switch {
	case p.Until != "":
		return WaitsFor(w, p, at)
	case p.Every == "":
		return at
	}
	return w.Say("every "+p.Every+", next %s", at)
}

// WaitsFor says for which hook a promise waits, and until when; the time alone where it waits for none.
func WaitsFor(w words.Words, p store.Promise, at string) string {
	if p.Until == "" {
		return at
	}
	return w.Say("waits for %s, at the latest %s", p.Until, at)
}

// OfPromise is a promise as it stands under the message that confirms it.
func OfPromise(w words.Words, p store.Promise) slack.Choice {
	text := "I will remind you: %s"
	switch {
	case p.Until != "":
		text = "I will tell you when it happens: %s"
	case p.Unless != "":
		text = "I will look again: %s"
	}
	text = w.Say(text, WhenDue(w, p)) + "\n• " + p.What
	if p.Unless != "" {
		text += "\n• " + w.Say("unless: %s", p.Unless)
	}
	return slack.Choice{
		ID: p.ID, Text: text, Outcome: PromiseOutcome(w, p), Undecidable: w.Of(uncancellable),
		Buttons: []slack.Button{{Action: slack.ActionCancel, Label: w.Of("Cancel")}},
	}
}

// PromiseOutcome says in Slack's markup what has become of a promise; "" while it is open.
func PromiseOutcome(w words.Words, p store.Promise) string {
	switch p.State {
	case store.PromiseKept:
		return w.Of("kept")
	case store.PromiseReleased:
		return w.Of("let go: it was settled")
	case store.PromiseWithdrawn:
		return w.Of("withdrawn")
	case store.PromiseFailed:
		return w.Of("not kept: I could not post it")
	case store.PromiseCancelled:
		if user, ok := strings.CutPrefix(p.EndedBy, "slack:"); ok {
			return w.Say("cancelled by %s", "<@"+user+">")
		}
		if reason := conversation.Rule(p.EndedBy).Reason(); reason != "" {
			return w.Say("cancelled: %s", w.Of(reason))
		}
		return w.Say("cancelled by %s", slack.Escape(p.EndedBy))
	}
	return ""
}

// AskWhetherWanted is the question under a reminder that is kept for the number-th time, whether it is still
// wanted; false if it need not be asked.
func AskWhetherWanted(w words.Words, p store.Promise, number int) (slack.Choice, bool) {
	if p.Every == "" || p.Unless != "" || number%askAfter != 0 || PromiseEndsWith(p, number) {
		return slack.Choice{}, false
	}
	c := OfPromise(w, p)
	c.Text = w.Say("I have reminded you of this %d times. If it is no longer wanted, cancel it.", number)
	return c, true
}

// KeptText completes the text by which a promise is kept: a reminder names whoever asked, and what is late says
// so, and what ends with this time. now is when it is posted.
func KeptText(w words.Words, p store.Promise, text string, now time.Time) string {
	if asker := "<@" + p.Asker + ">"; p.Unless == "" && p.Asker != "" && !strings.Contains(text, asker) {
		text = asker + " " + text
	}
	if now.Sub(p.Due()) > lateAfter {
		text += "\n\n_" + w.Say("This was due on %s.", ZonedTime(w, p.Due(), p.Location())) + "_"
	}
	return text + ending(w, p)
}

// ending says under a promise that it ends with this time, and how it goes on; "" if it does not end so.
func ending(w words.Words, p store.Promise) string {
	if !PromiseEndsWith(p, p.Number) {
		return ""
	}
	return "\n\n_" + w.Say("This was the last of %d times. If it is still wanted, mention me where you asked and ask "+
		"again.", p.Number) + "_"
}

// PlainPromise is a promise in its own words, for where no model writes them. what is Promise.What as it may be
// posted.
func PlainPromise(w words.Words, p store.Promise, what string) string {
	asker := w.Of("somebody")
	if p.Asker != "" {
		asker = "<@" + p.Asker + ">"
	}
	switch {
	case p.Until != "":
		return w.Say("%s, you asked me to tell you about this: %s", asker, what)
	case p.Unless != "":
		return w.Say("%s, you asked me to look at this again: %s", asker, what)
	}
	return w.Say("%s, you asked me to remind you: %s", asker, what)
}

// PromiseElsewhere is PlainPromise for a direct message to whoever asked, because it could not be posted where it was
// made.
func PromiseElsewhere(w words.Words, p store.Promise, what string) string {
	return PlainPromise(w, p, what) + "\n\n" + w.Say("I could not post it in <#%s>, where you asked.", p.ChannelID) +
		ending(w, p)
}

// NextDue is when a promise that repeats is due again after now; zero if it does not repeat.
func NextDue(p store.Promise, now time.Time) time.Time {
	if p.Every == "" {
		return time.Time{}
	}
	return when.Next(when.Every(p.Every), p.First(), now, p.Location())
}
