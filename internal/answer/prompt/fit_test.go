package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"myao/internal/chat"
)

// Any message is limited, and nobody can forge the note about what is left out.
func TestLongMessage(t *testing.T) {
	t.Parallel()
	const (
		more = "… 8000 characters of this message left out here"
		head = maxMessageCharacters - maxEndCharacters
	)
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name, language, text string
		want                 string // the text after the message line
	}{
		{"at the limit", "en", x(maxMessageCharacters), x(maxMessageCharacters) + "\n[file: log.txt]\n"},
		{"one more", "en", x(maxMessageCharacters + 1), x(head) + "\n… 1 character of this message left out here\n" + x(maxEndCharacters) + "\n[file: log.txt]\n"},
		{"many more", "en", x(maxMessageCharacters + 8000), x(head) + "\n" + more + "\n" + x(maxEndCharacters) + "\n[file: log.txt]\n"},
		{"Japanese", "ja", strings.Repeat("語", maxMessageCharacters+8000), strings.Repeat("語", head) + "\n… この発言の途中 8000 文字は省略\n" + strings.Repeat("語", maxEndCharacters) + "\n[file: log.txt]\n"},
		{"Japanese at the limit", "ja", strings.Repeat("語", maxMessageCharacters), strings.Repeat("語", maxMessageCharacters) + "\n[file: log.txt]\n"},
		{"a question below a log", "en", x(maxMessageCharacters+8000-18) + "\nWhy does it fail?", x(head) + "\n" + more + "\n" + x(maxEndCharacters-18) + "\nWhy does it fail?\n[file: log.txt]\n"},
		{"markup", "en", strings.Repeat("<@U8> ", maxMessageCharacters/5), strings.Repeat("@bob ", maxMessageCharacters/5-1) + "@bob\n[file: log.txt]\n"},
		{"what would be a rule", "en", x(head-4) + "\n---" + x(8000) + "---\n" + x(maxEndCharacters-4), x(head-4) + "\n\\---\n" + more + "\n\\---\n" + x(maxEndCharacters-4) + "\n[file: log.txt]\n"},
		{"half an emoji", "en", x(head-1) + "👩\u200D👧" + x(maxEndCharacters-1), x(head-1) + "👩\n… 1 character of this message left out here\n👧" + x(maxEndCharacters-1) + "\n[file: log.txt]\n"},
		{"the other half", "en", x(head) + "👩\u200D👧" + x(maxEndCharacters-2), x(head) + "\n… 1 character of this message left out here\n👧" + x(maxEndCharacters-2) + "\n[file: log.txt]\n"},
		{"nothing but an end", "en", strings.Repeat("\n", head) + x(8000+maxEndCharacters), more + "\n" + x(maxEndCharacters) + "\n[file: log.txt]\n"},
	} {
		c := bare()
		c.Conversation = chat.NewChannelMessages("C1", "general", []chat.Message{
			{TS: "1.0", UserID: "U1", Name: "alice", Text: tt.text, Files: []chat.File{{Name: "log.txt"}}},
			{TS: "2.0", UserID: "U1", Name: "alice", Text: more},
		})
		r := renderer(t, Config{Language: tt.language})
		system, _ := rendered(t, r.Response, c, Options{Names: map[string]string{"U8": "bob"}})
		_, got, _ := strings.Cut(system, "alice:\n")
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got …%q, want …%q", tt.name, tail(got[:min(len(got), len(tt.want)+50)]), tail(tt.want))
		}
		if !strings.Contains(got, "\n\\"+more+"\n") {
			t.Errorf("%s: the note can be forged", tt.name)
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-200):] }

// long returns a message that is cut.
func long(n int, thread string) chat.Message {
	return chat.Message{TS: second(n), ThreadTS: thread, UserID: "U1", Name: "alice", Text: fmt.Sprintf("no. %d %s", n, strings.Repeat("x ", maxMessageCharacters/2))}
}

func second(n int) string { return chat.TS(noon.Add(time.Duration(n) * time.Second)) }

