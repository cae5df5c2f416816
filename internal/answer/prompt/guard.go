package prompt

import (
	"regexp"
	"slices"
	"strings"

	"myao/internal/chat"
)

// guard escapes text from people, so that it cannot become structure of the prompt. It does not
// change ordinary lines. It puts a backslash before a line that could be taken for a heading, a
// rule, a fence, a message line or a label. In doubt, it escapes.
type guard struct {
	// labels are, folded, the texts of the templates' headings, their parts before a colon, and the
	// labels of "label: value" lines.
	labels []string
}

var (
	action  = regexp.MustCompile(`\{\{[^}]*\}\}`)
	heading = regexp.MustCompile(`(?m)^[ \t]*#{1,6}[ \t]+([^\x00\n]*)`)
	label   = regexp.MustCompile(`(?m)^([^\x00\n#*:：-]+[:：])[ \t]*\x00`)
)

// newGuard collects the headings and labels of template sources.
func newGuard(sources []string) guard {
	var g guard
	for _, source := range sources {
		// An action ends a literal, and a heading may begin directly after an action.
		literal := action.ReplaceAllString(source, "\x00")
		for _, m := range heading.FindAllStringSubmatch(strings.ReplaceAll(literal, "\x00", "\x00\n"), -1) {
			text := strings.TrimLeft(m[1], "# ")
			g.addLabel(text)
			if before, _, found := strings.Cut(text, ":"); found {
				g.addLabel(before + ":")
			}
		}
		for _, m := range label.FindAllStringSubmatch(literal, -1) {
			g.addLabel(m[1])
		}
	}
	slices.Sort(g.labels)
	g.labels = slices.Compact(g.labels)
	return g
}

// Instructions are the texts of the templates, without what is filled in.
func (r *Renderer) Instructions() []string {
	var all []string
	for _, f := range r.files {
		all = append(all, action.Split(f.source, -1)...)
	}
	return all
}

func (g *guard) addLabel(s string) {
	if s = fold(s); s != "" {
		g.labels = append(g.labels, s)
	}
}

// text escapes every line of s that could be structure. It also removes invisible characters and repeated
// blank lines, and makes all line breaks "\n".
func (g guard) text(s string) string {
	var lines []string
	for line := range strings.SplitSeq(chat.Printable(s), "\n") {
		line = strings.TrimRightFunc(line, isSpace)
		start := strings.IndexFunc(line, func(r rune) bool { return !isBlank(r) })
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
	// container matches a Markdown quote or list item, which may contain structure.
	container = regexp.MustCompile(`^(?:>+|[-+*]\s|\d{1,9}[.)](?:\s|$))\s*`)
	rule      = regexp.MustCompile("^[-=_*~#+|:` ]*[-=_*~`][-=_*~#+|:` ]*$")
	fence     = regexp.MustCompile("^(?:```|~~~)")
	emphasis  = regexp.MustCompile(`^[*_]\s*[*_]`)
	tag       = regexp.MustCompile(`^< *[a-z!/?|]`) // an HTML block includes the lines after it
	// dated matches a date and a time of day, the beginning of a message line, and the number before that of a message
	// that was found.
	dated = regexp.MustCompile(`^(?:\[\s*\d{1,4}\s*\]\s*)?[*_\[(「【 ]*\d{4}\D{1,3}\d{1,2}\D{1,3}\d{1,2}\D{1,6}\d{1,2}\D{1,2}\d{1,2}`)
	// gap and attachment match the prompt's own notes about what is not shown.
	gap        = regexp.MustCompile(`^\.{2,}.{0,12}\d`)
	attachment = regexp.MustCompile(`^\[\s*(?:image|video|audio|file)\s*:`)
	// speaker matches the label of a message in a chat turn.
	speaker = regexp.MustCompile(`^.{1,200}\((?:<@[a-z0-9]+>|@[^)]{1,90}|app)\)\s*:`)
	// mark matches the lines under a message: who reacted, how long ago it was sent, that it is new.
	mark = regexp.MustCompile(`^(?:(?:reactions|リアクション)\s*:|\[\s*new\s*\]|\((?:under )?\s*\d+\s*\pL+\s*(?:ago)?\s*\)|` +
		`\(数十秒前\)|\(under the message of|\([-\d :]+の発言の下\))`)
)

// maxNested bounds how many containers of a line are looked into: each look reads the rest of the line.
const maxNested = 20

// structural reports whether a folded line could be taken for structure of the prompt.
func (g guard) structural(s string) bool {
	if dated.MatchString(s) || gap.MatchString(s) || attachment.MatchString(s) || mark.MatchString(s) ||
		speaker.MatchString(s) {
		return true
	}
	for nested := 0; s != ""; nested++ {
		if nested == maxNested || s[0] == '#' || rule.MatchString(s) || fence.MatchString(s) ||
			emphasis.MatchString(s) || tag.MatchString(s) || g.labelled(s) {
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

// labelled reports whether a line is the text of a heading without its mark, or begins like a
// "label: value" line of the templates.
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
