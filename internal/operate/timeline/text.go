package timeline

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"myao/internal/conversation"
	"myao/internal/store"
)

const (
	clock = "2006-01-02 15:04:05"
	// indent is as wide as a time in that layout and two spaces.
	indent = "                     "
)

// Text writes the timeline for a terminal, with times in a zone. Texts of people and models are
// escaped, so that they cannot control the terminal.
func (s Timeline) Text(w io.Writer, zone *time.Location) error {
	t := text{zone: zone, whole: s.Conversation.TopLevel()}
	name := s.Conversation.Channel
	if s.ChannelName != "" {
		name += " (#" + Plain(s.ChannelName) + ")"
	}
	switch {
	case s.MessageTS != "":
		t.line("message %s of %s", s.MessageTS, name)
	case s.Conversation.Thread != "":
		t.line("thread %s of %s", s.Conversation.Thread, name)
	default:
		t.line("the top level of %s", name)
	}
	t.line("times in %s", zone)
	if s.Earlier {
		t.line("there are earlier messages: use --limit and --since to see them")
	}
	if len(s.Entries) == 0 {
		t.line("no messages")
	}
	for _, e := range s.Entries {
		t.line("")
		switch {
		case e.Message != nil:
			t.message(e.At, e.Thread, *e.Message)
		case e.Decision != nil:
			t.decision(e.At, e.Thread, *e.Decision)
		case e.Order != nil:
			t.order(e.At, e.Thread, *e.Order)
		}
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// text builds the output.
type text struct {
	strings.Builder
	zone *time.Location
	// whole is set if entries may belong to threads that must be named.
	whole bool
}

func (t *text) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// head writes an entry's first line, further its other lines.
func (t *text) head(at time.Time, thread, format string, args ...any) {
	t.WriteString(at.In(t.zone).Format(clock) + "  ")
	if t.whole && thread != "" {
		t.WriteString("in thread " + thread + ": ")
	}
	t.line(format, args...)
}

func (t *text) further(format string, args ...any) { t.line(indent+format, args...) }

// at is a time shown next to another one: without the date if that is the same.
func (t *text) at(at, other time.Time) string {
	at, other = at.In(t.zone), other.In(t.zone)
	if at.YearDay() == other.YearDay() && at.Year() == other.Year() {
		return at.Format("15:04:05")
	}
	return at.Format(clock)
}

func (t *text) message(at time.Time, thread string, m Message) {
	who := Plain(cmp.Or(m.Name, "somebody"))
	switch {
	case m.Own:
		who = "the bot"
	case m.User != "":
		who += " (" + Plain(m.User) + ")"
	}
	if m.Bot {
		who += ", a bot,"
	}
	t.head(at, thread, "%s: %s wrote", m.TS, who)
	if m.Text != "" {
		t.further("%s", strconv.Quote(m.Text))
	}
	for _, p := range m.Changes {
		t.change(at, p)
	}
	switch {
	case m.Deleted:
		t.further("it was deleted")
	case m.Edited != "":
		t.further("last edited at %s", Plain(m.Edited))
	}
	if m.Explanation != "" {
		t.further("%s", m.Explanation)
	}
}

// lateAfter is how long a message may take to be recorded, or relayed, before the output mentions
// it.
const lateAfter = 5 * time.Second

func (t *text) change(sent time.Time, p Change) {
	what := p.Kind
	if p.By != "" {
		what += " by " + Plain(p.By)
	}
	lag := p.Stored.Sub(sent)
	switch {
	case p.Relayed.IsZero():
		t.further("%s: heard %s, not relayed yet", what, t.at(p.Stored, sent))
	case p.Kind == "said" || p.Kind == "addressed" && p.Revision == "":
		line := what + ": relayed " + t.at(p.Relayed, sent)
		if lag > lateAfter {
			line += ", heard " + lag.Round(time.Second).String() + " late"
		}
		if wait := p.Relayed.Sub(p.Stored); wait > lateAfter {
			line += ", " + wait.Round(time.Second).String() + " after it was heard"
		}
		t.further("%s", line)
	default:
		t.further("%s: relayed %s", what, t.at(p.Relayed, sent))
	}
}

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
	case d.Outcome == conversation.Sent:
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
	return fmt.Sprintf("%s decided %s%s: %s", Plain(o.Judge), verdict(o.ShouldRespond, o.DelaySeconds), confidence(*o.Confidence, o.MinConfidence, o.Wanted && !o.ShouldRespond), Plain(o.Reason))
}

func (t *text) call(c Call) {
	line := fmt.Sprintf("%s of %s: %d tokens in, %d out, %s", Plain(c.Purpose), Plain(cmp.Or(c.Model, "a model")), c.TokensIn, c.TokensOut,
		c.Latency.Round(time.Millisecond))
	if c.Cost != nil {
		line += ", cost " + Money(*c.Cost)
	}
	if c.Error != "" {
		line += ", failed: " + Plain(c.Error)
	}
	t.further("%s", line)
}

func (t *text) step(decided time.Time, s Step) {
	if p := s.Proposal; p != nil {
		t.proposal(decided, s.Tool, *p)
		return
	}
	if p := s.Promise; p != nil {
		t.promise(decided, *p)
		return
	}
	line := fmt.Sprintf("tool %s: %s, %s", Plain(s.Tool), s.State, tries(s.Attempts))
	if s.State == store.StepDone {
		line += fmt.Sprintf(", %s, %d characters", s.Took.Round(time.Millisecond), s.Size)
		if s.Failed {
			line += ", an error for the model"
		}
	}
	t.further("%s", line)
}

// proposal describes a call that people decide about, without its input.
func (t *text) proposal(decided time.Time, tool string, p Proposal) {
	line := fmt.Sprintf("proposed %s as %s: %s", Plain(tool), p.ID, p.State)
	switch {
	case p.By != "":
		line += fmt.Sprintf(", decided by %s at %s", Plain(p.By), t.at(p.Decided, decided))
	case p.State == store.ProposalOpen:
		line += ", lapses at " + t.at(p.Lapses, decided)
	}
	if p.State.Ran() {
		line += ", ended at " + t.at(p.Ended, decided)
	}
	t.further("%s", line)
}

// promise describes a promise without its words.
func (t *text) promise(decided time.Time, p Promise) {
	line := fmt.Sprintf("promised as %s: %s", p.ID, p.State)
	if p.State == store.PromiseOpen {
		line += ", due at " + t.at(p.Due, decided)
	}
	if p.Every != "" {
		line += ", every " + p.Every
	}
	if !p.HeldUntil.IsZero() {
		line += ", held up until " + t.at(p.HeldUntil, decided)
	}
	switch {
	case conversation.Rule(p.By).Reason() != "":
		line += " by rule " + p.By
	case p.By != "":
		line += " by " + Plain(p.By)
	}
	if !p.Ended.IsZero() {
		line += ", ended at " + t.at(p.Ended, decided)
	}
	t.further("%s", line)
}

// asked names whoever asked for a promise, as the end of a clause; "" if that is not known.
func (p *Promise) asked() string {
	switch {
	case p == nil || p.AskedBy == "":
		return ""
	case p.Name == "":
		return " that " + Plain(p.AskedBy) + " asked for"
	}
	return fmt.Sprintf(" that %s (%s) asked for", Plain(p.Name), Plain(p.AskedBy))
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
	conversation.Withdrawn: " because of ", conversation.Dropped: " by ", conversation.Overruled: " by ", conversation.Unsent: ": ", conversation.Retracted: " by ", conversation.Silent: " after all, by rule ",
}

func (t *text) outcome(at time.Time, d Decision) {
	line := string(d.Outcome)
	if d.Outcome == conversation.Sent && len(d.Parts) == 0 {
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

func (t *text) order(at time.Time, thread string, o Order) {
	line := Plain(o.By) + " ordered: " + Plain(o.Kind)
	if o.Everywhere {
		line += " everywhere"
	}
	if o.Subject != "" {
		line += " " + Plain(o.Subject)
	}
	if !o.Until.IsZero() && o.Kind != conversation.UpdateMute { // a mute's end means nothing
		line += " until " + o.Until.In(t.zone).Format(clock)
	}
	t.head(at, thread, "%s", line)
}

// Plain is a text of people or models as one line that cannot control a terminal: characters that
// cannot be printed are escaped as in a Go string.
func Plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}
