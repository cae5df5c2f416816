package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"myao/internal/chat"
	"myao/internal/language/when"
	"myao/internal/store"
)

// The longest texts of a promise, in characters.
const (
	maxWhat   = 500
	maxUnless = 300
)

type lookAgainInput struct {
	When   string     `json:"when" jsonschema:"a distance from now (in 90m, in 3d; s, m, h, d, w), or a local time as the description names it (2026-11-27 09:00, mon 09:00, 09:00), or RFC 3339"`
	What   string     `json:"what" jsonschema:"what to remind of or to look at, in one sentence that makes sense without the conversation"`
	Unless string     `json:"unless,omitempty" jsonschema:"what makes it superfluous, such as: somebody has answered the question; leave it out for a reminder"`
	Until  string     `json:"until,omitempty" jsonschema:"the hook whose event says that it has happened, as the description names it; when is then the latest time"`
	Every  when.Every `json:"every,omitempty" jsonschema:"repeats it: day, weekday, week or month"`
}

func lookAgain(s Sources) tool {
	t := define(chat.ToolLookAgain, "", func(
		ctx context.Context, p Place, step string, in lookAgainInput,
	) (string, error) {
		what, unless := strings.Join(strings.Fields(in.What), " "), strings.Join(strings.Fields(in.Unless), " ")
		due, err := when.Parse(in.When, p.Now, p.zone())
		switch n, m := utf8.RuneCountInString(what), utf8.RuneCountInString(unless); {
		case err != nil:
			return "", mistakef("%v.", err)
		case n == 0:
			return "", mistake("what is empty; it must say what to remind of or to look at.")
		case n > maxWhat:
			return "", mistakef("what has %d characters; it has at most %d. Put it in fewer words.", n, maxWhat)
		case m > maxUnless:
			return "", mistakef("unless has %d characters; it has at most %d. Put it in fewer words.", m, maxUnless)
		case in.Every != "" && !in.Every.Valid():
			return "", mistakef("every is %q; it must be day, weekday, week or month, or be left out.", in.Every)
		case in.Until != "" && len(p.Hooks) == 0:
			return "", mistake("until names a hook, and this channel has none. Leave it out.")
		case in.Until != "" && !slices.Contains(p.Hooks, in.Until):
			return "", mistakef("There is no hook %q here. There are: %s.", in.Until, strings.Join(p.Hooks, ", "))
		case in.Until != "" && in.Every != "":
			return "", mistake("until and every exclude each other: what waits for an event is not repeated.")
		}
		if in.Every.Valid() { // a weekday is not on a weekend
			due = when.Next(in.Every, due, due.Add(-1), p.zone())
		}
		c := p.Conversation
		promise, err := s.Store.AddPromise(ctx, store.Promise{
			Choice: store.Choice{ID: step, TeamID: c.Team, ChannelID: c.Channel, ThreadTS: c.Thread,
				TriggerTS: p.Trigger, Decision: p.Decision, Asker: p.Asker},
			What: what, Unless: unless, Every: string(in.Every), Until: in.Until, Zone: p.zone().String(),
			DueUS: due.UnixMicro(),
		}, s.Promises)
		if full, ok := errors.AsType[store.TooManyPromises](err); ok {
			switch {
			case full.Conversation:
				return "", mistakef("%d promises are open here already, which is the limit. Somebody must cancel one "+
					"first.", full.Limit)
			case full.Channel:
				return "", mistakef("%d promises are open in this channel already, which is the limit. Somebody must "+
					"cancel one first.", full.Limit)
			}
			return "", mistakef("Whoever asks has %d open promises already, here and elsewhere, which is the limit "+
				"for them. They must cancel one first.", full.Limit)
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Promised for %s. That stands under your message, with a button to cancel it: confirm it "+
			"in a few words, without the time.",
			promise.Due().In(p.zone()).Format("Mon 2006-01-02 15:04:05 -07:00")), nil
	})
	t.addressed = true
	t.describe = func(p Place) string {
		return fmt.Sprintf("Makes a promise to come back to something in this conversation: a reminder or, with "+
			"unless, another look whether it is settled, of which nobody hears if it is. "+
			"Only when somebody asks for it or agrees to it. A distance such as in 90m is added up for you. A local "+
			"time is taken in %s, the time zone of whoever asks, where it is now %s. "+
			"At most 366 days ahead.", p.zone(), p.Now.In(p.zone()).Format("Monday, 2006-01-02 15:04")) + waiting(p.Hooks)
	}
	return t
}

// waiting says what until is for; "" where there are no hooks.
func waiting(hooks []string) string {
	if len(hooks) == 0 {
		return ""
	}
	return " With until it is told as soon as it happens: events come by these hooks: " + strings.Join(hooks, ", ") +
		". Say in what exactly what must have happened. when is then the latest time; in 7d if nobody names one."
}

// zone is the location of a place; UTC if it has none.
func (p Place) zone() *time.Location {
	if p.Zone == nil {
		return time.UTC
	}
	return p.Zone
}
