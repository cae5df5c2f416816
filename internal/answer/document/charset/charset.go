// Package charset reads texts that come from anywhere, whatever they are encoded in. What the bytes prove counts first,
// then what was declared, unless it is plainly wrong; then what the whole text looks like when it is read.
package charset

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	textunicode "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Text is a text in UTF-8.
type Text struct {
	Text string
	// Guess names the encoding if it was neither proved nor declared, such as Windows-1252.
	Guess string
}

// candidate is an encoding that a text may be in, by the name that people know.
type candidate struct {
	name     string
	encoding encoding.Encoding
	// writes are the languages without an alphabet that are written in it.
	writes language
	// usual is by how much a text is likelier to be in it than in another, as a score.
	usual int
}

var (
	utf16LE = candidate{"UTF-16LE", textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM), every, 0}
	utf16BE = candidate{"UTF-16BE", textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM), every, 0}
)

// candidates are what is tried. Of two that read a text alike, the first is taken.
var candidates = []candidate{
	{"UTF-8", encoding.Nop, every, 3},
	{"Windows-1252", charmap.Windows1252, 0, 3},
	{"Shift_JIS", japanese.ShiftJIS, ja, 1},
	{"EUC-JP", japanese.EUCJP, ja, 0},
	{"ISO-8859-15", charmap.ISO8859_15, 0, 3},
	{"Windows-1250", charmap.Windows1250, 0, 0},
	{"ISO-8859-2", charmap.ISO8859_2, 0, 0},
	{"Windows-1251", charmap.Windows1251, 0, 0},
	{"KOI8-R", charmap.KOI8U, 0, 0}, // which is KOI8-R with the letters of Ukrainian
	{"GBK", simplifiedchinese.GB18030, hans | hant, 0},
	{"Big5", traditionalchinese.Big5, hant, 0},
	{"EUC-KR", korean.EUCKR, ko, 0},
	{"CP850", charmap.CodePage850, 0, -2},
}

// marks are what a text may begin with to say what it is in. The longer ones begin as the shorter ones do.
var marks = []struct {
	bytes    string
	encoding encoding.Encoding
}{
	{"\xff\xfe\x00\x00", utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)},
	{"\x00\x00\xfe\xff", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
	{"\xef\xbb\xbf", encoding.Nop},
	{"\xff\xfe", utf16LE.encoding},
	{"\xfe\xff", utf16BE.encoding},
}

// maxSample is how many bytes of a text are tried in all encodings, and maxBefore how many of a word before what is
// beyond ASCII in it.
const maxSample, maxBefore = 16 << 10, 32

// Read returns a text, and false if the bytes look like no text. declared is the label of a charset, or empty. cut is
// set if the bytes end where reading has stopped, which may be inside a character.
func Read(body []byte, declared string, cut bool) (Text, bool) {
	text := read(body, declared, cut)
	return text, printable(text.Text)
}

func read(body []byte, declared string, cut bool) Text {
	for _, m := range marks {
		if rest, ok := bytes.CutPrefix(body, []byte(m.bytes)); ok {
			return Text{Text: decoded(rest, m.encoding, cut)}
		}
	}
	_, name := charset.Lookup(declared)
	isUTF8, isWide := valid(body, cut), strings.HasPrefix(name, "utf-16")
	if bytes.IndexByte(body, 0) >= 0 || isWide && !isUTF8 {
		if c, ok := wide(body, cut); ok {
			text := Text{Text: decoded(body, c.encoding, cut)}
			if !isWide {
				text.Guess = c.name
			}
			return text
		}
	}
	if isUTF8 {
		if bytes.Contains(body, []byte("\x1b$")) {
			if text := decoded(body, japanese.ISO2022JP, cut); !strings.ContainsRune(text, utf8.RuneError) {
				return Text{Text: text}
			}
		}
		return Text{Text: decoded(body, encoding.Nop, cut)}
	}
	sample := sampled(body)
	best, most := candidate{}, 0
	for _, c := range candidates {
		n := score(decoded(sample, c.encoding, true), c.writes) + c.usual
		if best.name == "" || n > most {
			best, most = c, n
		}
	}
	for _, label := range []string{declared, inside(body)} {
		e, name := charset.Lookup(label)
		switch {
		case e == nil || name == "replacement" || strings.HasPrefix(name, "utf-16"):
			continue
		case name == "utf-8":
			e = encoding.Nop
		}
		if n := score(decoded(sample, e, true), every); n >= 0 || most <= 0 {
			return Text{Text: decoded(body, e, cut)}
		}
	}
	return Text{Text: decoded(body, best.encoding, cut), Guess: best.name}
}

