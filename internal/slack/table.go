package slack

import (
	"regexp"
	"strings"
)

// maxTableRows is the most rows of a table in a message, its header among them. Slack takes one table in a
// message (docs.slack.dev/reference/block-kit/blocks/table-block).
const maxTableRows = 100

// maxApart bounds how many messages tables alone make of a reply. Slack shows further ones as text.
const maxApart = 5

// table is an open table; without a head there is none.
type table struct {
	head  string // the lines of the header and of the dashes
	lines int    // in this part, those two among them
}

// dashesPattern matches the second line of a table, which makes it one
// (github.github.com/gfm/#tables-extension-).
var dashesPattern = regexp.MustCompile(`^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// after returns the open table after a line, which next follows, and whether the line goes on with the table. A head
// longer than limit characters leaves too little room for rows.
func (t table) after(line, next string, limit int) (table, bool) {
	piped := strings.Contains(line, "|")
	switch {
	case t.head != "" && piped:
		t.lines++
		return t, true
	case piped && strings.HasSuffix(line, "\n") && columns(line) == columns(next) && strings.Contains(next, "|") &&
		dashesPattern.MatchString(strings.TrimRight(next, "\n")) && len([]rune(line+next)) <= limit:
		return table{head: line + strings.TrimRight(next, "\n") + "\n", lines: 1}, false
	}
	return table{}, false
}

// full reports whether a further row must go to the next part.
func (t table) full() bool { return t.lines > maxTableRows }

// again is the table as it goes on in the next part.
func (t table) again() table {
	if t.head != "" {
		t.lines = 2
	}
	return t
}

// columns returns how many cells a line of a table has.
func columns(line string) int {
	line = strings.Trim(strings.TrimLeft(line, "> \t"), " \t\n")
	line = strings.ReplaceAll(line, `\|`, "")
	return strings.Count(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|") + 1
}

// captionPattern matches a line that belongs to the table below it.
var captionPattern = regexp.MustCompile(`^[ \t>]*(?:#|\*\*)|[:：]\**[ \t]*$`)
