package prompt

import (
	"strings"

	"myao/internal/chat"
)

// Found writes messages that may come from several channels as material: one after the other, each
// with its time, channel, thread and author. mark is put before each; nil puts nothing.
func (r *Renderer) Found(found []chat.Found, p chat.Persona, o Options, mark func(chat.Message) string) string {
	c := chat.Context{Persona: p, Found: found}
	n := newNames(c, o, r.directName)
	var b strings.Builder
	for i, f := range found {
		if i > 0 {
			b.WriteByte('\n')
		}
		if mark != nil {
			b.WriteString(mark(f.Message) + " ")
		}
		where := r.directName
		if !isDirect(f.Channel) {
			where = "#" + pickName(n.channels[f.Channel], f.ChannelName, f.Channel)
		}
		if f.ThreadTS != "" {
			where += " (thread " + cleanName(f.ThreadTS) + ")"
		} else {
			where += " (" + cleanName(f.TS) + ")"
		}
		shown := r.messages([]chat.Message{f.Message}, n, o)
		for _, m := range shown {
			b.WriteString(m.At + " " + where + " " + m.Name + r.appOf(m) + ": " + indented(m))
		}
	}
	return b.String()
}

// appOf is what follows the name of an app, which may have any name, as in the templates.
func (r *Renderer) appOf(m messageView) string {
	if m.App {
		return r.appMark
	}
	return ""
}

// indented is the text of a message in which no line but the first begins at the margin, so that no
// text is mistaken for another message.
func indented(m messageView) string {
	lines := []string{m.Text}
	if m.Cut > 0 {
		lines = append(lines, "…", m.End)
	}
	lines = append(lines, m.Files...)
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(lines, "\n")), "\n", "\n    ")
}
