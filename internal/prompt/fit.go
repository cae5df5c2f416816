package prompt

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"myao/internal/chat"
)

// What a prompt holds of what was said. A model's window is not known here; 128,000
// tokens is a common one, and a question that does not fit is refused whole. A character
// is about a quarter of a token in English, three quarters in Japanese: the most that is
// shown comes to 30,000 or 90,000, and all the memories of a context to some 35,000.
const (
	// messageAtMost bounds, in characters, one message's text: Slack advises as much and
	// takes ten times that (docs.slack.dev/reference/methods/chat.postMessage).
	messageAtMost = 4000
	// endAtMost is what is left of that for the end of a longer one: below a log that
	// somebody pasted stands what they ask, and its last lines say what went wrong.
	endAtMost = 1000
	// promptAtMost bounds, in characters, all messages, with their heads and files, unless
	// Options.Room does.
	promptAtMost = 120_000
)

// FitMemory is the context of a memory with as much of what was said as its prompt shows;
// the others are counted as omitted.
func (r *Renderer) FitMemory(kind MemoryKind, c chat.Context, o Options) chat.Context {
	c, _ = r.fitted(c, o, kind != ThreadSummary)
	return c
}

// fitted is a context with as much of what was said as there is room for, and its view.
// whole is set where all of it is in question, not the target alone.
func (r *Renderer) fitted(c chat.Context, o Options, whole bool) (chat.Context, view) {
	v := r.view(c, o)
	total := 0
	for _, s := range v.sections() {
		for _, m := range s {
			total += m.size()
		}
	}
	room := cmp.Or(o.MaxCharacters, promptAtMost)
	if total <= room {
		return c, v
	}
	sizes := map[string]int{} // by ts: a parent stands in two places
	for _, s := range v.sections() {
		for _, m := range s {
			sizes[m.ts] += m.size()
		}
	}
	c = fit(c, sizes, room, o.AnswerTS, whole)
	return c, r.view(c, o)
}

// sections is all messages that are shown.
func (v view) sections() [][]messageView {
	all := [][]messageView{v.Target.Messages, v.TopLevel}
	for _, t := range v.Threads {
		all = append(all, t.Messages)
	}
	return all
}

// size is how many characters a message takes; a gap takes none.
func (m messageView) size() int {
	n := utf8.RuneCountInString(m.At) + utf8.RuneCountInString(m.Name) + utf8.RuneCountInString(m.Text) + utf8.RuneCountInString(m.End)
	for _, f := range m.Files {
		n += utf8.RuneCountInString(f)
	}
	return n
}

// fit leaves the newest messages that there is room for, those in question first, and before them the target's
// root and the one that is answered. One is left in any case.
func fit(c chat.Context, sizes map[string]int, room int, answered string, whole bool) chat.Context {
	all := c.Conversation.All()
	slices.Reverse(all)
	kept := map[string]bool{}
	keep := func(m chat.Message) { room, kept[m.TS] = room-sizes[m.TS], true }
	for _, m := range all {
		if m.TS == answered || m.TS == c.TargetThread {
			keep(m)
		}
	}
	asked := func(m chat.Message) bool { return whole || in(m, c.TargetThread) }
	full := false
	for _, now := range []bool{true, false} {
		for _, m := range all {
			if kept[m.TS] || asked(m) != now {
				continue
			}
			if full = full || sizes[m.TS] > room && len(kept) > 0; !full {
				keep(m)
			}
		}
	}
	fits := chat.NewChannelMessages(c.Conversation.ChannelID, c.Conversation.ChannelName,
		slices.DeleteFunc(slices.Clone(all), func(m chat.Message) bool { return !kept[m.TS] }))
	fits.Omitted, fits.OmittedAround, fits.Unread = c.Conversation.Omitted, c.Conversation.OmittedAround, c.Conversation.Unread
	fits.Earlier, fits.Since = c.Conversation.Earlier, c.Conversation.Since
	for _, m := range all {
		switch {
		case kept[m.TS], m.Deleted:
		case asked(m), c.TargetThread == "": // of the top level's threads is told there, too
			fits.Omitted = min(fits.Omitted+1, chat.CountAtMost)
		default:
			fits.OmittedAround++
		}
	}
	c.Conversation = fits
	return c
}

// in reports whether a message stands in a thread, or with thread empty at the top level.
func in(m chat.Message, thread string) bool {
	if thread == "" {
		return m.ThreadTS == "" || m.ThreadTS == m.TS
	}
	return m.TS == thread || m.ThreadTS == thread
}

// cut is a text that has at most most characters, or else its beginning and its end, of end
// characters, that come to as many together, and how many there are between them.
func cut(s string, most, end int) (first string, between int, last string) {
	if len(s) <= most {
		return s, 0, "" // in bytes, of which a character has one at least
	}
	runes := []rune(s)
	if len(runes) <= most {
		return s, 0, ""
	}
	return string(runes[:most-end]), len(runes) - most, string(runes[len(runes)-end:])
}
