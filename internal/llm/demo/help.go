package demo

import "regexp"

var (
	// helpPattern matches a request for help, thanksPattern thanks for it.
	helpPattern   = regexp.MustCompile(`(?i)\bhelp\b|困|教えて|助けて|(?:誰|だれ|どなた)か(?:[^がのにとをはも]|$)`)
	thanksPattern = regexp.MustCompile(`(?i)\bthank|ありがと[うー]|助かりました|助かった`)
	// bareThanks matches a text that is nothing but thanks, with or without a mention.
	bareThanks = regexp.MustCompile(`(?i)^(?:@\S+[\s,、]*)?(?:thank you|thanks|thx|ありがとう(?:ございま(?:す|した))?|助かりました)(?: so much| a lot| very much)?[\s,、]*(?:@\S+)?[\s!.！。]*$`)
	sentence   = regexp.MustCompile(`[^。！？.!?\n]+`)
)

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
