package eval

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"myao/internal/store"
)

// knownNames finds the names of people, apps and channels in texts, by their first two characters.
type knownNames map[[2]rune][]knownName

// knownName is a display name, a part of one, or the name of a channel.
type knownName struct {
	text []rune // folded
	user string // id, or
	// channel is the id of a channel.
	channel string
	part    bool
}

// newKnownNames knows everybody but the bot, and the channels whose names are no ordinary words.
func newKnownNames(users []store.User, bot string, channels []store.Channel) knownNames {
	k := knownNames{}
	for _, u := range users {
		if u.ID == bot {
			continue
		}
		k.add(knownName{text: foldName(u.Name), user: u.ID})
		if !u.Bot {
			for _, part := range partsOf(u.Name) {
				k.add(knownName{text: foldName(part), user: u.ID, part: true})
			}
		}
	}
	for _, c := range channels {
		if strings.ContainsAny(c.Name, "-_") {
			k.add(knownName{text: foldName(c.Name), channel: c.ID})
		}
	}
	for _, of := range k {
		slices.SortStableFunc(of, func(a, b knownName) int { return len(b.text) - len(a.text) })
	}
	return k
}

func (k knownNames) add(n knownName) {
	if len(n.text) > 1 {
		key := [2]rune(n.text)
		k[key] = append(k[key], n)
	}
}

// has reports whether a word is a known name.
func (k knownNames) has(word string) bool {
	text := foldName(word)
	return len(text) > 1 && slices.ContainsFunc(k[[2]rune(text)],
		func(n knownName) bool { return slices.Equal(n.text, text) })
}

// at returns the longest name that begins at an index of a text, in both forms, and where it ends; first is its
// length, 0 for none. Of several people of that name it is one for whom here is set. A part of a name is found in
// lower case only for those: it may be an ordinary word.
func (k knownNames) at(text, folded []rune, i int, here map[string]bool) (n knownName, length int) {
	if i+1 >= len(folded) || i > 0 && joined(text[i-1], text[i]) {
		return knownName{}, 0
	}
	for _, c := range k[[2]rune(folded[i:i+2])] {
		end := i + len(c.text)
		switch {
		case len(c.text) < length:
			return n, length
		case end > len(folded) || !slices.Equal(folded[i:end], c.text) || end < len(text) &&
			joined(text[end-1], text[end]):
		case i > 0 && all(c.text, unicode.Hiragana) && unicode.Is(unicode.Hiragana, text[i-1]):
			// the end of another word
		case c.part && unicode.IsLower(text[i]) && !here[c.user]:
		case length == 0 || here[c.user] && !here[n.user]:
			n, length = c, len(c.text)
		}
	}
	return n, length
}

var inBrackets = regexp.MustCompile(`[(（\[【「].*?[)）\]】」]`)

// partsOf are the parts of a display name by which people may be called. A Japanese name has no spaces, so each
// beginning and end of it is one.
func partsOf(name string) (parts []string) {
	words := strings.FieldsFunc(inBrackets.ReplaceAllString(name, " "),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for _, word := range words {
		runes := []rune(word)
		switch {
		case all(runes, unicode.Han):
			for i := 2; i <= len(runes); i++ {
				parts = append(parts, string(runes[:i]), string(runes[len(runes)-i:]))
			}
		case len(runes) > 2 || len(runes) == 2 && unicode.In(runes[0], japanese...):
			parts = append(parts, word)
		}
	}
	return parts
}

var japanese = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}

func all(text []rune, of ...*unicode.RangeTable) bool {
	return !slices.ContainsFunc(text, func(r rune) bool { return !unicode.In(r, of...) })
}

// joined reports whether two characters in a row are of one word, as far as writing tells: Japanese has no spaces.
func joined(a, b rune) bool {
	inWord := func(r rune) bool {
		return (unicode.IsLetter(r) || unicode.IsNumber(r)) && !unicode.In(r, japanese...)
	}
	return inWord(a) && inWord(b)
}

// foldName makes names comparable, character by character: in lower case, and ASCII for its full-width forms.
func foldName(s string) []rune {
	out := []rune(s)
	for i, r := range out {
		if r >= '！' && r <= '～' {
			r -= '！' - '!'
		}
		out[i] = unicode.ToLower(r)
	}
	return out
}
