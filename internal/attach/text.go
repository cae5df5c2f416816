package attach

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	textunicode "golang.org/x/text/encoding/unicode"

	"myao/internal/markup"
)

// decode returns a file's text; false if it is none.
func decode(body []byte) (string, bool) {
	if bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff")) {
		return decoded(body, textunicode.UTF16(textunicode.LittleEndian, textunicode.ExpectBOM))
	}
	if bytes.IndexByte(body, 0) >= 0 {
		return "", false
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if utf8.Valid(body) {
		if bytes.Contains(body, []byte("\x1b$")) {
			return decoded(body, japanese.ISO2022JP)
		}
		return printable(string(body))
	}
	best, found, score := "", false, 0
	for _, e := range []encoding.Encoding{japanese.ShiftJIS, japanese.EUCJP, charmap.Windows1252} {
		text, ok := decoded(body, e)
		if n := likely(text); ok && (!found || n > score) {
			best, found, score = text, true, n
		}
	}
	return best, found
}

func decoded(body []byte, e encoding.Encoding) (string, bool) {
	text, err := e.NewDecoder().Bytes(body)
	if err != nil || bytes.ContainsRune(text, utf8.RuneError) {
		return "", false
	}
	return printable(string(text))
}

// printable reports whether a decoded text is one: it has few control characters.
func printable(text string) (string, bool) {
	controls, n := 0, 0
	for _, r := range text {
		if n++; unicode.IsControl(r) && !unicode.IsSpace(r) && r != '\x1b' {
			controls++
		}
	}
	return text, controls*50 <= n
}

// likely compares decodings of one text: what Japanese is written with counts for one, what only a wrong
// encoding brings against it.
func likely(text string) (n int) {
	for _, r := range text {
		switch {
		case r >= 0xFF61 && r <= 0xFF9F: // halfwidth katakana
			n--
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			n += 2
		case unicode.Is(unicode.Han, r), r >= 0x3000 && r <= 0x303F, r >= 0xFF01 && r <= 0xFF60:
			n++
		case r >= 0x80 && !unicode.IsLetter(r):
			n--
		}
	}
	return n
}

// canvas is the text of a canvas, which Slack serves as HTML. One that cannot be read as such stays HTML.
func canvas(html string) (text string, cut bool) {
	document, err := markup.Parse(html)
	if err != nil {
		return html, false
	}
	text = markup.Markdown(document.Body, utf8.UTFMax*(maxCharacters+1))
	return text, document.Cut
}
