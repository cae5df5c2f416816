package demo

import (
	"regexp"
	"strings"
)

var (
	// trailer is what may stand behind the end of a sentence: punctuation, emoji, and in
	// Japanese an aside in brackets or a drawn-out vowel.
	trailer = regexp.MustCompile(`(?::[\w+-]+:|（[^（）]*）|ー|[^\pL\pN?？])+$`)
	// questioning ends a question that Japanese writes without a question mark.
	questioning = regexp.MustCompile(`(?:(?:です|ます|でした|ました|ません|でしょう|ましょう)か[ねぇ]*|っけ)$`)
	// heard is how Japanese takes note of something, in the form of a question.
	heard = regexp.MustCompile(`(?:^|[、。，．！!\s])そう(?:なん|だったん)?(?:です|でした)か[ねぇ]*$`)
	// asking are words of somebody who wants something, thanking those of who has got it.
	asking   = regexp.MustCompile(`(?i)\bhelp\b|困|教えて|助けて|(?:誰|だれ|どなた)か(?:[^がのにとをはも]|$)`)
	thanking = regexp.MustCompile(`(?i)\bthank|ありがと[うー]|助かりました|助かった`)
	sentence = regexp.MustCompile(`[^。！？.!?\n]+`)
)

// endsInQuestion reports whether a text ends in a question, in Japanese with or without its mark.
func endsInQuestion(text string) bool {
	text = trailer.ReplaceAllString(text, "")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || questioning.MatchString(text) && !heard.MatchString(text)
}

// asksForHelp reports whether a sentence of a text does, and not in order to say thanks for it.
func asksForHelp(text string) bool {
	for _, s := range sentence.FindAllString(text, -1) {
		if asking.MatchString(s) && !thanking.MatchString(s) {
			return true
		}
	}
	return false
}
