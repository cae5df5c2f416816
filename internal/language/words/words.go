// Package words translates what the bot says in Slack without a model.
package words

import (
	"fmt"

	"myao/internal/chat"
)

// Words maps English sentences to those of another language. A sentence may contain verbs of
// package fmt; a translation numbers them if it needs another order.
type Words map[string]string

// In returns the words of a language. It returns none for English and for unknown languages,
// which leaves every sentence in English.
func In(l chat.Language) Words { return languages[l] }

// languages holds every language except English.
var languages = map[chat.Language]Words{chat.Japanese: japanese}

// Of translates a sentence. It returns a sentence without a translation as it is.
func (w Words) Of(sentence string) string {
	if translation, ok := w[sentence]; ok {
		return translation
	}
	return sentence
}

// Say translates a sentence and fills in its verbs.
func (w Words) Say(sentence string, args ...any) string { return fmt.Sprintf(w.Of(sentence), args...) }
