package slack

import (
	"regexp"
	"strings"
	"unicode"
)

// DefaultLimit is the length of a part, in characters. Slack recommends at most 4,000
// (docs.slack.dev/reference/methods/chat.postMessage#truncating).
const DefaultLimit = 3900

// Split cuts Markdown into parts of at most limit characters (runes; DefaultLimit if not positive). It
// prefers to cut between paragraphs, then lines, then sentences or words. It keeps a code fence whole
// if possible; otherwise it closes the fence and opens it again in the next part. It loses only white
// space. No part is empty, and blank text has no parts.
func Split(text string, limit int) []string {
	if limit <= 0 {
		limit = DefaultLimit
	}
	s := splitter{limit: limit, rest: []rune(strings.ReplaceAll(text, "\r\n", "\n"))}
	s.skipBlank()
	for len(s.rest) > 0 {
		s.next()
	}
	return s.parts
}

type splitter struct {
	limit int
	parts []string
	rest  []rune
	open  fence  // the fence that is open where rest begins
	lead  string // the fence's prefix if rest begins within a line
}

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
		if m[1] == prefix && info == "" && marker[0] == f.marker[0] && len(marker) >= len(f.marker) && f.closedAt(prefix) {
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

// cut is a place to cut: at runes into rest, inside the fence f if that is open.
type cut struct {
	at int
	f  fence
}

// next moves one part from rest to parts.
func (s *splitter) next() {
	head := ""
	if s.open.marker != "" {
		head = s.open.line + "\n" + s.lead
	}
	room := s.limit - len([]rune(head))
	if len(s.rest) <= room {
		s.parts = append(s.parts, head+strings.TrimRightFunc(string(s.rest), unicode.IsSpace))
		s.rest = nil
		return
	}
	c := s.choose(room)
	if body := strings.TrimRightFunc(string(s.rest[:c.at]), unicode.IsSpace); body != "" {
		part := head + body
		if c.f.marker != "" {
			part += "\n" + c.f.closing()
		}
		s.parts = append(s.parts, part)
	}
	inLine := s.rest[c.at-1] != '\n'
	s.rest, s.open, s.lead = s.rest[c.at:], c.f, ""
	if inLine {
		for len(s.rest) > 0 && s.rest[0] != '\n' && unicode.IsSpace(s.rest[0]) {
			s.rest = s.rest[1:]
		}
		if len(s.rest) > 0 && s.rest[0] != '\n' {
			s.lead = s.open.prefix
		}
	}
	s.skipBlank()
	if s.open.marker == "" {
		return
	}
	// If only the closing line of a fence is left, the fence is closed already.
	line := s.line(0)
	if f, changed := s.open.after(string(line), s.limit); changed && f.marker == "" {
		s.rest, s.open = s.rest[len(line):], f
		s.skipBlank()
	}
}

// skipBlank drops the blank lines at the beginning of rest, but no indentation.
func (s *splitter) skipBlank() {
	for len(s.rest) > 0 {
		line := s.line(0)
		if strings.TrimSpace(string(line)) != "" {
			return
		}
		s.rest = s.rest[len(line):]
	}
}

// line returns the line of rest that starts at from, including its line break. It returns at most one
// rune more than fits in a part, since a longer line must be cut anyway.
func (s *splitter) line(from int) []rune {
	end := min(len(s.rest), from+s.limit+1)
	for i := from; i < end; i++ {
		if s.rest[i] == '\n' {
			return s.rest[from : i+1]
		}
	}
	return s.rest[from:end]
}

// choose returns the best cut that leaves a part of at most room runes.
func (s *splitter) choose(room int) cut {
	var paragraph, line, word, codeLine, codeWord, hard cut
	f := s.open
	opened := 0          // where f was opened, if in this part
	said := false        // this part has text
	coded := false       // this part has text inside f
	blankBefore := false // the line before is blank
	for start := 0; start < room; {
		text := s.line(start)
		end := start + len(text)
		switch {
		case f.marker == "" && said && blankBefore:
			paragraph, line = cut{start, f}, cut{start, f}
		case f.marker == "" && said:
			line = cut{start, f}
		case f.marker != "" && coded && start+len(f.closing()) <= room: // the closing line replaces the line break
			codeLine = cut{start, f}
		}
		after, isFence := f.after(string(text), s.limit)
		most := room
		if f.marker != "" {
			most -= 1 + len(f.closing())
		}
		if most = min(end, most); most > start {
			hard = cut{start + whole(text, most-start), f}
			at := 0
			if !isFence {
				at = wordEnd(text, most-start)
			}
			switch {
			case at > 0 && f.marker == "":
				word = cut{start + at, f}
			case at > len(f.prefix):
				codeWord = cut{start + at, f}
			}
		}
		blankBefore = strings.TrimSpace(string(text)) == ""
		if !blankBefore {
			said, coded = true, true
		}
		if isFence {
			opened, coded = start, false
			codeLine, codeWord = cut{}, cut{}
		}
		f, start = after, end
	}

	quarter := room / 4
	switch {
	case paragraph.at > 0 && paragraph.at >= quarter:
		return paragraph
	case line.at > 0 && line.at >= quarter:
		return line
	case f.marker != "":
		if line.at > 0 && line.at == opened && s.fits(opened) {
			return line
		}
		for _, c := range []cut{codeLine, codeWord, line, word} {
			if c.at > 0 {
				return c
			}
		}
	default:
		if line.at > word.at {
			return line
		}
		if word.at > 0 {
			return word
		}
	}
	return hard
}

// fits reports whether the fence that opens at start is short enough for one part.
func (s *splitter) fits(start int) bool {
	f, _ := fence{}.after(string(s.line(start)), s.limit)
	for i := start + len(s.line(start)); i < len(s.rest) && i-start <= s.limit; {
		text := s.line(i)
		i += len(text)
		if closed, changed := f.after(string(text), s.limit); changed && closed.marker == "" {
			return len([]rune(strings.TrimRight(string(s.rest[start:i]), "\n"))) <= s.limit
		}
	}
	return false
}

// wordEnd returns where a line can be cut between words or sentences, at most at runes into it; 0 if
// nowhere. Japanese and Chinese have no spaces, but marks that end a clause.
func wordEnd(line []rune, at int) int {
	for i := min(at, len(line)); i > 0; i-- {
		if i < len(line) && (line[i] == '`' || line[i] == '~') {
			continue // otherwise what follows could become a fence
		}
		spaced := unicode.IsSpace(line[i-1]) || i < len(line) && unicode.IsSpace(line[i])
		if !spaced && !(clauseEnds(line[:i]) && separable(line, i)) {
			continue
		}
		if strings.TrimSpace(string(line[:i])) == "" {
			return 0
		}
		return i
	}
	return 0
}

const (
	ending  = "。、！？；："      // marks that end a clause without a space after them
	closing = "」』）】〕］｝〉》)]" // brackets that close after such a mark
)

// clauseEnds reports whether a text ends with the end of a clause, and up to three closing brackets.
func clauseEnds(text []rune) bool {
	for i := len(text) - 1; i >= max(0, len(text)-4); i-- {
		if !strings.ContainsRune(closing, text[i]) {
			return strings.ContainsRune(ending, text[i])
		}
	}
	return false
}

// separable reports whether a line can be cut at i: not before a mark that ends or closes a clause, nor
// within characters that are drawn as one.
func separable(line []rune, i int) bool {
	if i <= 0 || i >= len(line) {
		return true
	}
	const joiner = '\u200D'
	flag := func(r rune) bool { return '\U0001F1E6' <= r && r <= '\U0001F1FF' } // one half of it
	switch r := line[i]; {
	case strings.ContainsRune(ending+closing+"ー…", r), unicode.IsMark(r), r == joiner, line[i-1] == joiner:
		return false
	case '\U0001F3FB' <= r && r <= '\U0001F3FF': // a skin tone
		return false
	case flag(r):
		before := i
		for before > 0 && flag(line[before-1]) {
			before--
		}
		return (i-before)%2 == 0
	}
	return true
}

// whole returns the last place up to at where a line without words can be cut, or at itself if there is
// none nearby.
func whole(line []rune, at int) int {
	for i := at; i > at/2; i-- {
		if separable(line, i) {
			return i
		}
	}
	return at
}
