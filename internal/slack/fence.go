package slack

import (
	"regexp"
	"strings"
)

// fence is an open code fence; without a marker there is none.
type fence struct {
	prefix string // of each line, if the fence is inside a quote or a list
	marker string // closes the fence, after the prefix
	line   string // opens the fence
}

func (f fence) closing() string { return f.prefix + f.marker }

// A fence may be inside quotes and lists, and begin on the line of a list item.
var fencePattern = regexp.MustCompile("^((?:[ \t>]|(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*)(`{3,}|~{3,})(.*)$")

// continuationRune maps the prefix of the line that opens a fence to the prefix of its other lines: the
// mark of a list item occurs only once.
func continuationRune(r rune) rune {
	if strings.ContainsRune(" \t>", r) {
		return r
	}
	return ' '
}

// after returns the open fence after a line, and whether the line opened or closed one
// (spec.commonmark.org/0.31.2/#fenced-code-blocks). It takes no fence that leaves too little room for text in
// limit characters.
func (f fence) after(line string, limit int) (fence, bool) {
	m := fencePattern.FindStringSubmatch(strings.TrimRight(line, " \t\n"))
	if m == nil {
		return f, false
	}
	prefix, marker, info := strings.Map(continuationRune, m[1]), m[2], m[3]
	switch {
	case len(prefix)+len(marker) > limit/8:
		return f, false
	case f.marker != "":
		if m[1] == prefix && info == "" && marker[0] == f.marker[0] && len(marker) >= len(f.marker) &&
			f.closedAt(prefix) {
			return fence{}, true
		}
		return f, false
	case marker[0] == '`' && strings.Contains(info, "`"):
		return f, false
	}
	f = fence{prefix: prefix, marker: marker, line: prefix + marker + info}
	if len(f.line) > limit/4 {
		f.line = f.closing()
	}
	return f, true
}

// closedAt reports whether a marker after a prefix may close the fence. A marker that is indented
// further is part of the code.
func (f fence) closedAt(prefix string) bool {
	return strings.Count(prefix, ">") <= strings.Count(f.prefix, ">") && len(prefix) <= len(f.prefix)+3
}
