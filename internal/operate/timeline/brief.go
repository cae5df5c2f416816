package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/language/words"
	"myao/internal/store"
)

// Brief is the newest n decisions in Slack's mrkdwn, one line each, the newest last, without the
// text of any message; "" if there are none. workspace is the address of the workspace, for links; it may be empty.
// Slack shows the times in the reader's zone, or in the given one where it cannot.
func (s Timeline) Brief(n int, zone *time.Location, workspace string, w words.Words) string {
	link := func(ts, text string) string { return text }
	if workspace != "" {
		link = func(ts, text string) string {
			return "<" + chat.Link(workspace, s.Conversation.Channel, ts, "") + "|" + text + ">"
		}
	}
	var lines []string
	for i := len(s.Entries) - 1; i >= 0 && len(lines) < n; i-- {
		if d := s.Entries[i].Decision; d != nil {
			lines = append([]string{brief(s.Entries[i], zone, link, w)}, lines...)
		}
	}
	return strings.Join(lines, "\n")
}

// outcomePhrases is each outcome in words.
var outcomePhrases = map[conversation.Outcome]string{
	conversation.Pending: "means to answer", conversation.Silent: "stayed silent",
	conversation.OutcomePosted: "answered", conversation.Withdrawn: "withdrew its answer",
	conversation.Dropped: "was told to drop its answer", conversation.Overruled: "was told to answer at once",
	conversation.OutcomeFailed: "could not answer",
	conversation.Retracted:     "answered, and was told to take it back",
}

// promisePhrases are the outcomes of a promise that is due, where they have other words.
var promisePhrases = map[conversation.Outcome]string{
	conversation.Pending: "means to keep a promise", conversation.Silent: "let a promise go",
	conversation.OutcomePosted: "kept a promise",
}

// brief is one decision. Its reason is in the model's words and language, or one of our own.
func brief(e Entry, zone *time.Location, link func(ts, text string) string, w words.Words) string {
	d := e.Decision
	end := w.Of(cmp.Or(outcomePhrases[d.Outcome], mrkdwn(string(d.Outcome))))
	if name := d.reaction(); name != "" {
		end = w.Say("reacted with :%s:", mrkdwn(name))
	}
	if phrase := promisePhrases[d.Outcome]; d.Source == promiseSource && phrase != "" {
		end = w.Of(phrase)
		if p := d.Promise; p != nil && p.AskedBy != "" {
			end = w.Say(phrase+" that %s asked for", "<@"+mrkdwn(p.AskedBy)+">")
		}
	}
	if e.Thread != "" {
		end = w.Say("%s in a thread", end)
	}
	ours, refusal, refused := strings.Cut(cmp.Or(d.OutcomeReason, mrkdwn(d.Reason), "no reason is known"), ": slack ")
	reason := w.Of(ours)
	if refused {
		reason += ": slack " + refusal
	}
	by := w.Of(d.Source)
	if d.Rule != "" {
		by = w.Say("rule %s", d.Rule)
	}
	switch {
	case d.OutcomeReason != "":
		by = w.Say("rule %s", d.OutcomeBy)
	case d.Confidence != nil:
		by = w.Say("%s, confidence %.2f", by, *d.Confidence)
	}
	if tools := d.tools(); tools != "" {
		by = w.Say("%s; used %s", by, tools)
	}
	if f := d.Feedback; f != nil {
		by = w.Say("%s; rated %d up, %d down", by, f.Up, f.Down)
	}
	by = mrkdwn(by)
	if len(d.Labels) > 0 {
		l := d.Labels[0]
		because := w.Of(l.Kind.Phrase())
		if l.TS != "" {
			because = link(l.TS, because)
		}
		by += w.Say("; in hindsight %s: %s", w.Of(l.Truth.Phrase()), because)
	}
	at := fmt.Sprintf("<!date^%d^{date_short_pretty} {time}|%s>", e.At.Unix(), e.At.In(zone).Format("2006-01-02 15:04"))
	return fmt.Sprintf("• %s %s: %s (%s)", at, end, reason, by)
}

// reaction is the name of the emoji that the bot put under the trigger; "" if there is none.
func (d *Decision) reaction() string {
	i := slices.IndexFunc(d.Parts, func(p Part) bool { return p.State == store.Sent && p.Reaction != "" })
	if i < 0 {
		return ""
	}
	return d.Parts[i].Reaction
}

// tools is the names of the tools that were used, each once.
func (d *Decision) tools() string {
	var names []string
	for _, st := range d.Steps {
		if st.State == store.StepDone && !slices.Contains(names, st.Tool) {
			names = append(names, st.Tool)
		}
	}
	return strings.Join(names, ", ")
}

// mrkdwn escapes a text for Slack, so that it can neither mention nor link
// (docs.slack.dev/messaging/formatting-message-text). This includes @here and the like, which are
// plain words without brackets.
func mrkdwn(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(Plain(s))
}
