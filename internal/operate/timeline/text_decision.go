package timeline

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"myao/internal/conversation"
	"myao/internal/store"
)

func (t *text) decision(at time.Time, thread string, d Decision) {
	verdict := verdict(d.ShouldRespond, d.DelaySeconds)
	if !d.ShouldRespond && d.Source == "judgment" && d.Confidence == nil {
		verdict = "nothing"
	}
	about := d.TriggerTS
	if len(d.With) > 0 {
		about += " with " + strings.Join(d.With, ", ")
	}
	switch {
	case d.Source != promiseSource:
		t.head(at, thread, "decided %s, about %s", verdict, about)
	case d.Outcome == conversation.Silent:
		t.head(at, thread, "let a promise go%s, about %s", d.Promise.asked(), about)
	case d.Outcome == conversation.OutcomePosted:
		t.head(at, thread, "kept a promise%s, about %s", d.Promise.asked(), about)
	default:
		t.head(at, thread, "decided to keep a promise%s, about %s", d.Promise.asked(), about)
	}
	by := Plain(d.Source)
	if d.Rule != "" {
		by = "rule " + Plain(d.Rule)
	}
	if d.Confidence != nil {
		by += confidence(*d.Confidence, d.MinConfidence, d.Wanted && !d.ShouldRespond)
	}
	t.further("%s: %s", by, Plain(cmp.Or(d.Reason, "no reason is known")))
	if d.Gist != "" {
		t.further("would add: %s", Plain(d.Gist))
	}
	if d.React != "" {
		t.further("would react with :%s:", Plain(d.React))
	}
	for _, c := range d.Calls {
		t.call(c)
	}
	for _, st := range d.Steps {
		t.step(at, st)
	}
	t.outcome(at, d)
	for _, o := range d.Opinions {
		t.further("in shadow %s", o)
		t.call(o.Call)
	}
	for _, l := range d.Labels {
		line := "in hindsight " + l.Truth.Phrase() + ": " + l.Kind.Phrase()
		if l.LabelledBy != "" {
			line += ", " + Plain(l.LabelledBy)
		}
		if l.TS != "" && l.TS != d.TriggerTS {
			line += ", " + l.TS
		}
		t.further("%s (weight %.2f)", line, l.Weight)
	}
	if f := d.Feedback; f != nil {
		t.further("rated %d up, %d down", f.Up, f.Down)
		for _, reason := range f.Reasons {
			t.further("down, because %s", strconv.Quote(reason))
		}
	}
}

// verdict is what a judge has decided, after "decided".
func verdict(respond bool, delay *int) string {
	switch {
	case respond && delay != nil && *delay > 0:
		return fmt.Sprintf("to answer in %s", time.Duration(*delay)*time.Second)
	case respond:
		return "to answer"
	}
	return "to be silent"
}

// confidence is how sure a judge was, and whether a yes was not sure enough.
func confidence(of, least float64, tooLow bool) string {
	line := fmt.Sprintf(", confidence %.2f", of)
	if tooLow {
		line += fmt.Sprintf(" of at least %.2f, wanted to answer", least)
	}
	return line
}

// String is the opinion on one line, for a terminal.
func (o Opinion) String() string {
	if o.Confidence == nil {
		return fmt.Sprintf("%s gave no verdict: %s", Plain(o.Judge), Plain(o.Call.Error))
	}
	return fmt.Sprintf("%s decided %s%s: %s", Plain(o.Judge), verdict(o.ShouldRespond, o.DelaySeconds),
		confidence(*o.Confidence, o.MinConfidence, o.Wanted && !o.ShouldRespond), Plain(o.Reason))
}

func (t *text) call(c Call) {
	line := fmt.Sprintf("%s of %s: %d tokens in, %d out, %s", Plain(c.Purpose), Plain(cmp.Or(c.Model, "a model")),
		c.TokensIn, c.TokensOut,
		c.Latency.Round(time.Millisecond))
	if c.Cost != nil {
		line += ", cost " + Money(*c.Cost)
	}
	if c.Error != "" {
		line += ", failed: " + Plain(c.Error)
	}
	t.further("%s", line)
}

// Money formats a cost: with two decimals, or two significant digits if it is small.
func Money(cost float64) string {
	if cost == 0 || cost >= 0.1 {
		return strconv.FormatFloat(cost, 'f', 2, 64)
	}
	small, err := strconv.ParseFloat(strconv.FormatFloat(cost, 'g', 2, 64), 64)
	if err != nil {
		small = cost
	}
	return strconv.FormatFloat(small, 'f', -1, 64)
}

// outcomeCauses joins an outcome with its cause.
var outcomeCauses = map[conversation.Outcome]string{
	conversation.Withdrawn: " because of ", conversation.Dropped: " by ", conversation.Overruled: " by ",
	conversation.OutcomeFailed: ": ", conversation.Retracted: " by ", conversation.Silent: " after all, by rule ",
}

func (t *text) outcome(at time.Time, d Decision) {
	line := string(d.Outcome)
	if d.Outcome == conversation.OutcomePosted && len(d.Parts) == 0 {
		line += ", but its message is unknown"
	}
	switch {
	case d.OutcomeBy == "":
	case d.Outcome == conversation.Silent && strings.Contains(d.OutcomeBy, "/"):
		line += ": another decision had already replied to the same message"
	case outcomeCauses[d.Outcome] != "":
		line += outcomeCauses[d.Outcome] + d.OutcomeBy
	}
	if d.OutcomeReason != "" {
		line += ": " + d.OutcomeReason
	}
	if !d.Settled.IsZero() && d.Outcome != conversation.Silent {
		line += " at " + t.at(d.Settled, at)
	}
	t.further("→ %s", Plain(line))
	for i, p := range d.Parts {
		state := string(p.State)
		switch {
		case p.State == store.Sent && p.Reaction != "":
			state = "reacted with :" + p.Reaction + ":"
		case p.Reaction != "":
			state = "reaction :" + p.Reaction + ":, " + state
		case p.State == store.Sent:
			state = "in Slack as " + p.TS
		case p.State == store.Retracted && p.TS != "":
			state += ", was in Slack as " + p.TS
		}
		switch {
		case p.Thread != "":
			state += ", in thread " + p.Thread
		case p.Channel != "":
			state += ", at the top level of " + p.Channel
		}
		line := fmt.Sprintf("part %d of %d: %s, %s", i+1, len(d.Parts), state, tries(p.Attempts))
		if p.Error != "" {
			line += ", last error: " + Plain(p.Error)
		}
		t.further("  %s", line)
	}
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return strconv.Itoa(n) + " tries"
}
