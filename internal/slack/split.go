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
// if possible; otherwise it closes the fence and opens it again in the next part. A table goes on below its header
// again, and a numbered list with its next number. A part has one table at most, as Slack wants it. Split
// loses only white space. No part is empty, and blank text has no parts.
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
	table table  // the table that is open there
	lists lists  // the lists that are open there
	apart int    // how many tables have a part of their own, in place of one with the table before
	lead  string // the prefix of the fence or quote if rest begins within a line
}

// cut is a place to cut: at runes into rest, inside the fence f, table t and lists l if these are open.
type cut struct {
	at int
	f  fence
	t  table
	l  lists
}

// quotePattern matches the prefix of a line in a quote.
var quotePattern = regexp.MustCompile(`^[ \t>]*>[ \t]?`)

// next moves one part from rest to parts.
func (s *splitter) next() {
	head := s.table.head
	if s.open.marker != "" {
		head = s.open.line + "\n"
	}
	head += s.lead
	c := s.choose(s.limit - len([]rune(head)))
	body := strings.TrimRightFunc(string(s.rest[:c.at]), unicode.IsSpace)
	if body != "" {
		part := head + body
		if c.f.marker != "" && c.at < len(s.rest) {
			part += "\n" + c.f.closing()
		}
		s.parts = append(s.parts, part)
	}
	if c.at == len(s.rest) {
		s.rest = nil
		return
	}
	lead := s.lead
	if i := strings.LastIndexByte(body, '\n'); i >= 0 || lead == "" {
		lead = quotePattern.FindString(body[i+1:])
	}
	inLine := s.rest[c.at-1] != '\n'
	s.rest, s.open, s.table, s.lists, s.lead = s.rest[c.at:], c.f, c.t.again(), c.l, ""
	if inLine {
		for len(s.rest) > 0 && s.rest[0] != '\n' && unicode.IsSpace(s.rest[0]) {
			s.rest = s.rest[1:]
		}
		if len(s.rest) > 0 && s.rest[0] != '\n' {
			if s.lead = s.open.prefix; s.open.marker == "" && len(lead)*8 <= s.limit {
				s.lead = lead
			}
		}
	}
	s.skipBlank()
	if s.open.marker == "" {
		if !inLine {
			s.number()
		}
		return
	}
	// If only the closing line of a fence is left, the fence is closed already.
	line := s.line(0)
	if f, changed := s.open.after(string(line), s.limit); changed && f.marker == "" {
		s.rest, s.open = s.rest[len(line):], f
		s.skipBlank()
	}
}

// number writes the number of the list item that rest begins with, if it is not the one that readers see.
func (s *splitter) number() {
	line := strings.TrimRight(string(s.line(0)), " \t\n")
	if _, number := s.lists.after(line, true); number != "" {
		m := itemPattern.FindStringSubmatchIndex(line)
		s.rest = append([]rune(line[:m[4]]+number), s.rest[m[5]:]...) // in ASCII up to there
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

// choose returns the best cut that leaves a part of at most room runes. It cuts at the end if that is one.
func (s *splitter) choose(room int) cut {
	var c cuts
	var caption cut
	f, t, l := s.open, s.table, s.lists
	opened := 0            // where f was opened, if in this part
	said := false          // this part has text
	coded := false         // this part has text inside f
	blankBefore := false   // the line before is blank
	tabled := t.head != "" // this part has a table
	for start := 0; start < room && start < len(s.rest); {
		text := s.line(start)
		end := start + len(text)
		before := cut{at: start, f: f, l: l}
		torn := false // a cut before this line would tear a table's head
		if f.marker == "" {
			next, goesOn := t.after(string(text), string(s.line(end)), s.limit/2)
			switch {
			case goesOn && t.full():
				before.t = t
				return before
			case goesOn:
				before.t, torn = t, t.lines < 3
			case next.head != "" && tabled && said && s.apart < maxApart:
				s.apart++
				if caption.at > 0 {
					return caption
				}
				return before
			}
			t, tabled = next, tabled || next.head != ""
			l, _ = l.after(string(text), blankBefore)
		}
		switch {
		case torn:
		case f.marker == "" && said && blankBefore:
			c.paragraph, c.line = before, before
		case f.marker == "" && said:
			c.line = before
		case f.marker != "" && coded && start+len(f.closing()) <= room: // the closing line replaces the line break
			c.codeLine = before
		}
		after, isFence := f.after(string(text), s.limit)
		most := room
		if f.marker != "" {
			most -= 1 + len(f.closing())
		}
		if most = min(end, most); most > start {
			c.hard = cut{start + whole(text, most-start), f, before.t, l}
			at := 0
			if !isFence {
				at = wordEnd(text, most-start)
			}
			switch {
			case at > 0 && f.marker == "":
				c.word = cut{start + at, f, before.t, l}
			case at > len(f.prefix):
				c.codeWord = cut{start + at, f, before.t, l}
			}
		}
		switch blankBefore = strings.TrimSpace(string(text)) == ""; {
		case blankBefore:
		case said && captionPattern.MatchString(strings.TrimRight(string(text), "\n")):
			caption, said, coded = before, true, true
		default:
			caption, said, coded = cut{}, true, true
		}
		if isFence {
			opened, coded = start, false
			c.codeLine, c.codeWord = cut{}, cut{}
		}
		f, start = after, end
	}
	if len(s.rest) <= room {
		return cut{at: len(s.rest)}
	}
	return s.best(c, room, f, opened)
}

// cuts are the last places of each kind at which a part may end.
type cuts struct{ paragraph, line, word, codeLine, codeWord, hard cut }

// best is the best of some places for a part of at most room bytes, which ends in fence f, opened at a place.
func (s *splitter) best(c cuts, room int, f fence, opened int) cut {
	quarter := room / 4
	switch {
	case c.paragraph.at > 0 && c.paragraph.at >= quarter:
		return c.paragraph
	case c.line.at > 0 && (c.line.at >= quarter || c.line.t.head != ""):
		return c.line
	case f.marker != "":
		if c.line.at > 0 && c.line.at == opened && s.fits(opened) {
			return c.line
		}
		for _, at := range []cut{c.codeLine, c.codeWord, c.line, c.word} {
			if at.at > 0 {
				return at
			}
		}
	default:
		if c.line.at > c.word.at {
			return c.line
		}
		if c.word.at > 0 {
			return c.word
		}
	}
	return c.hard
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
