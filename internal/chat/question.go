package chat

import (
	"regexp"
	"strings"
)

var (
	// trailer may stand behind the end of a sentence: punctuation, emoji, and in Japanese an aside
	// in brackets or a drawn-out vowel.
	trailer = regexp.MustCompile(`(?::[\w+-]+:|（[^（）]*）|ー|[^\pL\pN?？])+$`)
	// unmarked ends a question that Japanese writes without a question mark.
	unmarked = regexp.MustCompile(`(?:(?:です|ます|でした|ました|ません|でしょう|ましょう)か[ねぇ]*|っけ)$`)
	// takenNote is how Japanese takes note of something, in the form of a question.
	takenNote = regexp.MustCompile(`(?:^|[、。，．！!\s])そう(?:なん|だったん)?(?:です|でした)か[ねぇ]*$`)
)

// AsksQuestion reports whether a text ends in a question, in Japanese with or without its mark.
func AsksQuestion(text string) bool {
	text = trailer.ReplaceAllString(text, "")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || unmarked.MatchString(text) &&
		!takenNote.MatchString(text)
}
