package demo

import (
	"regexp"
	"strings"
)

var (
	// trailing matches what may follow the end of a sentence: punctuation, emoji, and in
	// Japanese an aside in brackets or a long vowel mark.
	trailing = regexp.MustCompile(`(?::[\w+-]+:|（[^（）]*）|ー|[^\pL\pN?？])+$`)
	// japaneseQuestion matches the end of a Japanese question without a question mark.
	japaneseQuestion = regexp.MustCompile(`(?:(?:です|ます|でした|ました|ません|でしょう|ましょう)か[ねぇ]*|っけ)$`)
	// acknowledgement matches a Japanese acknowledgement, which has the form of a question.
	acknowledgement = regexp.MustCompile(`(?:^|[、。，．！!\s])そう(?:なん|だったん)?(?:です|でした)か[ねぇ]*$`)
	// helpPattern matches a request for help, thanksPattern thanks for it.
	helpPattern   = regexp.MustCompile(`(?i)\bhelp\b|困|教えて|助けて|(?:誰|だれ|どなた)か(?:[^がのにとをはも]|$)`)
	thanksPattern = regexp.MustCompile(`(?i)\bthank|ありがと[うー]|助かりました|助かった`)
	sentence      = regexp.MustCompile(`[^。！？.!?\n]+`)
)

// endsInQuestion reports whether a text ends in a question. A Japanese one may lack its mark.
func endsInQuestion(text string) bool {
	text = trailing.ReplaceAllString(text, "")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || japaneseQuestion.MatchString(text) && !acknowledgement.MatchString(text)
}

// asksForHelp reports whether a sentence of the text asks for help, rather than gives thanks
// for it.
func asksForHelp(text string) bool {
	for _, s := range sentence.FindAllString(text, -1) {
		if helpPattern.MatchString(s) && !thanksPattern.MatchString(s) {
			return true
		}
	}
	return false
}
