package chat

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineBreaks replaces everything that any reader may take for a line break.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n",
	"\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Printable returns a text without invisible characters: control characters except tab and line break,
// zero-width and bidirectional formatting, tags and other fillers. Joiners stay where they have a meaning:
// within a composed emoji, and within a word of a script that needs them. What a model or a server writes
// goes through it where it comes in; what people write, where it is shown to a model.
func Printable(s string) string {
	// Most texts are clean, and are not copied. U+2028 and U+2029 are line breaks, but not control characters.
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return isInvisible(r) || r == '\u2028' ||
			r == '\u2029'
	}) {
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

// PrintableJSON is Printable for each text in a JSON value, its keys among them, however it is escaped. All
// else stays as it is written. What is no JSON is one text.
func PrintableJSON(raw []byte) []byte {
	if !json.Valid(raw) {
		if raw = []byte(Printable(string(raw))); !json.Valid(raw) {
			// which a control character may have been in the way of
			return raw
		}
	}
	var b bytes.Buffer
	for len(raw) > 0 {
		open := bytes.IndexByte(raw, '"')
		if open < 0 {
			break
		}
		end := open + 1
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		literal := raw[open : end+1]
		var text string
		_ = json.Unmarshal(literal, &text) // which is valid
		b.Write(raw[:open])
		if shown := Printable(text); shown != text {
			encoder := json.NewEncoder(&b)
			encoder.SetEscapeHTML(false)
			_ = encoder.Encode(shown) // into memory
			b.Truncate(b.Len() - 1)   // its line break
		} else {
			b.Write(literal)
		}
		raw = raw[end+1:]
	}
	b.Write(raw)
	return b.Bytes()
}
