package demo

import (
	"regexp"
	"strings"
)

// message is a message as a prompt shows it.
type message struct {
	at     string // "2024-03-01 10:10:00"
	author string
	text   string
}

var (
	messageLine = regexp.MustCompile(`^\*\*(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})\*\* (?:(.+):\s*|([^:]+):\s+(.+))$`)
	heading     = regexp.MustCompile(`^#{1,6} `)
	// escaped are the backslashes by which a prompt keeps what people wrote from becoming its structure.
	escaped = regexp.MustCompile("\\\\([\\\\*_#>+.!`|~-])")
)

const rule = "---"

// messagesIn finds the messages of a prompt in its order. What stands after
// the last rule is instruction; a text goes on until the next message, heading
// or rule.
func messagesIn(prompt string) []message {
	lines := strings.Split(strings.ReplaceAll(prompt, "\r\n", "\n"), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.TrimRight(lines[i], " ") == rule {
			lines = lines[:i]
			break
		}
	}
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
		if heading.MatchString(line) || strings.TrimRight(line, " ") == rule {
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
