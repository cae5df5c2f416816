// Package label says in hindsight whether a judgment was right, by what followed it.
package label

import (
	"slices"
	"time"

	"myao/internal/conversation"
)

// Truth is what the bot should have done.
type Truth string

const (
	Speak  Truth = "speak"
	Silent Truth = "silent"
	// Wait says that a yes with a delay was right to wait: people settled the matter meanwhile.
	Wait Truth = "wait"
	// Either is a person's answer that both would have been all right.
	Either Truth = "either"
)

// Kind is a kind of evidence.
type Kind string

const (
	Mentioned Kind = "mentioned"  // silent, and then somebody had to mention the bot
	AnswerNow Kind = "answer_now" // silent, and then somebody ordered an answer
	// Unanswered is a question after which nobody said or did anything. Perhaps nobody cared, so it is told
	// apart and counts for nothing before people have confirmed it.
	Unanswered Kind = "unanswered"
	Answered   Kind = "answered" // silent, and then another person answered or took it on
	Unwelcome  Kind = "unwelcome"
	Welcome    Kind = "welcome"
	Waited     Kind = "waited" // a delayed yes, withdrawn when another person answered
	Human      Kind = "human"  // a person's own label
)

// Kinds are the kinds of evidence that are found in hindsight.
var Kinds = []Kind{Mentioned, AnswerNow, Unanswered, Answered, Unwelcome, Welcome, Waited}

// Truth is what a kind of evidence says; empty for Human.
func (k Kind) Truth() Truth {
	switch k {
	case Mentioned, AnswerNow, Unanswered, Welcome:
		return Speak
	case Answered, Unwelcome:
		return Silent
	case Waited:
		return Wait
	}
	return ""
}

// Phrase says what the evidence is.
func (k Kind) Phrase() string {
	switch k {
	case Mentioned:
		return "somebody had to mention the bot"
	case AnswerNow:
		return "somebody ordered an answer"
	case Unanswered:
		return "nobody answered within a day"
	case Answered:
		return "another person answered, or took it on"
	case Unwelcome:
		return "people did not want the answer"
	case Welcome:
		return "people welcomed the answer"
	case Waited:
		return "another person answered before the bot did"
	}
	return "a person says so"
}

// Phrase says what would have been right.
func (t Truth) Phrase() string {
	switch t {
	case Speak:
		return "an answer was right"
	case Silent:
		return "silence was right"
	case Wait:
		return "waiting was right"
	}
	return "both were right"
}

// Scored reports whether it tells an error of the bot from what was right. Wait and Either do not.
func (t Truth) Scored() bool { return t == Speak || t == Silent }

// Label is what one kind of evidence says of a decision.
type Label struct {
	Kind  Kind
	Truth Truth
	// Weight is how likely the evidence is right, from 0 to 1, before people have checked any of its kind.
	Weight float64
	At     time.Time // of the evidence
	TS     string    // the message that shows it; empty if none does
}

// Decision is a judgment as far as hindsight needs it.
type Decision struct {
	At      time.Time
	Asker   string // user id of the author of the newest message that was judged
	Trigger string // its ts
	// Question is set if one of the judged messages asks something.
	Question bool
	Outcome  conversation.Outcome
	// Delayed is set for a yes that was to wait. By is the ts of the message that withdrew it.
	Delayed bool
	By      string
	// Posted is when the reply was posted; zero if it was not.
	Posted time.Time
}

// What is the kind of an Event.
type What string

const (
	Said    What = "said"
	Reacted What = "reacted"
	Voted   What = "voted"
	Ordered What = "ordered"
)

// Event is something that followed a decision, in its conversation.
type Event struct {
	At   time.Time
	What What
	By   string // user id; empty for the bot itself, other apps, and operators
	TS   string // of the message that was said or reacted to
	// Name is that of the reaction without its skin tone, store.VoteUp or VoteDown, or the kind of the order.
	Name string
	// ToReply is set if it is about the bot's reply, and not about what was judged.
	ToReply bool
	// Mention and Thanks are set for what was said, if it mentions the bot, and if it only thanks or agrees.
	Mention, Thanks bool
}

const (
	// soon is how long somebody may take to answer, to ask the bot, or to take a matter on.
	soon = time.Hour
	// annoyed is how soon a mute is taken to be about the reply before it.
	annoyed = 30 * time.Minute
	// Window is how long after a decision anything counts.
	Window = 24 * time.Hour
)

