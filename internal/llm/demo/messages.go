package demo

import (
	"regexp"
	"slices"
	"strings"

	"myao/internal/llm"
)

// message is a message as it appears in a prompt.
type message struct {
	at     string // "2024-03-01 10:10:00"
	author string
	text   string
}

var (
	// bulletLine matches a line of a memory.
	bulletLine  = regexp.MustCompile(`^- \d{4}-\d{2}-\d{2}\b`)
	messageLine = regexp.MustCompile(`^\*\*(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})\*\* (?:(.+):\s*|([^:]+):\s+(.+))$`)
	heading     = regexp.MustCompile(`^#{1,6} `)
	omission    = regexp.MustCompile(`^… .*\d`)
	// note matches the lines under a message: its reactions, and how long ago it was sent.
	note = regexp.MustCompile(`^(?:(?:Reactions|リアクション): |\((?:(?:under )?\d+(?: (?:d|h|min) ago|(?:日|時間|分)前)|数十秒前)\)|` +
		`\(under the message of |（[-\d :]+ の発言の下）)`)
	// escaped matches the escapes of a prompt, which keep what people wrote from changing its
	// structure. At the start of a line anything may be escaped.
	escaped = regexp.MustCompile("\\\\([\\\\*_#>+.!`|~-])|^\\\\")
)

const rule = "---"

// material returns the lines of a prompt above its last rule; instructions follow below it.
func material(prompt string) []string {
	lines := strings.Split(strings.ReplaceAll(prompt, "\r\n", "\n"), "\n")
	for i, line := range slices.Backward(lines) {
		if strings.TrimRight(line, " ") == rule {
			return lines[:i]
		}
	}
	return lines
}

// lastSection returns the last section of the material, which a memory is made of, or
// all lines if there are no sections.
func lastSection(lines []string) []string {
	for i, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "## ") {
			return lines[i+1:]
		}
	}
	return lines
}

// topLevel returns a section without the threads below a channel's top level. The
// question is not about a thread's newest message.
func topLevel(target []string) []string {
	for i, line := range target {
		if strings.HasPrefix(line, "### ") {
			return target[:i]
		}
	}
	return target
}

// messagesIn returns the messages in their order. A text ends at the next message,
// heading, rule, note of omitted messages or note under it.
func messagesIn(lines []string) []message {
	var all []message
	var text []string
	open := false
	end := func() {
		if open {
			all[len(all)-1].text = strings.TrimSpace(strings.Join(text, "\n"))
		}
		open, text = false, nil
	}
	for _, line := range lines {
		if m := messageLine.FindStringSubmatch(line); m != nil {
			end()
			open = true
			all = append(all, message{at: m[1], author: strings.TrimSpace(m[2] + m[3])})
			if m[4] != "" {
				text = []string{m[4]}
			}
			continue
		}
		if heading.MatchString(line) || omission.MatchString(line) || note.MatchString(line) ||
			strings.TrimRight(line, " ") == rule {
			end()
			continue
		}
		if open {
			text = append(text, escaped.ReplaceAllString(strings.TrimSpace(line), "$1"))
		}
	}
	end()
	return all
}

// speaker matches the label of what somebody else than the bot says in a chat turn.
var speaker = regexp.MustCompile(`(?m)^(.+) \((?:<@[A-Z0-9]+>|app)\): ?`)

// spoken returns the messages of chat turns, without the notes that a prompt has below a message.
func spoken(said []llm.Speech) []message {
	var all []message
	add := func(author, text string) {
		lines := strings.Split(text, "\n")
		if end := slices.IndexFunc(lines, note.MatchString); end >= 0 {
			lines = lines[:end]
		}
		text = escaped.ReplaceAllString(strings.Join(lines, "\n"), "$1")
		all = append(all, message{author: author, text: strings.TrimSpace(text)})
	}
	for _, s := range said {
		labels := speaker.FindAllStringSubmatchIndex(s.Text, -1)
		if s.Own || len(labels) == 0 {
			add("", s.Text)
			continue
		}
		for i, at := range labels {
			end := len(s.Text)
			if i+1 < len(labels) {
				end = labels[i+1][0]
			}
			add(s.Text[at[2]:at[3]], s.Text[at[1]:end])
		}
	}
	return all
}

// bulletsIn returns the dated lines of memories.
func bulletsIn(lines []string) []string {
	var bullets []string
	for _, line := range lines {
		if bulletLine.MatchString(line) {
			bullets = append(bullets, line)
		}
	}
	return bullets
}