// valid reports whether a text is one in UTF-8. One that is cut may end inside a character.
func valid(body []byte, cut bool) bool {
	if cut {
		body = whole(body)
	}
	return utf8.Valid(body)
}

// whole is a text in UTF-8 without the character that it ends inside of, if it does.
func whole(body []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(body); i++ {
		if end := body[len(body)-i:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return body[:len(body)-i]
			}
			break
		}
	}
	return body
}

// wide tells the order of bytes in UTF-16. It returns false if a text is not in UTF-16.
func wide(body []byte, cut bool) (best candidate, ok bool) {
	if len(body)%2 != 0 && !cut {
		return candidate{}, false
	}
	most := 0
	for _, c := range []candidate{utf16LE, utf16BE} {
		text := decoded(body[:min(len(body), maxSample)], c.encoding, true)
		n := score(text, every)
		for _, r := range text {
			if r < utf8.RuneSelf && (r >= ' ' || unicode.IsSpace(r)) {
				n++
			}
		}
		if n > most {
			best, most = c, n
		}
	}
	return best, most > 0
}

// sampled is what is beyond ASCII in a text, with the words that it stands in. It is cut where no encoding has a
// character go on: no second byte is below 0x30.
func sampled(body []byte) []byte {
	var sample []byte
	for at := 0; at < len(body) && len(sample) < maxSample; {
		n := bytes.IndexFunc(body[at:], func(r rune) bool { return r >= utf8.RuneSelf })
		if n < 0 {
			break
		}
		from, to := at+n, at+n+1
		for from > at && body[from-1] >= 0x30 && at+n-from < maxBefore {
			from--
		}
		for to < len(body) && body[to] >= 0x30 && to-from < maxSample {
			to++
		}
		to = min(to+1, len(body))
		sample = append(sample, body[max(from-1, at):to]...)
		at = to
	}
	return sample
}

// declaration matches what HTML and XML say of their own charset.
var declaration = regexp.MustCompile(`(?i)<meta[^>]{1,300}?charset\s*=\s*["']?\s*([\w.:-]+)|` +
	`^\s*<\?xml[^>]{1,300}?encoding\s*=\s*["']([\w.:-]+)`)

// inside is the charset that a text declares for itself; "" if it does not.
func inside(body []byte) string {
	m := declaration.FindSubmatch(body)
	if m == nil {
		return ""
	}
	return string(m[1]) + string(m[2])
}

// decoded is a text in UTF-8, with U+FFFD for what cannot be read.
func decoded(body []byte, e encoding.Encoding, cut bool) string {
	if e == encoding.Nop {
		if cut {
			body = whole(body)
		}
		return strings.TrimPrefix(strings.ToValidUTF8(string(body), "\uFFFD"), "\uFEFF")
	}
	var b strings.Builder
	b.Grow(len(body))
	_, _ = io.Copy(&b, e.NewDecoder().Reader(bytes.NewReader(body))) // which replaces what is wrong
	text := strings.TrimPrefix(b.String(), "\uFEFF")
	if cut {
		text = strings.TrimSuffix(text, "\uFFFD")
	}
	return text
}

// printable reports whether a text is one: it has few control characters, and little that could not be read.
func printable(text string) bool {
	controls, broken, n := 0, 0, 0
	for _, r := range text {
		n++
		switch {
		case r == 0:
			return false
		case unicode.IsLetter(r):
		case kindOf(r) == impossible && !unicode.IsControl(r):
			broken++
		case unicode.IsControl(r) && !unicode.IsSpace(r) && r != '\x1b':
			controls++
		}
	}
	return controls*50 <= n && broken*10 <= n
}