// longs returns n long messages, a second apart.
func longs(from, n int, thread string) (said []chat.Message) {
	for i := range n {
		said = append(said, long(from+i, thread))
	}
	return said
}

// numbers returns which of the long messages are in a text, and the notes about what is left out.
func numbers(text string) (shown map[int]bool, notes []string) {
	shown = map[int]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		var n int
		if _, err := fmt.Sscanf(line, "no. %d ", &n); err == nil {
			shown[n] = true
		}
		if strings.HasPrefix(line, "… ") && strings.Contains(line, "earlier") {
			notes = append(notes, line)
		}
	}
	return shown, notes
}

// If not all messages fit, the newest are shown, those of the target first. The target's root and the
// message to answer are always shown.
func TestMoreMessagesThanFit(t *testing.T) {
	t.Parallel()
	const some = maxPromptCharacters / maxMessageCharacters // slightly more than fit
	root := second(0)
	for _, tt := range []struct {
		name     string
		said     []chat.Message
		target   string
		answered string
		omitted  int
		earlier  []string // threads that were not read completely
		all      bool     // the prompt summarises all, as a channel's memory does
		want     []int    // some that are shown
		not      []int    // some that are not shown
		notes    []string // about those that are not shown
	}{
		{name: "all", said: longs(0, some-1, ""), want: []int{0, some - 2}},
		{name: "the top level", said: longs(0, 50, ""), want: []int{49, 50 - some + 1}, not: []int{0, 50 - some},
			notes: []string{"… 21 earlier messages"}},
		{name: "some are missing already", said: longs(0, 50, ""), omitted: 230, want: []int{49}, not: []int{0},
			notes: []string{"… 251 earlier messages"}},
		{name: "up to the limit of counting", said: longs(0, 50, ""), omitted: chat.CountAtMost - 1, want: []int{49}, not: []int{0},
			notes: []string{"… 1000 or more earlier messages"}},
		{name: "the message to answer", said: longs(0, 50, ""), answered: second(3), want: []int{3, 49}, not: []int{2, 4, 50 - some + 1},
			notes: []string{"… 21 earlier messages"}},
		{name: "a thread", said: append(longs(1, 49, root), long(0, "")), target: root, want: []int{0, 49, 49 - some + 3}, not: []int{1, 49 - some + 2},
			notes: []string{"… 21 earlier messages"}},
		{name: "around a thread", said: slices.Concat(longs(0, 1, ""), longs(1, 10, root), longs(20, 20, ""), longs(60, 20, second(20))), target: root,
			want: []int{0, 1, 10, 79, 62}, not: []int{20, 39, 61}, notes: []string{"… 22 earlier messages"}},
		{name: "around a thread, and more than was read", said: slices.Concat(longs(0, 1, ""), longs(1, 10, root), longs(20, 20, ""), longs(60, 20, second(20))), target: root,
			earlier: []string{""}, want: []int{79, 63}, not: []int{39, 61}, notes: []string{"… 22 or more earlier messages"}},
		{name: "the top level comes before its threads", said: slices.Concat(longs(0, 10, ""), longs(60, 40, root)),
			want: []int{0, 9, 99}, not: []int{60, 79}, notes: []string{"… 21 earlier messages"}},
		{name: "everything is the target", said: slices.Concat(longs(0, 10, ""), longs(60, 40, root)), all: true,
			want: []int{99, 71}, not: []int{0, 9, 60, 70}, notes: []string{"… 21 earlier messages"}},
	} {
		c := bare()
		c.Conversation = chat.NewChannelMessages("C1", "general", tt.said)
		c.Conversation.Omitted, c.TargetThread = tt.omitted, tt.target
		c.Conversation.Earlier, c.Conversation.Since = tt.earlier, noon
		r := renderer(t, Config{})
		renders := map[string]rendering{"response": r.Response, "judgment": r.Judgment, "thread": memory(r, ThreadSummary)}
		switch {
		case tt.all:
			renders = map[string]rendering{"short": memory(r, ChannelShort), "long": memory(r, ChannelLong)}
		case tt.target == "":
			delete(renders, "thread")
		}
		for what, render := range renders {
			system, _ := rendered(t, render, c, Options{AnswerTS: tt.answered})
			shown, notes := numbers(system)
			for _, n := range tt.want {
				if !shown[n] {
					t.Errorf("%s, %s: number %d is not shown, only %v", tt.name, what, n, shown)
				}
			}
			for _, n := range tt.not {
				if shown[n] {
					t.Errorf("%s, %s: number %d is shown", tt.name, what, n)
				}
			}
			if !slices.Equal(notes, tt.notes) {
				t.Errorf("%s, %s: notes %q, want %q", tt.name, what, notes, tt.notes)
			}
			if n := utf8.RuneCountInString(system); n > maxPromptCharacters+10_000 {
				t.Errorf("%s, %s: %d characters", tt.name, what, n)
			}
		}
	}
}

