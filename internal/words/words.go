// Package words has what the bot says of itself in Slack without a model, in the languages
// of its prompts.
package words

import (
	"fmt"

	"myao/internal/config"
)

// Words has sentences in a language by what they are in English. A sentence may have verbs
// of package fmt; where the order is another one, the translation numbers them.
type Words map[string]string

// In is the words of a language; of English, and of any that is not known, the English ones.
func In(l config.Language) Words { return languages[l] }

// languages is every language but English.
var languages = map[config.Language]Words{config.Japanese: japanese}

// Of is a sentence in the language, as it is where there is no other.
func (w Words) Of(sentence string) string {
	if own, ok := w[sentence]; ok {
		return own
	}
	return sentence
}

// Say is a sentence in the language with its verbs filled in.
func (w Words) Say(sentence string, args ...any) string { return fmt.Sprintf(w.Of(sentence), args...) }
