package prompt

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"myao/internal/chat"
)

// lineBreaks makes everything that some reader takes for the end of a line one.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n",
	"\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// clean removes what cannot be seen: control characters but tab and line break,
// zero-width and bidirectional formatting, tags and other fillers. The joiners stay
// where they mean something: within an emoji of several, and within a word of a
// script that is spelt with them.
func clean(s string) string {
	// Most texts are clean, and not copied. Of all line breaks only these two are no control characters.
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return invisible(r) || r == '\u2028' || r == '\u2029' }) {
		return s
	}
	runes := []rune(lineBreaks.Replace(strings.ToValidUTF8(s, "\uFFFD")))
	kept := runes[:0]
	for i, r := range runes {
		if !invisible(r) || len(kept) > 0 && i+1 < len(runes) && joins(kept[len(kept)-1], r, runes[i+1]) {
			kept = append(kept, r)
		}
	}
	return string(kept)
}

// joins reports whether r is a zero-width joiner or non-joiner with a meaning
// between its neighbours (unicode.org/reports/tr31, "Layout and Format Control Characters").
func joins(before, r, after rune) bool {
	const joiner, nonJoiner = '\u200D', '\u200C'
	switch {
	case r == joiner && pictograph(before) && pictograph(after):
		return true
	case r == joiner || r == nonJoiner:
		return cursive(before) && cursive(after)
	}
	return false
}

// cursive reports whether r is of a script in which joiners change how a word is read.
func cursive(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala)
}

// pictograph reports whether an emoji can end or begin with r: a symbol, the sign
// that chooses its picture, or a tone of skin.
func pictograph(r rune) bool {
	return unicode.Is(unicode.So, r) || r == '\uFE0F' || '\U0001F3FB' <= r && r <= '\U0001F3FF'
}

func invisible(r rune) bool {
	switch {
	case r >= ' ' && r < unicode.MaxASCII:
		return false
	case r == '\n' || r == '\t' || r == '\uFE0E' || r == '\uFE0F': // the last two choose text or emoji
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // formatting by class only: they are drawn
		return false
	case r == '\uFFFC': // stands for an object that is not there
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// StripInvisible is what can be seen of a text.
func StripInvisible(s string) string { return clean(s) }

// Visible reports whether there is anything to be seen of a text.
func Visible(s string) bool {
	return strings.ContainsFunc(clean(s), func(r rune) bool { return !blank(r) })
}

// cleanLine is s as one line of at most most characters.
func cleanLine(s string, most int) string {
	s = strings.Join(strings.Fields(clean(s)), " ")
	s = strings.TrimRightFunc(strings.TrimLeftFunc(s, blank), space)
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// cleanName is a name as it can stand in a message line, a heading or a
// mention: one line, without the characters that mark those. It is empty when
// nothing is left to see.
func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if passes(r, "*:`<>\\") {
			return ' '
		}
		return r
	}, clean(s))
	return strings.TrimLeftFunc(cleanLine(s, 80), func(r rune) bool { return passes(r, "#@") || blank(r) })
}

// orName is what is known, or else the first of others that is a name once it is clean.
func orName(known string, others ...string) string {
	for _, s := range others {
		if known != "" {
			break
		}
		known = cleanName(s)
	}
	return known
}

// passes reports whether a character is, or passes for, one of marks.
func passes(r rune, marks string) bool {
	if r <= unicode.MaxASCII {
		return strings.ContainsRune(marks, r)
	}
	return strings.ContainsAny(fold(string(r)), marks)
}

var brackets = strings.NewReplacer("[", "(", "]", ")")

// cleanFile is a file's name as it can stand in its label.
func cleanFile(f chat.File) string {
	return brackets.Replace(cleanLine(cmp.Or(f.Name, f.ID), 120))
}

// space reports whether a character that clean leaves is drawn as nothing.
func space(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) || r == '\u2800' || r == '\U0001D159' // blank Braille, null notehead
}

// mark reports whether a character is drawn upon the one before it.
func mark(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) }

// blank reports whether nothing is to be seen where a line begins with r.
func blank(r rune) bool { return space(r) || mark(r) }

// lookalikes are characters that pass for ones of the prompt's structure and
// that compatibility decomposition leaves as they are. Dashes and digits are
// known by their class.
var lookalikes = map[rune]rune{
	'∗': '*', '⁎': '*', '✱': '*', '✲': '*', '✳': '*', '✻': '*', '٭': '*', '⁑': '*', '❋': '*', '꙳': '*',
	'−': '-', '─': '-', '━': '-', '┄': '-', '┅': '-', '┈': '-', '┉': '-', '╌': '-', '╍': '-', '⎯': '-',
	'ー': '-', '˗': '-', '⁃': '-', '➖': '-', '∼': '~', '⸺': '-', '―': '-', '╴': '-', '╶': '-',
	'═': '=', '꞊': '=', '゠': '=', 'ˍ': '_', '♯': '#', '⌗': '#', '⋕': '#', 'ˋ': '`', '‵': '`',
	'∶': ':', '∷': ':', 'ː': ':', '꞉': ':', '։': ':', '׃': ':',
}

// fold is what a text passes for: look-alikes as what they look like, lower
// case, no marks, no space at the ends. It serves comparison only and is never shown.
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
		case r >= 'ぁ' && r <= 'ゖ', r >= 'ァ' && r <= 'ヺ', r >= '一' && r <= '鿿': // most of a Japanese text, for speed
			b.WriteRune(r)
		case lookalikes[r] != 0:
			b.WriteRune(lookalikes[r])
		case unicode.Is(unicode.Pd, r):
			b.WriteByte('-')
		case unicode.IsDigit(r):
			b.WriteByte('0')
		case space(r):
			b.WriteByte(' ')
		case mark(r):
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return strings.TrimSpace(b.String())
}
