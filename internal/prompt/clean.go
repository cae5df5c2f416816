package prompt

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"myao/internal/chat"
)

// lineBreaks replaces everything that any reader may take for a line break.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n",
	"\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// clean removes invisible characters: control characters except tab and line break, zero-width and
// bidirectional formatting, tags and other fillers. Joiners stay where they have a meaning: within
// a composed emoji, and within a word of a script that needs them.
func clean(s string) string {
	// Most texts are clean, and are not copied. U+2028 and U+2029 are line breaks, but not control characters.
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return isInvisible(r) || r == '\u2028' || r == '\u2029' }) {
		return s
	}
	runes := []rune(lineBreaks.Replace(strings.ToValidUTF8(s, "\uFFFD")))
	kept := runes[:0]
	for i, r := range runes {
		if !isInvisible(r) || len(kept) > 0 && i+1 < len(runes) && isUsefulJoiner(kept[len(kept)-1], r, runes[i+1]) {
			kept = append(kept, r)
		}
	}
	return string(kept)
}

// isUsefulJoiner reports whether r is a zero-width joiner or non-joiner that has a meaning between its
// neighbours (unicode.org/reports/tr31, "Layout and Format Control Characters").
func isUsefulJoiner(before, r, after rune) bool {
	const joiner, nonJoiner = '\u200D', '\u200C'
	switch {
	case r == joiner && isPictograph(before) && isPictograph(after):
		return true
	case r == joiner || r == nonJoiner:
		return isCursive(before) && isCursive(after)
	}
	return false
}

// isCursive reports whether r belongs to a script where joiners change how a word is read.
func isCursive(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala)
}

// isPictograph reports whether an emoji can begin or end with r: a symbol, a variation selector or a
// skin tone.
func isPictograph(r rune) bool {
	return unicode.Is(unicode.So, r) || r == '\uFE0F' || '\U0001F3FB' <= r && r <= '\U0001F3FF'
}

func isInvisible(r rune) bool {
	switch {
	case r >= ' ' && r < unicode.MaxASCII:
		return false
	case r == '\n' || r == '\t' || r == '\uFE0E' || r == '\uFE0F': // the last two select text or emoji style
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // in the class of format characters, but visible
		return false
	case r == '\uFFFC': // the placeholder of an embedded object
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Visible reports whether a text has any visible character.
func Visible(s string) bool {
	return strings.ContainsFunc(clean(s), func(r rune) bool { return !isBlank(r) })
}

// cleanLine returns s as one line of at most most characters.
func cleanLine(s string, most int) string {
	s = strings.Join(strings.Fields(clean(s)), " ")
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
	}, clean(s))
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

// isSpace reports whether a character that clean keeps is drawn as empty space.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) || r == '\u2800' || r == '\U0001D159' // blank Braille pattern, null notehead
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
