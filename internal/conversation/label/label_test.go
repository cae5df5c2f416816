package label

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/conversation"
)

var decided = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func after(minutes float64, e Event) Event {
	e.At = decided.Add(time.Duration(minutes * float64(time.Minute)))
	return e
}

func wrote(by string) Event    { return Event{What: Said, By: by, TS: by} }
func mentions(by string) Event { return Event{What: Said, By: by, TS: by, Mention: true} }
func reacts(by, name string) Event {
	return Event{What: Reacted, By: by, TS: "trigger", Name: name}
}
func toReply(e Event) Event    { e.ToReply = true; return e }
func orders(name string) Event { return Event{What: Ordered, Name: name} }
func votes(value string) Event { return Event{What: Voted, By: "bob", Name: value, ToReply: true} }
func thanks(by string) Event   { return Event{What: Said, By: by, TS: by, Thanks: true} }
func posted(d Decision) Decision {
	d.Outcome, d.Posted = conversation.OutcomePosted, decided.Add(time.Minute)
	return d
}

// What follows a judgment says what the notes on judging lay down, with their weights.
func TestOf(t *testing.T) {
	t.Parallel()
	silent := Decision{At: decided, Asker: "alice", Trigger: "trigger", Outcome: conversation.Silent}
	question := silent
	question.Question = true
	spoke := posted(silent)
	delayed := silent
	delayed.Outcome, delayed.Delayed, delayed.By = conversation.Withdrawn, true, "bob"
	at := silent
	at.Outcome, at.By = conversation.Withdrawn, "bob"
	const nothing = ""
	for name, c := range map[string]struct {
		of     Decision
		events []Event
		want   string
	}{
		"mentioned within the hour":              {silent, []Event{after(59, mentions("alice"))}, "mentioned 0.90 alice"},
		"the asker adds something, and mentions": {silent, []Event{after(1, wrote("alice")), after(2, mentions("alice"))}, "mentioned 0.90 alice"},
		"another person mentions it":             {silent, []Event{after(5, mentions("bob"))}, "mentioned 0.90 bob"},
		"mentioned after another person spoke":   {silent, []Event{after(1, wrote("bob")), after(2, mentions("alice"))}, "answered 0.60 bob"},
		"mentioned too late":                     {silent, []Event{after(61, mentions("alice"))}, nothing},
		"mentioned by an app":                    {silent, []Event{after(5, mentions(""))}, nothing},
		"mentioned before":                       {silent, []Event{after(-1, mentions("alice"))}, nothing},
		"an answer ordered, hours later":         {silent, []Event{after(600, orders(conversation.UpdateAnswerNow))}, "answer_now 1.00 "},
		"muted after silence":                    {silent, []Event{after(5, orders(conversation.UpdateMute))}, nothing},
		"a question without an answer":           {question, nil, "unanswered 0.30 trigger"},
		"a question, only the asker goes on":     {question, []Event{after(30, wrote("alice")), after(40, reacts("alice", "eyes"))}, "unanswered 0.30 trigger"},
		"a question, answered late":              {question, []Event{after(600, wrote("bob"))}, nothing},
		"a question, answered by an app":         {question, []Event{after(5, wrote(""))}, "unanswered 0.30 trigger"},
		"a question, any reaction":               {question, []Event{after(5, reacts("bob", "joy"))}, nothing},
		"a question, answered after a day":       {question, []Event{after(60*24+1, wrote("bob"))}, "unanswered 0.30 trigger"},
		"answered":                               {silent, []Event{after(5, wrote("bob"))}, "answered 0.60 bob"},
		"answered, and then mentioned":           {question, []Event{after(5, wrote("bob")), after(6, mentions("bob"))}, "answered 0.60 bob"},
		"answered late":                          {silent, []Event{after(61, wrote("bob"))}, nothing},
		"taken on":                               {silent, []Event{after(5, reacts("bob", "eyes"))}, "answered 0.60 trigger"},
		"taken on by the asker":                  {silent, []Event{after(5, reacts("alice", "eyes"))}, nothing},
		"laughed at":                             {silent, []Event{after(5, reacts("bob", "joy"))}, nothing},
		"voted down":                             {spoke, []Event{after(600, votes("down"))}, "unwelcome 0.90 "},
		"voted up":                               {spoke, []Event{after(600, votes("up"))}, "welcome 0.90 "},
		"both votes":                             {spoke, []Event{after(5, votes("up")), after(6, votes("down"))}, "welcome 0.90  unwelcome 0.90 "},
		"a thumb down":                           {spoke, []Event{after(5, toReply(reacts("bob", "-1")))}, "unwelcome 0.90 trigger"},
		"a thumb down under the question":        {spoke, []Event{after(5, reacts("bob", "-1"))}, nothing},
		"hushed":                                 {spoke, []Event{after(5, toReply(reacts("bob", "shushing_face")))}, "unwelcome 1.00 trigger"},
		"retracted":                              {func() Decision { d := spoke; d.Outcome = conversation.Retracted; return d }(), []Event{after(5, toReply(orders("retracted")))}, "unwelcome 1.00 "},
		"muted soon":                             {spoke, []Event{after(30, orders(conversation.UpdateMute))}, "unwelcome 0.90 "},
		"muted later":                            {spoke, []Event{after(32, orders(conversation.UpdateMute))}, nothing},
		"muted before it was posted":             {spoke, []Event{after(0.5, orders(conversation.UpdateMute))}, nothing},
		"a thumb up":                             {spoke, []Event{after(5, toReply(reacts("bob", "+1")))}, "welcome 0.70 trigger"},
		"thanked next":                           {spoke, []Event{after(5, thanks("alice"))}, "welcome 0.80 alice"},
		"thanked next, and a thumb up":           {spoke, []Event{after(4, toReply(reacts("bob", "+1"))), after(5, thanks("alice"))}, "welcome 0.80 alice"},
		"thanks to somebody else":                {spoke, []Event{after(5, wrote("bob")), after(6, thanks("alice"))}, nothing},
		"nothing follows the answer":             {posted(question), []Event{after(5, wrote("alice"))}, nothing},
		"another answered while it waited":       {delayed, []Event{after(1, wrote("bob"))}, "waited 0.60 bob"},
		"the asker withdrew it":                  {func() Decision { d := delayed; d.By = "alice"; return d }(), []Event{after(1, wrote("alice"))}, nothing},
		"withdrawn without a delay":              {at, []Event{after(1, wrote("bob"))}, nothing},
		"dropped":                                {func() Decision { d := question; d.Outcome = conversation.Dropped; return d }(), []Event{after(1, wrote("bob"))}, nothing},
	} {
		var got []string
		for _, l := range Of(c.of, c.events) {
			if l.Truth != l.Kind.Truth() || l.Truth == "" || !slices.Contains(Kinds, l.Kind) {
				t.Errorf("%s: %+v", name, l)
			}
			got = append(got, fmt.Sprintf("%s %.2f %s", l.Kind, l.Weight, l.TS))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
