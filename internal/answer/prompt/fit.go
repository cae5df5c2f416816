package prompt

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"myao/internal/chat"
)

// How much of a conversation a prompt shows. A model's context window is not known here; a common
// one has 128,000 tokens, and providers refuse a prompt that does not fit. A character is about 1/4
// token in English and 3/4 token in Japanese, so the messages take up to 30,000 or 90,000 tokens.
// All memories of a context take about 35,000 more.
const (
	// maxMessageCharacters limits one message's text. Slack recommends this limit and accepts ten
	// times as much (docs.slack.dev/reference/methods/chat.postMessage).
	maxMessageCharacters = 4000
	// maxEndCharacters is the part of that for the end of a longer text. After a pasted log comes the
	// question, and the log's last lines say what went wrong.
	maxEndCharacters = 1000
	// maxPromptCharacters limits all messages, with their times, names and files.
	// Options.MaxCharacters overrides it.
	maxPromptCharacters = 120_000
)

// FitMemory returns the context of a memory with only the messages that its prompt shows. The others
// are counted as omitted.
func (r *Renderer) FitMemory(kind MemoryKind, c chat.Context, o Options) chat.Context {
	c, _ = r.fitView(c, o, kind != ThreadSummary)
	return c
}

// fitView returns a context with as many messages as fit, and its view. whole is set if all messages
// matter equally, not just the target's.
func (r *Renderer) fitView(c chat.Context, o Options, whole bool) (chat.Context, view) {
	v := r.view(c, o)
	total := 0
	for _, s := range v.sections() {
		for _, m := range s {
			total += m.size()
		}
	}
	room := cmp.Or(o.MaxCharacters, maxPromptCharacters)
	if total <= room {
		return c, v
	}
	sizes := map[string]int{} // by ts; a parent may be shown twice
	for _, s := range v.sections() {
		for _, m := range s {
			sizes[m.ts] += m.size()
		}
	}
	c = fit(c, sizes, room, o.AnswerTS, whole)
	return c, r.view(c, o)
}

// sections returns all messages that are shown, by section.
func (v view) sections() [][]messageView {
	all := [][]messageView{v.Target.Messages, v.TopLevel}
	for _, t := range v.Threads {
		all = append(all, t.Messages)
	}
	return all
}

// size returns how many characters a message takes; a gap takes none.
func (m messageView) size() int {
	n := utf8.RuneCountInString(m.At) + utf8.RuneCountInString(m.Name) + utf8.RuneCountInString(m.Text) +
		utf8.RuneCountInString(m.End)
	for _, f := range m.Files {
		n += utf8.RuneCountInString(f)
	}
	for _, r := range m.Reactions {
		n += utf8.RuneCountInString(r.Emoji) + utf8.RuneCountInString(r.Names)
	}
	return n
}

// fit keeps the messages that fit in room: the target's root and the answered message, then the newest
// of the target, then the newest of the others. It keeps at least one.
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
	inTarget := func(m chat.Message) bool { return whole || inThread(m, c.TargetThread) }
	full := false
	for _, first := range []bool{true, false} {
		for _, m := range all {
			if kept[m.TS] || inTarget(m) != first {
				continue
			}
			if full = full || sizes[m.TS] > room && len(kept) > 0; !full {
				keep(m)
			}
		}
	}
	fits := chat.NewChannelMessages(c.Conversation.ChannelID, c.Conversation.ChannelName,
		slices.DeleteFunc(slices.Clone(all), func(m chat.Message) bool { return !kept[m.TS] }))
	fits.Omitted, fits.OmittedAround, fits.Unread = c.Conversation.Omitted, c.Conversation.OmittedAround,
		c.Conversation.Unread
	fits.Earlier, fits.Since, fits.Began = c.Conversation.Earlier, c.Conversation.Since, c.Conversation.Began
	for _, m := range all {
		switch {
		case kept[m.TS], m.Deleted:
		case inTarget(m), c.TargetThread == "": // the top level also counts its threads' messages
			fits.Omitted = min(fits.Omitted+1, chat.CountAtMost)
		default:
			fits.OmittedAround++
		}
	}
	c.Conversation = fits
	return c
}

// inThread reports whether a message is in a thread, or at the top level if thread is empty.
func inThread(m chat.Message, thread string) bool {
	if thread == "" {
		return m.ThreadTS == "" || m.ThreadTS == m.TS
	}
	return m.TS == thread || m.ThreadTS == thread
}

// cutMiddle shortens a text of more than most characters to most: its beginning, and an end of end
// characters. between is how many characters are left out.
func cutMiddle(s string, most, end int) (first string, between int, last string) {
	if len(s) <= most {
		return s, 0, "" // it has no more characters than bytes
	}
	runes := []rune(s)
	if len(runes) <= most {
		return s, 0, ""
	}
	return string(runes[:most-end]), len(runes) - most, string(runes[len(runes)-end:])
}
