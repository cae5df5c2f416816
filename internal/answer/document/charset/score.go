package charset

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// symbols are what people write beside letters.
const symbols = "€£¥§©®°±²³·«»¿¡–—‘’‚“”„•…™×½¼¾µºª№"

// kind is what a character is, as far as its neighbours matter.
type kind int

const (
	other      kind = iota // a space, a digit, a mark, the beginning or the end
	letter                 // of ASCII
	accented               // another letter of Latin script
	cyrillic               // or Greek
	syllable               // kana, hangul
	ideograph              // han
	halfwidth              // katakana
	symbol                 // beyond ASCII
	foreign                // a letter of a script without an alphabet here
	impossible             // what no text has
)

func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r|0x20 && r|0x20 <= 'z' {
			return letter
		}
		return other
	case r == utf8.RuneError || r < 0xA0 || unicode.Is(unicode.Co, r),
		!unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r):
		return impossible
	case strings.ContainsRune(symbols, r), r >= 0xFF01 && r <= 0xFF60: // the wide forms of East Asia
		return symbol
	case unicode.Is(unicode.Han, r):
		return ideograph
	case r >= 0xFF61 && r <= 0xFF9F:
		return halfwidth
	case r >= 0x3041 && r <= 0x30FF || unicode.Is(unicode.Hangul, r):
		return syllable
	case unicode.Is(unicode.Cyrillic, r) || unicode.Is(unicode.Greek, r):
		return cyrillic
	case unicode.Is(unicode.Latin, r):
		return accented
	case unicode.IsLetter(r):
		return foreign
	}
	return symbol
}

// alphabetic reports whether a word is written with it.
func (k kind) alphabetic() bool { return k == letter || k == accented || k == cyrillic }

func (k kind) eastAsian() bool { return k == syllable || k == ideograph || k == halfwidth }

// score says how much a text looks like one that somebody wrote. What only a wrong encoding brings forth counts against
// it, and what is ASCII for nothing. A usual letter of one byte counts for 3, a usual character of two bytes for 6. The
// other weights were found by trying short texts of 24 languages.
func score(text string, writes language) int {
	s := scorer{writes: writes}
	before, at := rune(' '), rune(' ')
	for _, next := range text + " " {
		if at >= utf8.RuneSelf {
			s.character(before, at, next)
		}
		before, at = at, next
	}
	return s.sum()
}

// scorer sums up what is found of each language.
type scorer struct {
	// writes are the languages without an alphabet that the encoding is made for.
	writes  language
	general int
	// alphabetic has an entry for each of alphabets.
	alphabetic [64]int
	// ideographic has ja, hans, hant and ko.
	ideographic [4]int
	// run is how many accented letters came before, side by side.
	run int
}

func (s *scorer) sum() int {
	best := s.alphabetic[0]
	for i := range alphabets {
		best = max(best, s.alphabetic[i])
	}
	most, found := 0, false
	for i, n := range s.ideographic {
		if s.writes&(1<<i) != 0 && (!found || n > most) {
			most, found = n, true
		}
	}
	return s.general + best + most
}

func (s *scorer) character(before, r, after rune) {
	k, left, right := kindOf(r), kindOf(before), kindOf(after)
	if k != accented || left != accented {
		s.run = 0
	}
	switch k {
	case impossible:
		s.general -= 8
	case symbol:
		s.general += ofSymbol(r, left, right)
	case accented, cyrillic:
		s.letter(k, r, before, after, left, right)
	case halfwidth:
		switch {
		case left == letter || right == letter || left == accented || right == accented:
			s.general -= 4
		case left != halfwidth && right != halfwidth:
			s.general -= 2
		default:
			s.general++
		}
	case syllable, ideograph:
		s.ideograph(k, before, r, left, right)
	case other, letter, foreign:
	}
}

// ofSymbol is the score of a symbol by its place.
func ofSymbol(r rune, left, right kind) int {
	within := left.alphabetic() && right.alphabetic()
	switch {
	case r == 0xA0 || unicode.Is(unicode.Cf, r):
		return 0
	case within && (r == '’' || r == '·'):
		return 4
	case r == '¿' || r == '¡':
		if right.alphabetic() && !left.alphabetic() {
			return 2
		}
		return -5
	case within && r >= 0x3000 && r <= 0x303F:
		return -6
	case r >= 0xFF01 && r <= 0xFF60: // a wide form
		return 4
	case r >= 0x3000 && r <= 0x303F: // of East Asia
		return 2
	case r >= 0x2460 && r <= 0x24FF, r >= 0x3200 && r <= 0x33FF: // ① and ㈱
		return 2
	case !within && (r >= 0x2190 && r <= 0x21FF || r >= 0x25A0 && r <= 0x26FF || r == '※'): // arrows and figures
		return 2
	case !within && r >= 0x2500 && r <= 0x257F: // frames
		return -2
	case !strings.ContainsRune(symbols, r):
		return -5
	case within && r != '–' && r != '—':
		return -6
	case (r == '²' || r == '³') && left == symbol:
		return -3
	case strings.ContainsRune("²³½¼¾±©®£¥€", r) && right.alphabetic(),
		strings.ContainsRune("©£¥", r) && left.alphabetic():
		return -3
	case strings.ContainsRune("½¼¾", r):
		return 2
	}
	return 1
}