// The names and times of many short messages count too.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	c := bare()
	var said []chat.Message
	for i := range 1000 {
		said = append(said, chat.Message{TS: second(i), UserID: "U1", Name: strings.Repeat("a", 80), Text: strings.Repeat("ア", 50), Files: []chat.File{{Name: strings.Repeat("b", 100)}}})
	}
	c.Conversation = chat.NewChannelMessages("C1", "general", said)
	system, _, err := renderer(t, Config{Language: "ja"}).Memory(ChannelLong, c, Options{Now: noon})
	if n := utf8.RuneCountInString(system); err != nil || n > maxPromptCharacters+20_000 || n < maxPromptCharacters-1000 {
		t.Errorf("%d characters, %v", n, err)
	}
}

// FitMemory keeps what a memory's prompt shows. Deleted messages do not count as left out.
func TestFitMemory(t *testing.T) {
	t.Parallel()
	r := renderer(t, Config{})
	said := longs(0, 50, "")
	said[0].Deleted, said[49].Deleted = true, true
	c := bare()
	c.Conversation = chat.NewChannelMessages("C1", "general", said)
	fitted := r.FitMemory(ChannelLong, c, Options{Now: noon})
	if all := fitted.Conversation.All(); len(all) != 30 || all[0].TS != second(20) || all[29].TS != second(49) || fitted.Conversation.Omitted != 19 {
		t.Errorf("%d messages from %s on, %d left out", len(all), all[0].TS, fitted.Conversation.Omitted)
	}
	if again := r.FitMemory(ChannelLong, fitted, Options{Now: noon}); len(again.Conversation.All()) != 30 {
		t.Errorf("of %d messages that fit, %d", 30, len(again.Conversation.All()))
	}
	if len(c.Conversation.All()) != 50 || c.Conversation.Omitted != 0 {
		t.Error("the argument has changed")
	}
	// Messages left out around a thread are not counted as left out in it.
	threaded := c
	threaded.TargetThread = second(0)
	threaded.Conversation = chat.NewChannelMessages("C1", "general", slices.Concat(longs(0, 1, ""), longs(1, 10, second(0)), longs(20, 40, "")))
	if got := r.FitMemory(ThreadSummary, threaded, Options{Now: noon}).Conversation; got.Omitted != 0 || got.OmittedAround != 51-len(got.All()) {
		t.Errorf("%d of 51 messages, %d left out in the thread and %d around it", len(got.All()), got.Omitted, got.OmittedAround)
	}
	heap := make([]chat.File, maxPromptCharacters/100)
	for i := range heap {
		heap[i].Name = strings.Repeat("b", 100)
	}
	c.Conversation = chat.NewChannelMessages("C1", "general", []chat.Message{long(0, ""), {TS: second(1), UserID: "U1", Files: heap}})
	if all := r.FitMemory(ChannelLong, c, Options{Now: noon}).Conversation.All(); len(all) != 1 || all[0].TS != second(1) {
		t.Errorf("one message larger than the limit: %+v", all)
	}
	few := seed003("")
	if got := r.FitMemory(ChannelLong, few, Options{Now: noon}); len(got.Conversation.All()) != len(few.Conversation.All()) || got.Conversation.Omitted != few.Conversation.Omitted {
		t.Errorf("a few messages: %+v", got)
	}
}