// Reactions that people show that they see to something by, dislike or welcome a reply by.
var (
	takesOn = []string{"white_check_mark", "heavy_check_mark", "ballot_box_with_check", "eyes", "+1", "thumbsup",
		"raised_hand", "raising_hand", "対応中", "対応済み", "確認中"}
	against = map[string]float64{"-1": 0.9, "thumbsdown": 0.9, "shushing_face": 1}
	favours = map[string]float64{"+1": 0.7, "thumbsup": 0.7, "pray": 0.7, "white_check_mark": 0.7,
		"heavy_check_mark": 0.7, "tada": 0.7, "heart": 0.7}
)

// Of returns what followed a decision says of it: at most one label of each kind, the weightiest and
// then earliest evidence. events are in order of time.
func Of(d Decision, events []Event) []Label {
	events = slices.DeleteFunc(slices.Clone(events), func(e Event) bool {
		return e.At.Before(d.At) ||
			e.At.Sub(d.At) > Window
	})
	var all []Label
	for _, e := range events {
		if kind, weight := d.evidence(e, events); weight > 0 {
			all = append(all, Label{kind, kind.Truth(), weight, e.At, e.TS})
		}
	}
	if d.Outcome == conversation.Silent && d.Question && !slices.ContainsFunc(events, d.noticed) {
		all = append(all, Label{Kind: Unanswered, Truth: Speak, Weight: 0.3, At: d.At, TS: d.Trigger})
	}
	slices.SortStableFunc(all, func(a, b Label) int {
		if a.Weight != b.Weight {
			if a.Weight > b.Weight {
				return -1
			}
			return 1
		}
		return a.At.Compare(b.At)
	})
	var out []Label
	for _, l := range all {
		if !slices.ContainsFunc(out, func(o Label) bool { return o.Kind == l.Kind }) {
			out = append(out, l)
		}
	}
	return out
}

// evidence is what an event says of the decision, and with which weight; 0 for nothing.
func (d Decision) evidence(e Event, events []Event) (Kind, float64) {
	after := e.At.Sub(d.At)
	switch d.Outcome {
	case conversation.Silent:
		switch {
		case e.What == Ordered && e.Name == conversation.UpdateAnswerNow:
			return AnswerNow, 1
		case after > soon || e.ToReply:
		case e.What == Said && e.Mention && e.By != "" && !d.othersBefore(e, events):
			return Mentioned, 0.9
		case d.byAnother(e) && (e.What == Said && !e.Mention && !d.mentionedBefore(e, events) || e.What == Reacted &&
			slices.Contains(takesOn, e.Name)):
			return Answered, 0.6
		}
	case conversation.Withdrawn:
		if d.Delayed && e.What == Said && e.TS == d.By && d.byAnother(e) && !e.Mention {
			return Waited, 0.6
		}
	case conversation.OutcomePosted, conversation.Retracted:
		if !d.Posted.IsZero() {
			return d.reception(e, events)
		}
	}
	return "", 0
}

// reception is what an event says of a reply that was posted.
func (d Decision) reception(e Event, events []Event) (Kind, float64) {
	since := e.At.Sub(d.Posted)
	switch {
	case since < 0:
	case e.What == Voted && e.Name == "down":
		return Unwelcome, 0.9
	case e.What == Voted:
		return Welcome, 0.9
	case e.What == Ordered && e.ToReply:
		return Unwelcome, 1
	case e.What == Ordered && since <= annoyed &&
		(e.Name == conversation.UpdateMute || e.Name == conversation.UpdateSnooze):
		return Unwelcome, 0.9
	case e.What == Reacted && e.ToReply && against[e.Name] > 0:
		return Unwelcome, against[e.Name]
	case e.What == Reacted && e.ToReply:
		return Welcome, favours[e.Name]
	case e.What == Said && e.By != "" && e.Thanks && since <= soon && !slices.ContainsFunc(events, func(o Event) bool {
		return o.What == Said && o.By != "" && o.At.After(d.Posted) && o.At.Before(e.At)
	}):
		return Welcome, 0.8
	}
	return "", 0
}

func (d Decision) byAnother(e Event) bool { return e.By != "" && e.By != d.Asker }

// noticed reports whether an event shows that somebody other than whoever asked cared.
func (d Decision) noticed(e Event) bool {
	return d.byAnother(e) && (e.What == Said || e.What == Reacted) || e.Mention || e.What == Ordered
}

func (d Decision) othersBefore(e Event, events []Event) bool {
	return slices.ContainsFunc(events, func(o Event) bool {
		return o.What == Said && d.byAnother(o) && o.At.Before(e.At)
	})
}

func (d Decision) mentionedBefore(e Event, events []Event) bool {
	return slices.ContainsFunc(events, func(o Event) bool { return o.What == Said && o.Mention && o.At.Before(e.At) })
}
