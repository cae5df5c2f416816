package demo

import (
	"regexp"
	"slices"
	"strings"
)

// message is a message as a prompt shows it.
type message struct {
	at     string // "2024-03-01 10:10:00"
	author string
	text   string
}

var (
	// bulletLine is a line of a memory.
	bulletLine  = regexp.MustCompile(`^- \d{4}-\d{2}-\d{2}\b`)
	messageLine = regexp.MustCompile(`^\*\*(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})\*\* (?:(.+):\s*|([^:]+):\s+(.+))$`)
	heading     = regexp.MustCompile(`^#{1,6} `)
	gap         = regexp.MustCompile(`^… .*\d`)
	// escaped are the backslashes by which a prompt keeps what people wrote from becoming its structure.
	escaped = regexp.MustCompile("\\\\([\\\\*_#>+.!`|~-])")
)

const rule = "---"

// material is the lines of a prompt above its last rule: what stands below is instruction.
func material(prompt string) []string {
	lines := strings.Split(strings.ReplaceAll(prompt, "\r\n", "\n"), "\n")
	for i, line := range slices.Backward(lines) {
		if strings.TrimRight(line, " ") == rule {
			return lines[:i]
		}
	}
	return lines
}

// target is the last section of the material, which a memory is made of; all of
// it where there are no sections.
func target(lines []string) []string {
	for i, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "## ") {
			return lines[i+1:]
		}
	}
	return lines
}

// own is a target without the threads that are shown below a channel's top level: what
// is newest in one of those is not what the question is about.
func own(target []string) []string {
	for i, line := range target {
		if strings.HasPrefix(line, "### ") {
			return target[:i]
		}
	}
	return target
}

// messagesIn finds messages in their order. A text goes on until the next
// message, heading, rule or note of what was left out.
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
		if heading.MatchString(line) || gap.MatchString(line) || strings.TrimRight(line, " ") == rule {
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

// bulletsIn finds the dated lines of memories.
func bulletsIn(lines []string) []string {
	var bullets []string
	for _, line := range lines {
		if bulletLine.MatchString(line) {
			bullets = append(bullets, line)
		}
	}
	return bullets
}
