package timeline

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"myao/internal/conversation"
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
