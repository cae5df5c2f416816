package slack

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// lists are the ordered lists that are open, the outermost first.
type lists []list

type list struct {
	indent int    // of its items
	mark   string // after their numbers
	first  int    // number
	items  int
}

// itemPattern matches the beginning of a list item (spec.commonmark.org/0.31.2/#list-items).
var itemPattern = regexp.MustCompile(`^([ \t>]*)(?:([0-9]{1,9})([.)])|[-*+])(?:[ \t]|$)`)

// after returns the lists after a line. If the line is an item that is counted, but written like the first one, number
// is what readers see. In Markdown, 1. 1. 1. is a list of three.
func (l lists) after(line string, blankBefore bool) (after lists, number string) {
	line = strings.TrimRight(line, " \t\n")
	if line == "" {
		return l, ""
	}
	m := itemPattern.FindStringSubmatch(line)
	if m == nil {
		indent := len(line) - len(strings.TrimLeft(line, " \t>"))
		if !blankBefore && !strings.HasPrefix(line, "#") {
			return l, ""
		}
		return l.outside(indent), ""
	}
	indent := len(m[1])
	if m[2] == "" {
		return l.outside(indent), ""
	}
	l = slices.Clone(l.outside(indent + 1))
	n, _ := strconv.Atoi(m[2])
	if top := len(l) - 1; top < 0 || l[top].indent != indent || l[top].mark != m[3] {
		return append(l.outside(indent), list{indent: indent, mark: m[3], first: n, items: 1}), ""
	}
	last := &l[len(l)-1]
	if n == last.first {
		number = strconv.Itoa(last.first + last.items)
	}
	last.items++
	return l, number
}

// outside returns the lists whose items are indented less.
func (l lists) outside(indent int) lists {
	for i, open := range l {
		if open.indent >= indent {
			return l[:i:i]
		}
	}
	return l
}
