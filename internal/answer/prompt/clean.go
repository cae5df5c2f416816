package prompt

import (
	"cmp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"myao/internal/chat"
)

// Visible reports whether a text has any visible character.
func Visible(s string) bool {
	return strings.ContainsFunc(chat.Printable(s), func(r rune) bool { return !isBlank(r) })
}

// cleanLine returns s as one line of at most most characters.
func cleanLine(s string, most int) string {
	s = strings.Join(strings.Fields(chat.Printable(s)), " ")
	s = strings.TrimRightFunc(strings.TrimLeftFunc(s, isBlank), isSpace)
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// cleanName returns a name that is safe in a message line, a heading or a mention: one line,
// without the characters that mark those. It is empty if nothing visible is left.
func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if resembles(r, "*:`<>\\") {
			return ' '
		}
		return r
	}, chat.Printable(s))
	return strings.TrimLeftFunc(cleanLine(s, 80), func(r rune) bool { return resembles(r, "#@") || isBlank(r) })
}

// pickName returns known, or else the first of others that is not empty once it is clean.
func pickName(known string, others ...string) string {
	for _, s := range others {
		if known != "" {
			break
		}
		known = cleanName(s)
	}
	return known
}

// resembles reports whether a character is one of marks or looks like one.
func resembles(r rune, marks string) bool {
	if r <= unicode.MaxASCII {
		return strings.ContainsRune(marks, r)
	}
	return strings.ContainsAny(fold(string(r)), marks)
}

var brackets = strings.NewReplacer("[", "(", "]", ")")

// cleanFile returns a file's name that is safe in its label.
func cleanFile(f chat.File) string {
	return brackets.Replace(cleanLine(cmp.Or(f.Name, f.ID), 120))
}

// isSpace reports whether a character that chat.Printable keeps is drawn as empty space.
func isSpace(r rune) bool {
	// blank Braille pattern, null notehead
	return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) || r == '\u2800' || r == '\U0001D159'
}

// isMark reports whether a character combines with the one before it.
func isMark(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) }

// isBlank reports whether r is invisible at the beginning of a line.
func isBlank(r rune) bool { return isSpace(r) || isMark(r) }

// lookalikes are characters that look like those of the prompt's structure and that compatibility
// decomposition does not change. Dashes and digits are recognised by their class.
var lookalikes = map[rune]rune{
	'∗': '*', '⁎': '*', '✱': '*', '✲': '*', '✳': '*', '✻': '*', '٭': '*', '⁑': '*', '❋': '*', '꙳': '*',
	'−': '-', '─': '-', '━': '-', '┄': '-', '┅': '-', '┈': '-', '┉': '-', '╌': '-', '╍': '-', '⎯': '-',
	'ー': '-', '˗': '-', '⁃': '-', '➖': '-', '∼': '~', '⸺': '-', '―': '-', '╴': '-', '╶': '-',
	'═': '=', '꞊': '=', '゠': '=', 'ˍ': '_', '♯': '#', '⌗': '#', '⋕': '#', 'ˋ': '`', '‵': '`',
	'∶': ':', '∷': ':', 'ː': ':', '꞉': ':', '։': ':', '׃': ':',
}

// fold returns a text for comparison: look-alikes replaced, lower case, no marks, no space at the
// ends. It is never shown.
func fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		switch {
		case r <= unicode.MaxASCII:
			if r = unicode.ToLower(r); r == '\t' {
				r = ' '
			}
			b.WriteRune(r)
		case r >= 'ぁ' && r <= 'ゖ', r >= 'ァ' && r <= 'ヺ', r >= '一' && r <= '鿿': // most of a Japanese text; a fast path
			b.WriteRune(r)
		case lookalikes[r] != 0:
			b.WriteRune(lookalikes[r])
		case unicode.Is(unicode.Pd, r):
			b.WriteByte('-')
		case unicode.IsDigit(r):
			b.WriteByte('0')
		case isSpace(r):
			b.WriteByte(' ')
		case isMark(r):
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return strings.TrimSpace(b.String())
}
