package chat

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
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

var (
	// quoted is what may hold question marks that ask nothing: code, links, and lines that quote somebody.
	quoted = regexp.MustCompile("(?m)```[^`]*```|`[^`\n]*`|<[^<>\n]*>|https?://\\S+|^(?:>|&gt;).*$")
	// sentenceEnd ends a sentence, or a line.
	sentenceEnd = regexp.MustCompile(`[?？]+|[。．！!\n]+|\.(?:\s|$)`)
	// asking are the forms of sentences that ask without a question mark.
	asking = []*regexp.Regexp{
		regexp.MustCompile(`(?i)^(?:(?:hi|hey|hello|so|and|but|also|sorry|please)\b[\s,]*(?:all|there)?[\s,]*)*(?:` +
			`(?:do|does|did|can|could|would|will|has|have|is|are|was|were|should|may) ` +
			`(?:you|we|i|it|he|she|they|there|this|that|(?:any|some)(?:one|body))\b|any(?:one|body) |any ideas?\b|` +
			`(?:who|what|where|when|why|which|how)(?:'s| (?:is|are|was|were|do|does|did|can|could|should|would|will|has|` +
			`have|of|to|many|much|long|often|come)\b))`),
		regexp.MustCompile(`(?i)\bwonder(?:ing)? (?:if|whether|how|what|where|which|who|why|when)\b`),
		regexp.MustCompile(`(?:(?:です|ます|でした|ました|ません|でしょう|ましょう|だろう)か|っけ|かしら|` +
			`教えて(?:ください|下さい|もらえ.*|ほしいです)?)[ねぇよ]*$`),
	}
)

// HasQuestion reports whether a text asks something anywhere, in English or Japanese, with or without a question mark.
// What it quotes asks nothing.
func HasQuestion(text string) bool {
	text = quoted.ReplaceAllString(text, " ")
	for text != "" {
		sentence, rest, end := text, "", ""
		if at := sentenceEnd.FindStringIndex(text); at != nil {
			sentence, end, rest = text[:at[0]], text[at[0]:at[1]], text[at[1]:]
		}
		marked := strings.ContainsAny(end, "?？") && strings.ContainsFunc(sentence, unicode.IsLetter)
		sentence = trailer.ReplaceAllString(strings.TrimSpace(sentence), "")
		if marked || !takenNote.MatchString(sentence) &&
			slices.ContainsFunc(asking, func(form *regexp.Regexp) bool { return form.MatchString(sentence) }) {
			return true
		}
		text = rest
	}
	return false
}

// AsksQuestion reports whether a text ends in a question, in Japanese with or without its mark.
func AsksQuestion(text string) bool {
	text = trailer.ReplaceAllString(text, "")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || unmarked.MatchString(text) &&
		!takenNote.MatchString(text)
}