// letter counts a letter of an alphabet for the languages that have it.
func (s *scorer) letter(k kind, r, before, after rune, left, right kind) {
	switch {
	case k == cyrillic && (left == letter || left == accented || right == letter || right == accented):
		s.general -= 5
	case unicode.IsUpper(r) && left.alphabetic() && unicode.IsLower(before):
		s.general -= 6
	case unicode.IsLower(r) && unicode.IsUpper(before) && unicode.IsUpper(after):
		s.general -= 3
	}
	if left.eastAsian() || right.eastAsian() {
		s.general -= 3
	}
	if k == accented {
		if left == accented {
			s.run++
			s.general -= min(2*s.run-1, 5)
		}
		if !left.alphabetic() && !right.alphabetic() {
			s.general -= 2
		}
	}
	worth := 3
	if k == cyrillic {
		worth = 1
		if strings.ContainsRune(frequent, unicode.ToLower(r)) {
			worth = 3
		}
		if left == cyrillic && vowel(before) != vowel(r) {
			s.general++
		}
	}
	if misplaced(unicode.ToLower(before), unicode.ToLower(r), unicode.ToLower(after), right) {
		s.general -= 4
	}
	if strings.ContainsRune(seldom, unicode.ToLower(r)) {
		worth--
	}
	if unicode.IsUpper(r) && left.alphabetic() {
		worth-- // few texts are in capitals
	}
	in := spelling()[unicode.ToLower(r)]
	elsewhere := 4
	if k == accented && in != 0 {
		elsewhere = 1 // as in names of other countries
	}
	for i := range alphabets {
		if in&(1<<i) != 0 {
			s.alphabetic[i] += worth
		} else {
			s.alphabetic[i] -= elsewhere
		}
	}
}

// ofHangul is the score of a syllable: those with a plain vowel and no end, or a plain one, make up most texts.
func ofHangul(r rune) int {
	const first, ends, vowels = 0xAC00, 28, 21
	end, middle := (r-first)%ends, (r-first)/ends%vowels
	plain := strings.ContainsRune("\x00\x01\x04\x05\x06\x08\x0c\x0d\x12\x14", middle)
	switch {
	case plain && end == 0:
		return 6
	case plain && strings.ContainsRune("\x01\x04\x08\x10\x11\x13\x15", end):
		return 5
	}
	return 3
}

// misplaced reports whether no language has a letter of Latin script beside its neighbours.
func misplaced(before, r, after rune, right kind) bool {
	switch r {
	case 'ñ':
		return !strings.ContainsRune("aeiouáéíóúü", after)
	case 'è':
		return before == 'a' || vowel(after)
	case 'ì', 'ù':
		return right.alphabetic()
	case 'œ':
		return !strings.ContainsRune("uidetnsc", after) || strings.ContainsRune("aeiou", before)
	}
	return false
}

// vowel reports whether a letter is one.
func vowel(r rune) bool {
	return strings.ContainsRune("aeiouáéíóúаеёиоуыэюяіїєαεηιουωάέήίόύώ", unicode.ToLower(r))
}

// ideograph counts a character of two bytes for the languages that write it.
func (s *scorer) ideograph(k kind, before, r rune, left, right kind) {
	if left < syllable && right < syllable { // one alone, beside letters of ASCII: they were one word
		switch {
		case left == letter && unicode.IsUpper(before): // as in B案
			s.general--
		case left == letter:
			s.general -= 5
		}
		if right == letter {
			s.general -= 5
		}
	}
	if left != syllable && strings.ContainsRune("ぁぃぅぇぉっゃゅょァィゥェォッャュョー", r) {
		s.general -= 8
	}
	kana := r >= 0x3041 && r <= 0x30FF
	w := characters()[r]
	for i := range s.ideographic {
		l := language(1) << i
		switch {
		case kana && l == ja:
			s.ideographic[i] += 6
		case k == syllable && w.known&l == ko:
			s.ideographic[i] += ofHangul(r)
		case w.common&l != 0:
			s.ideographic[i] += 6
		case w.known&l != 0:
			s.ideographic[i] += 3
		default:
			s.ideographic[i] -= 4
		}
	}
}
