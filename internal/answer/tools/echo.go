package tools

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// told is what a model has handed to other programs: their results may repeat it.
type told struct {
	// text are all keys and values, one a line. joined are the values without anything between them, as a
	// program may put them together.
	text, joined string
	words        map[string]bool
}

// newTold collects the inputs of calls, in order.
func newTold(inputs []string) told {
	var lines []string
	var joined strings.Builder
	for _, input := range inputs {
		keys, values := partsOf(input)
		lines = append(lines, plain(input), plain(strings.Join(append(keys, values...), "\n")))
		joined.WriteString(strings.Join(values, ""))
		for _, word := range packed.FindAllString(input, -1) {
			lines = append(lines, unpacked(word)...)
		}
	}
	t := told{strings.Join(lines, "\n"), plain(joined.String()), map[string]bool{}}
	for _, word := range wordsIn(t.text + "\n" + t.joined) {
		t.words[word] = true
	}
	return t
}

// partsOf are the keys and the values in an input as the model wrote them, in its order.
func partsOf(input string) (keys, values []string) {
	decoder := json.NewDecoder(strings.NewReader(input))
	decoder.UseNumber()
	var open []json.Delim
	key := false // whether a key of an object comes next
	for {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		if delimiter, ok := token.(json.Delim); ok && (delimiter == '{' || delimiter == '[') {
			open, key = append(open, delimiter), delimiter == '{'
			continue
		} else if ok {
			open = open[:len(open)-1]
		} else if key {
			keys, key = append(keys, fmt.Sprint(token)), false
			continue
		} else {
			values = append(values, fmt.Sprint(token))
		}
		key = len(open) > 0 && open[len(open)-1] == '{'
	}
	if len(keys)+len(values) == 0 {
		values = []string{input}
	}
	return keys, values
}

// repeats reports whether an address may be made of what was told: it has that as a whole; or a host in it was
// told, as it is or in its parts, and so was anything else in it, or nothing else is there. A host that was not
// told is a source's own: what a model has read does not get to a stranger by it.
func (t told) repeats(address string) bool {
	if t.text == "" {
		return false
	}
	whole := plain(address)
	if t.holds(whole) {
		return true
	}
	_, bare, _ := strings.Cut(whole, "://")
	for _, m := range namedHost.FindAllStringSubmatch("//"+bare, -1) {
		host := m[1] + m[2]
		from, named := t.names(host)
		if !named {
			continue
		}
		rest := host[:from] + " " + strings.Replace(bare, host, " ", 1)
		for _, piece := range packed.FindAllString(address, -1) {
			rest += " " + strings.Join(unpacked(piece), " ")
		}
		words := wordsIn(rest)
		if len(words) == 0 || slices.ContainsFunc(words, t.hasWord) {
			return true
		}
	}
	return false
}

// holds reports whether a plain address was told as it is.
func (t told) holds(address string) bool {
	_, bare, _ := strings.Cut(address, "://")
	bare = strings.TrimRight(bare, "/")
	return bare != "" && (strings.Contains(t.text, bare) || strings.Contains(t.joined, bare))
}

// names reports whether a host was told, or a domain above it, which begins at from.
func (t told) names(host string) (from int, named bool) {
	for _, form := range hostForms(host) {
		labels := strings.Split(form, ".")
		for i := range max(1, len(labels)-1) {
			domain := strings.Join(labels[i:], ".")
			if !strings.Contains(t.text, domain) && !strings.Contains(t.joined, domain) &&
				slices.ContainsFunc(labels[i:], func(label string) bool { return !t.words[label] }) {
				continue
			}
			if form == host {
				from = len(host) - len(domain)
			}
			return from, true
		}
	}
	return 0, false
}

// hostForms are a host as it is, and in Unicode and Punycode.
func hostForms(host string) []string {
	forms := []string{host}
	for _, other := range []func(string) (string, error){idna.ToUnicode, idna.ToASCII} {
		if form, err := other(host); err == nil && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// hasWord reports whether a word was told, is a part of what was told, or is put together from told words.
func (t told) hasWord(word string) bool {
	const short, long = 3, 200
	if t.words[word] || len(word) >= short && (strings.Contains(t.text, word) || strings.Contains(t.joined, word)) {
		return true
	}
	word = word[:min(len(word), long)]
	reached := make([]bool, len(word)+1)
	reached[0] = true
	for end := 1; end <= len(word); end++ {
		for begin := range end {
			if reached[begin] && t.words[word[begin:end]] {
				reached[end] = true
				break
			}
		}
	}
	return reached[len(word)]
}

var (
	// namedHost matches a host in a plain address: its own, and one that it hands on.
	namedHost = regexp.MustCompile(`//([\pL\pN_-]+(?:\.[\pL\pN_-]+)*|\[[^\]]*\])|[=@]([\pL\pN_-]+(?:\.[\pL\pN_-]+)+)`)
	// percent matches an encoded byte.
	percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	// packed matches what may be base64 or hex.
	packed = regexp.MustCompile(`[A-Za-z0-9+/_-]{4,}`)
	// dots are what browsers take for a dot (unicode.org/reports/tr46, "Notation").
	dots = strings.NewReplacer("。", ".", "｡", ".", "．", ".", "․", ".", "\\", "", "*", "", "`", "")
)

// maxDecoded bounds how often a text is decoded: each echo may encode it once more.
const maxDecoded = 5

// plain is a text for comparison: entities and encoded bytes as characters, all dots alike, no marks of
// Markdown, nothing that cannot be seen, in lower case. It is never shown.
func plain(s string) string {
	for range maxDecoded {
		decoded := percent.ReplaceAllStringFunc(html.UnescapeString(s), func(code string) string {
			b, _ := hex.DecodeString(code[1:]) // which are two digits
			return string(b)
		})
		if decoded == s {
			break
		}
		s = decoded
	}
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector) && r != '\n' {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(strings.ToValidUTF8(s, "")))
	return dots.Replace(s)
}

// wordsIn are the runs of letters and digits in a plain text.
func wordsIn(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// unpacked is what a word says in hex or base64, if that is a text.
func unpacked(word string) (texts []string) {
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		b, err := decode(word)
		if err == nil && utf8.Valid(b) && !strings.ContainsFunc(string(b), unicode.IsControl) {
			texts = append(texts, plain(string(b)))
		}
	}
	return texts
}
