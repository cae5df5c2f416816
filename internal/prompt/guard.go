package prompt

import (
	"regexp"
	"slices"
	"strings"
)

// guard keeps what people wrote from becoming structure. Ordinary lines pass
// as they are; before the first character of a line that could be taken for a
// heading, a rule, a fence, a message line or a label of the prompt it puts a
// backslash. It errs on the side of the backslash.
type guard struct {
	// labels are the texts of the templates' headings, what stands before a colon
	// in them, and the beginnings of lines that end in a colon and a value; folded.
	labels []string
}

var (
	action  = regexp.MustCompile(`\{\{[^}]*\}\}`)
	heading = regexp.MustCompile(`(?m)^[ \t]*#{1,6}[ \t]+([^\x00\n]*)`)
	label   = regexp.MustCompile(`(?m)^([^\x00\n#*:：-]+[:：])[ \t]*\x00`)
)

// newGuard learns the headings and labels of the given template sources.
func newGuard(sources []string) guard {
	var g guard
	for _, source := range sources {
		// An action ends a literal; a heading may also begin right after one.
		literal := action.ReplaceAllString(source, "\x00")
		for _, m := range heading.FindAllStringSubmatch(strings.ReplaceAll(literal, "\x00", "\x00\n"), -1) {
			text := strings.TrimLeft(m[1], "# ")
			g.learn(text)
			if before, _, found := strings.Cut(text, ":"); found {
				g.learn(before + ":")
			}
		}
		for _, m := range label.FindAllStringSubmatch(literal, -1) {
			g.learn(m[1])
		}
	}
	slices.Sort(g.labels)
	g.labels = slices.Compact(g.labels)
	return g
}

func (g *guard) learn(s string) {
	if s = fold(s); s != "" {
		g.labels = append(g.labels, s)
	}
}

// text is s without invisible characters, with one kind of line break, no more
// than one blank line at a time, and every line that could be structure escaped.
func (g guard) text(s string) string {
	var lines []string
	for line := range strings.SplitSeq(clean(s), "\n") {
		line = strings.TrimRightFunc(line, space)
		start := strings.IndexFunc(line, func(r rune) bool { return !blank(r) })
		switch {
		case start < 0 && (len(lines) == 0 || lines[len(lines)-1] == ""):
		case start < 0:
			lines = append(lines, "")
		case g.structural(fold(line[start:])):
			lines = append(lines, line[:start]+`\`+line[start:])
		default:
			lines = append(lines, line)
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

var (
	// container is what Markdown lets structure hide behind: a quote or a list item.
	container = regexp.MustCompile(`^(?:>+|[-+*]\s|\d{1,9}[.)](?:\s|$))\s*`)
	rule      = regexp.MustCompile("^[-=_*~#+|:` ]*[-=_*~`][-=_*~#+|:` ]*$")
	fence     = regexp.MustCompile("^(?:```|~~~)")
	emphasis  = regexp.MustCompile(`^[*_]\s*[*_]`)
	html      = regexp.MustCompile(`^< *[a-z!/?|]`) // a block of HTML swallows what follows it
	// dated is a date and a time of day, as a message line begins.
	dated = regexp.MustCompile(`^[*_\[(「【 ]*\d{4}\D{1,3}\d{1,2}\D{1,3}\d{1,2}\D{1,6}\d{1,2}\D{1,2}\d{1,2}`)
	// gap and attachment are the prompt's own notes on what is not shown.
	gap        = regexp.MustCompile(`^\.{2,}.{0,12}\d`)
	attachment = regexp.MustCompile(`^\[\s*(?:image|video|audio|file)\s*:`)
)

// structural reports whether a folded line could be taken for a part of the prompt.
func (g guard) structural(s string) bool {
	if dated.MatchString(s) || gap.MatchString(s) || attachment.MatchString(s) {
		return true
	}
	for s != "" {
		if s[0] == '#' || rule.MatchString(s) || fence.MatchString(s) ||
			emphasis.MatchString(s) || html.MatchString(s) || g.labelled(s) {
			return true
		}
		inside := container.FindString(s)
		if inside == "" {
			return false
		}
		s = s[len(inside):]
	}
	return false
}

// labelled reports whether a line is a heading's text without its mark, or
// begins like one of the templates' "label: value" lines.
func (g guard) labelled(s string) bool {
	s = strings.Trim(s, "*_ ")
	if strings.Contains(s, "  ") {
		s = strings.Join(strings.Fields(s), " ")
	}
	for _, l := range g.labels {
		text, colon := strings.CutSuffix(l, ":")
		rest, found := strings.CutPrefix(s, text)
		if found && (rest == "" && !colon || strings.HasPrefix(strings.TrimLeft(rest, " "), ":")) {
			return true
		}
	}
	return false
}
