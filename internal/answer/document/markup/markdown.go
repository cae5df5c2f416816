package markup

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxNesting is how deep lists and quotations stay within each other: each indents all that is in it.
	maxNesting = 6
	space      = " "
)

// Markdown writes an element as Markdown, whose end is left out past so many bytes. Characters are not
// escaped: a model reads it.
func Markdown(n *html.Node, limit int) string {
	w := &writer{limit: limit}
	w.children(n)
	return strings.TrimSpace(w.out.String())
}

// writer writes words and remembers what has to stand before the next one.
type writer struct {
	out   strings.Builder
	limit int
	// gap is how many lines end before the next word, between what begins an empty one; blank is set if a space
	// stands before the word.
	gap     int
	between string
	blank   bool
	// prefix begins each line, lead the next one in its place if it is set.
	prefix, lead string
	// marked are the marks of emphasis around the next word. The first ones, as many as open says, are written.
	marked []string
	open   int
	nested int
}

func (w *writer) full() bool { return w.out.Len() >= w.limit }

// block has the next word begin a line, after an empty one if gap is 2. A line that has only its marker so far
// goes on.
func (w *writer) block(gap int) {
	if w.blank = false; w.lead != "" {
		return
	}
	if w.gap == 0 || len(w.prefix) < len(w.between) {
		w.between = w.prefix
	}
	w.gap = max(w.gap, gap)
}

// word writes a text without line breaks, after the line breaks, prefix and marks that are due before it.
func (w *writer) word(s string) {
	if w.full() {
		return
	}
	if w.out.Len() == 0 {
		w.gap = max(w.gap, 1)
	}
	if w.gap > 0 {
		w.unmark(0)
		if w.out.Len() > 0 {
			w.out.WriteString("\n")
		}
		if w.gap > 1 && w.out.Len() > 0 {
			w.out.WriteString(strings.TrimRight(w.between, space) + "\n")
		}
		if w.lead != "" {
			w.out.WriteString(w.lead)
		} else {
			w.out.WriteString(w.prefix)
		}
	} else if w.blank {
		w.out.WriteString(space)
	}
	w.gap, w.blank, w.lead = 0, false, ""
	for ; w.open < len(w.marked); w.open++ {
		w.out.WriteString(w.marked[w.open])
	}
	w.out.WriteString(s)
}

// unmark closes the marks of emphasis that are written, down to a number of them.
func (w *writer) unmark(down int) {
	for ; w.open > down; w.open-- {
		w.out.WriteString(w.marked[w.open-1])
	}
}

// text writes a text whose white space means no more than a space.
func (w *writer) text(s string) {
	for s != "" && !w.full() {
		end := strings.IndexFunc(s, unicode.IsSpace)
		switch {
		case end == 0:
			w.blank = w.blank || w.gap == 0 && w.lead == ""
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		case end < 0:
			w.word(s)
			s = ""
		default:
			w.word(s[:end])
			s = s[end:]
		}
	}
}

// lines writes a text as it stands.
func (w *writer) lines(s string) {
	for line := range strings.SplitSeq(s, "\n") {
		if w.full() {
			return
		}
		w.word(line)
		w.gap = 1
	}
}

func (w *writer) children(n *html.Node) {
	for c := n.FirstChild; c != nil && !w.full(); c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			w.text(c.Data)
		case html.ElementNode:
			w.element(c)
		}
	}
}

