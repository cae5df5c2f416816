// Package terms makes the terms by which a message is found again. Both databases index these very
// terms, so both find the same messages.
//
// A term is a word in lower case, reduced to its English stem ("deploys", "deployed" and
// "deployment" are "deploy") and without accents. Text that is written without spaces between its
// words, such as Japanese, is cut into overlapping pairs of characters instead. Words that stand in
// every other message, such as "the" and "です", are no terms.
package terms

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxIndexed is the most terms of a message, maxAsked of a query. The rest is ignored.
	maxIndexed, maxAsked = 500, 64
	// maxLength is the length of a term in characters; longer words are cut.
	maxLength = 40
	// maxText is how much of a text is read, in bytes. Slack's messages have 40,000 characters.
	maxText = 120_000
)

// Term is a term of a query.
type Term struct {
	Text string
	// Prefix is set if a message is also found by a term that only begins with Text: the query has
	// a single character where messages have pairs.
	Prefix bool
}

// Index is the distinct terms of a message's texts, and how many terms they have in all.
func Index(texts ...string) (distinct []string, length int) {
	seen := map[string]bool{}
	for _, text := range texts {
		for run := range runs(text) {
			for _, term := range run.indexed() {
				length++
				if !seen[term] && len(distinct) < maxIndexed {
					seen[term] = true
					distinct = append(distinct, term)
				}
			}
		}
	}
	return distinct, length
}

// Query is the distinct terms that texts ask for.
func Query(texts ...string) (asked []Term) {
	seen := map[Term]bool{}
	for _, text := range texts {
		for run := range runs(text) {
			for _, term := range run.asked() {
				if !seen[term] && len(asked) < maxAsked {
					seen[term] = true
					asked = append(asked, term)
				}
			}
		}
	}
	return asked
}

// run is a word, or a sequence of characters of scripts without spaces.
type run struct {
	text     string
	unspaced bool
}

// runs yields the runs of a text in Slack's mrkdwn.
func runs(text string) func(yield func(run) bool) {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	text = strings.ToLower(norm.NFKC.String(plain(text)))
	return func(yield func(run) bool) {
		begin, unspaced := -1, false
		end := func(at int) bool {
			if begin < 0 {
				return true
			}
			r := run{text[begin:at], unspaced}
			begin = -1
			return yield(r)
		}
		var before rune
		for at, r := range text {
			switch {
			case withoutSpaces(r):
				if begin >= 0 && !unspaced && !end(at) {
					return
				}
				if begin < 0 {
					begin, unspaced = at, true
				}
			case begin >= 0 && (unicode.IsMark(r) || !unspaced && joins(r, before, text[at:])):
			case unicode.IsLetter(r) || unicode.IsNumber(r):
				if begin >= 0 && unspaced && !end(at) {
					return
				}
				if begin < 0 {
					begin, unspaced = at, false
				}
			default:
				if !end(at) {
					return
				}
			}
			before = r
		}
		end(len(text))
	}
}

// joins reports whether a character between two others of a word belongs to it: an apostrophe, and
// the dots of a number. rest begins with it.
func joins(r, before rune, rest string) bool {
	return r == '\'' || r == '’' || r == '.' && unicode.IsDigit(before) && len(rest) > 1 && '0' <= rest[1] &&
		rest[1] <= '9'
}

// withoutSpaces reports whether a character's script is cut into pairs. Korean has spaces, but its
// words end in particles. The long vowel of Katakana belongs to no script.
func withoutSpaces(r rune) bool {
	return r == 'ー' || r >= 'ก' && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// indexed is the terms of a run in a message. The last character stands alone, too: together with
// the pairs that begin with it, a query of one character finds it wherever it stands.
func (r run) indexed() []string {
	if !r.unspaced {
		return r.word()
	}
	runes := []rune(r.text)
	found := pairs(runes)
	if last := runes[len(runes)-1]; !unicode.Is(unicode.Hiragana, last) {
		found = append(found, string(last))
	}
	return found
}

// asked is the terms of a run in a query.
func (r run) asked() (asked []Term) {
	found := r.indexed()
	if r.unspaced {
		if runes := []rune(r.text); len(runes) > 1 {
			found = pairs(runes)
		}
	}
	for _, text := range found {
		asked = append(asked, Term{Text: text, Prefix: r.unspaced && len([]rune(text)) == 1})
	}
	return asked
}

func pairs(runes []rune) (found []string) {
	for i := range len(runes) - 1 {
		if pair := string(runes[i : i+2]); !commonPairs[pair] {
			found = append(found, pair)
		}
	}
	return found
}

// word is the term of a word; none if everybody uses it, or if it has only one character.
func (r run) word() []string {
	word := strings.ReplaceAll(r.text, "’", "'")
	word = strings.ReplaceAll(strings.TrimSuffix(strings.TrimRight(word, "'"), "'s"), "'", "")
	if first, _ := firstRune(word); unicode.Is(unicode.Latin, first) {
		word = withoutAccents(word)
	}
	if runes := []rune(word); len(runes) > maxLength {
		word = string(runes[:maxLength])
	} else if len(runes) < 2 {
		return nil
	}
	if commonWords[word] {
		return nil
	}
	if onlyASCIILetters(word) {
		word = english.Stem(word, true)
	}
	return []string{word}
}

func firstRune(s string) (rune, bool) {
	for _, r := range s {
		return r, true
	}
	return 0, false
}

func withoutAccents(word string) string {
	if onlyASCIILetters(word) {
		return word
	}
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(word)))
}

func onlyASCIILetters(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

var (
	inBrackets = regexp.MustCompile(`<([^<>]*)>`)
	unescaped  = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")
)

// plain is a text in mrkdwn without its markup: a link is its label and its host, a channel its
// label. Mentions of people are dropped: names change, and people may have to be forgotten.
func plain(text string) string {
	text = inBrackets.ReplaceAllStringFunc(text, func(element string) string {
		target, label, _ := strings.Cut(element[1:len(element)-1], "|")
		if strings.HasPrefix(target, "@") {
			return " "
		}
		if target == "" || target[0] == '#' || target[0] == '!' {
			return " " + label + " "
		}
		host := ""
		if u, err := url.Parse(target); err == nil {
			host = u.Hostname()
		}
		if host == "" && label == "" {
			label = target // an address of mail, or no link at all
		}
		return " " + label + " " + host + " "
	})
	return unescaped.Replace(text)
}
