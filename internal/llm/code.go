package llm

import (
	"regexp"
	"strings"
)

// codeMarks matches what may begin code in Markdown.
const codeMarks = "`+|(?m:^[ \\t]*~{3,})"

// maxStops bounds the work for one text.
const maxStops = 300

// outsideCode calls visit with each match of a pattern that does not stand in code, and returns the text
// without what visit has removed: from the match to where it resumes. The pattern must match codeMarks, too.
func outsideCode(text string, pattern *regexp.Regexp, visit func(begin, end int) (resume int, removed bool)) string {
	var rest strings.Builder
	from := 0
	for range maxStops {
		at := pattern.FindStringIndex(text[from:])
		if at == nil {
			break
		}
		begin, end := from+at[0], from+at[1]
		if run := strings.TrimLeft(text[begin:end], " \t"); strings.Trim(run, run[:1]) == "" &&
			strings.ContainsAny(run[:1], "`~") {
			end = codeEnd(text, begin, run)
			rest.WriteString(text[from:end])
			from = end
			continue
		}
		resume, removed := visit(begin, end)
		rest.WriteString(text[from:begin])
		if !removed {
			rest.WriteString(text[begin:resume])
		}
		from = resume
	}
	rest.WriteString(text[from:])
	return rest.String()
}

// codeEnd returns where code ends that begins with a run of marks. A block ends at a run that is at least as
// long, or with the text; other code at a run of the same length. Marks without an end stand for themselves.
func codeEnd(text string, begin int, run string) int {
	after := begin + strings.Index(text[begin:], run) + len(run)
	line := strings.LastIndexByte(text[:begin], '\n') + 1
	block := len(run) >= 3 && strings.TrimSpace(text[line:begin]) == ""
	for at := after; ; {
		i := strings.Index(text[at:], run)
		switch {
		case i < 0 && block:
			return len(text)
		case i < 0:
			return after
		}
		at += i
		end := len(text) - len(strings.TrimLeft(text[at:], run[:1]))
		if block || end == at+len(run) {
			return end
		}
		at = end
	}
}