func (w *writer) element(n *html.Node) {
	switch k := kinds[n.DataAtom]; {
	case n.DataAtom == atom.Head || n.DataAtom == atom.Title || k&unread != 0:
	case n.DataAtom == atom.Br:
		w.block(min(w.gap+1, 2))
	case n.DataAtom == atom.Hr:
		w.block(2)
		w.word("* * *")
		w.block(2)
	case k&link != 0:
		w.link(n)
	case k&code != 0:
		if text := strings.Join(strings.Fields(Text(n)), space); text != "" {
			fence := fenceOf(text, 1)
			w.word(fence + text + fence)
		}
	case k&bold != 0:
		w.emphasis(n, "**")
	case k&slant != 0:
		w.emphasis(n, "*")
	case n.DataAtom == atom.Pre:
		w.preformatted(n)
	case k&heading != 0:
		w.block(2)
		w.within(n, marksOf(n), "")
		w.block(2)
	case n.DataAtom == atom.Blockquote:
		w.block(2)
		w.within(n, "> ", "> ")
		w.block(2)
	case k&list != 0:
		w.list(n)
	case k&item != 0: // of no list
		w.block(1)
		w.within(n, "- ", "  ")
	case k&row != 0:
		w.block(1)
		w.word("|")
		w.children(n)
		w.block(1)
	case k&cell != 0:
		w.blank = true
		w.children(n)
		w.gap, w.blank = 0, true
		w.word("|")
	case k&(section|term) != 0:
		w.block(1)
		w.children(n)
		w.block(1)
	case k&block != 0:
		w.block(2)
		w.children(n)
		w.block(2)
	default:
		w.children(n)
	}
}

// within writes what is in an element with a mark before its first line, and one before each further one. Past
// maxNesting there are none.
func (w *writer) within(n *html.Node, first, further string) {
	if w.nested >= maxNesting {
		w.children(n)
		return
	}
	prefix, lead := w.prefix, w.lead
	if lead == "" {
		lead = prefix
	}
	w.block(1)
	mine := lead + first
	w.lead, w.prefix = mine, prefix+further
	w.nested++
	w.children(n)
	w.nested--
	if w.prefix = prefix; w.lead == mine { // nothing was in it
		w.lead = ""
		if lead != prefix {
			w.lead = lead
		}
	}
}

// list writes a list, whose items stand together, whatever is in them.
func (w *writer) list(n *html.Node) {
	gap := 2
	if w.nested > 0 {
		gap = 1
	}
	w.block(gap)
	number := 0
	for c := n.FirstChild; c != nil && !w.full(); c = c.NextSibling {
		switch {
		case c.DataAtom == atom.Li:
			number++
			mark := "- "
			if n.DataAtom == atom.Ol {
				mark = strconv.Itoa(number) + ". "
			}
			if w.blank = false; w.lead == "" && number > 1 {
				w.gap = 1
			}
			w.within(c, mark, strings.Repeat(space, len(mark)))
		case c.Type == html.TextNode:
			w.text(c.Data)
		case c.Type == html.ElementNode:
			w.element(c)
		}
	}
	w.block(gap)
}

// link writes a link on one line. One that is made of blocks is a block.
func (w *writer) link(n *html.Node) {
	var text strings.Builder
	var marks string
	gap := 0
	for d := range n.Descendants() {
		switch k := kinds[d.DataAtom]; {
		case d.Type == html.TextNode:
			text.WriteString(d.Data)
		case k&heading != 0 && marks == "":
			marks = marksOf(d)
			fallthrough
		case k&block != 0:
			gap = 2
			text.WriteString(space)
		}
	}
	label := strings.Join(strings.Fields(text.String()), space)
	if label == "" {
		return
	}
	if href := Attribute(n, "href"); href != "" {
		label = "[" + label + "](" + href + ")"
	}
	if gap == 0 {
		w.word(label)
		return
	}
	w.block(gap)
	w.word(marks + label)
	w.block(gap)
}

func marksOf(heading *html.Node) string { return strings.Repeat("#", int(heading.Data[1]-'0')) + space }

func (w *writer) emphasis(n *html.Node, mark string) {
	at := len(w.marked)
	w.marked = append(w.marked, mark)
	w.children(n)
	w.unmark(at)
	w.marked = w.marked[:at]
}

func (w *writer) preformatted(n *html.Node) {
	var b strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode:
			b.WriteString(d.Data)
		case d.DataAtom == atom.Br:
			b.WriteString("\n")
		}
	}
	text := strings.Trim(b.String(), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	fence := fenceOf(text, 3)
	w.block(2)
	w.lines(fence + "\n" + text + "\n" + fence)
	w.block(2)
}

// fenceOf returns the backticks that enclose a code: more than stand next to each other in it, and at least
// atLeast.
func fenceOf(text string, atLeast int) string {
	run := 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		atLeast = max(atLeast, run+1)
	}
	return strings.Repeat("`", atLeast)
}
