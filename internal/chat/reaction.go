package chat

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
)

// Reaction is an emoji that somebody has put under a message.
type Reaction struct {
	// Name is Slack's name of the emoji, without colons: "eyes", "+1::skin-tone-2".
	Name   string
	UserID string
	// User is the display name, or the id where no name is known.
	User string
}

// answers are the emoji that may stand for an answer. None of them says that a matter is seen to, as
// :eyes: and :white_check_mark: do.
var answers = []struct{ name, character string }{
	{"+1", "👍"}, {"ok_hand", "👌"}, {"heart", "❤️"}, {"tada", "🎉"}, {"pray", "🙏"}, {"bow", "🙇"}, {"wave", "👋"},
	{"smile", "😄"},
}

// AnswerReactions are Slack's names of the emoji that may stand for an answer.
func AnswerReactions() []string {
	names := make([]string, len(answers))
	for i, a := range answers {
		names[i] = a.name
	}
	return names
}

// EmojiCharacter is the character of one of AnswerReactions; "" for any other name.
func EmojiCharacter(name string) string {
	for _, a := range answers {
		if a.name == name {
			return a.character
		}
	}
	return ""
}

// otherNames are second names that Slack has for emoji.
var otherNames = map[string]string{
	"thumbsup": "+1", "thumbsdown": "-1", "hand": "raised_hand", "punch": "facepunch", "pencil": "memo",
	"collision": "boom", "satisfied": "laughing", "running": "runner", "heavy_exclamation_mark": "exclamation",
	"envelope": "email", "telephone": "phone", "honeybee": "bee", "poop": "hankey", "open_book": "book",
}

// EmojiName is one name for all that Slack has for an emoji, without colons.
func EmojiName(name string) string {
	return cmp.Or(otherNames[name], name)
}

// reactionLine matches an answer that is nothing but a reaction, perhaps in a fence, with colons and a
// skin tone.
var reactionLine = regexp.MustCompile("^[\\s`]*(?i:react):[\\s`]*:?([^\\s:`]+):?(?::skin-tone-[2-6]:)?[\\s`]*$")

// ParseReaction reads an answer that is nothing but "react: NAME". It returns one of AnswerReactions, or
// "" for any other answer.
func ParseReaction(answer string) string {
	found := reactionLine.FindStringSubmatch(answer)
	if found == nil {
		return ""
	}
	name := EmojiName(strings.ToLower(found[1]))
	for _, a := range answers {
		if name == a.name || bare(name) == bare(a.character) {
			return a.name
		}
	}
	return ""
}

// bare is an emoji without the characters for its skin tone and its presentation.
func bare(emoji string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x1f3fb && r <= 0x1f3ff || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, emoji)
}
