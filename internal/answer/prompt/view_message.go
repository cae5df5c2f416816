package prompt

import (
	"slices"
	"strings"

	"myao/internal/chat"
)

// messageView is a message or a gap. In a gap, only Skipped, OrMore and Unread are set: how many
// messages are left out, that there may be more, and that the reason is that they could not be
// read.
type messageView struct {
	ts             string
	own            bool
	speaker        string // who others are in a chat turn
	At, Name, Text string
	// App is set if an app wrote the message. An app may choose any name, so Slack marks it too.
	App bool
	// Cut is how many characters of a long text are left out between Text and End.
	Cut   int
	End   string
	Files []string
	// Reactions are the emoji under it, each with the names of those who put it there.
	Reactions []reactionView
	// New is set if it is among those to judge, and then Ago is how long ago it was sent; in a judgment, in a
	// second look and where a promise is due. On any other message it would change with the clock, and with it the
	// beginning of the next prompt.
	Ago            *span
	New            bool
	Skipped        int
	OrMore, Unread bool
}

// Gap reports whether messages were, or may have been, left out here.
func (m messageView) Gap() bool { return m.Skipped > 0 || m.Unread }

// Empty reports whether nothing of the message can be shown.
func (m messageView) Empty() bool { return m.Text == "" && m.End == "" && len(m.Files) == 0 }

// askedMessage returns the message with a ts; nil if it is the last one or is missing.
func askedMessage(messages []messageView, ts string) *askedView {
	i := slices.IndexFunc(messages, func(m messageView) bool { return ts != "" && m.ts == ts })
	if i < 0 || i == len(messages)-1 {
		return nil
	}
	own := func(m messageView) bool { return m.own }
	return &askedView{At: messages[i].At, Spoken: slices.ContainsFunc(messages[i+1:], own)}
}

// withGap adds a gap to messages around the target, for Earlier and, at the top level, for
// OmittedAround. Only parents of threads are older than the gap.
func withGap(messages []messageView, c chat.ChannelMessages, thread string) []messageView {
	at, gap := 0, messageView{}
	if thread == "" {
		gap.Skipped = c.OmittedAround
	}
	if slices.Contains(c.Earlier, thread) {
		gap.Skipped, gap.OrMore = max(gap.Skipped, 1), true
		for at < len(messages) && chat.Time(messages[at].ts).Before(c.Since) {
			at++
		}
	}
	if !gap.Gap() {
		return messages
	}
	return slices.Insert(messages, at, gap)
}

// targetMessages returns the target's messages with a gap for Omitted and Unread. A thread's root
// is always shown, so the gap comes after it.
func (r *Renderer) targetMessages(c chat.Context, n names, o Options) []messageView {
	messages := r.messages(c.Target(), n, o)
	if c.TargetThread == "" {
		messages = slices.DeleteFunc(messages, func(m messageView) bool {
			return m.ts != o.AnswerTS && rootAlone(m, c.Conversation)
		})
	}
	omitted := max(c.Conversation.Omitted, 0)
	gap := messageView{Skipped: omitted, OrMore: omitted >= chat.CountAtMost || c.Conversation.Unread,
		Unread: c.Conversation.Unread}
	if !gap.Gap() {
		return messages
	}
	at := 0
	if all := c.Target(); len(messages) > 0 && c.TargetThread != "" && all[0].TS == c.TargetThread && !all[0].Deleted {
		at = 1
	}
	return slices.Insert(messages, at, gap)
}

// file is a file as it stands at its message: its label and, of a recording, what is said in it.
func (r *Renderer) file(f chat.File) string {
	f.Name = cleanFile(f)
	t, label := f.Transcript, f.Label()
	text, _, end := cutMiddle(strings.TrimSpace(chat.Printable(t.Text)), chat.ShownTranscript, maxEndCharacters)
	switch {
	case !f.Recording():
		return label
	case text == "" && t.Pending:
		return label + " " + r.transcript.pending
	case text == "":
		return label + " " + r.transcript.none
	}
	label += " " + r.transcript.made + "\n" + r.guard.text(text)
	if end != "" {
		label += "\n…\n" + r.guard.text(end)
	}
	if t.Cut {
		label += "\n…"
	}
	return label
}

// messages returns the views of all messages that are not deleted.
func (r *Renderer) messages(messages []chat.Message, n names, o Options) []messageView {
	var shown []messageView
	for _, m := range messages {
		if m.Deleted {
			continue
		}
		// Cut before guarding, because the rest of a cut line may look like a rule.
		text, between, end := cutMiddle(n.resolve(chat.Printable(m.Text), r.location), maxMessageCharacters,
			maxEndCharacters)
		v := messageView{
			ts:      m.TS,
			own:     m.Own,
			speaker: n.speaker(m),

			App:  m.ByBot() && !m.Own,
			At:   m.Time().In(r.location).Format(timeLayout),
			Name: n.author(m),
			Text: r.guard.text(text),
			Cut:  between,
			End:  r.guard.text(end),
			New:  slices.Contains(o.Pending, m.TS),

			Reactions: n.reactions(m),
		}
		if v.New && (o.Features != nil || o.Draft != "" || o.Promise != nil) {
			ago := since(o.Now, m.Time())
			v.Ago = &ago
		}
		for _, f := range m.Files {
			v.Files = append(v.Files, r.file(f))
		}
		shown = append(shown, v)
	}
	return shown
}
