package words

import (
	"regexp"
	"slices"
	"testing"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// A translation has the same verbs and the same code as the English sentence.
func TestTranslationsKeepVerbsAndCode(t *testing.T) {
	t.Parallel()
	verb := regexp.MustCompile(`%(?:\[(\d)\])?(\.?\d*[a-z])`)
	verbs := func(s string) []string {
		var all []string
		for i, v := range verb.FindAllStringSubmatch(s, -1) {
			at := v[1]
			if at == "" {
				at = string(rune('1' + i))
			}
			all = append(all, at+v[2])
		}
		slices.Sort(all)
		return all
	}
	code := regexp.MustCompile("`[^`]*`")
	for language, words := range languages {
		for english, translation := range words {
			if !slices.Equal(verbs(english), verbs(translation)) {
				t.Errorf("%s: %q has %q, and %q has %q", language, english, verbs(english), translation, verbs(translation))
			}
			has := code.FindAllString(translation, -1)
			for _, span := range code.FindAllString(english, -1) {
				if !slices.Contains(has, span) {
					t.Errorf("%s: %q lacks %s", language, translation, span)
				}
			}
		}
	}
}

func TestSay(t *testing.T) {
	t.Parallel()
	for language, want := range map[chat.Language]string{
		chat.English: "2 of 5 model calls", chat.Japanese: "モデルの呼び出し 5 回中 2 回", "tlh": "2 of 5 model calls",
	} {
		if got := In(language).Say("%d of %d model calls", 2, 5); got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
	if got := In(chat.Japanese).Of("100%d of a model's reason"); got != "100%d of a model's reason" {
		t.Errorf("a sentence without a translation becomes %q", got)
	}
}

func TestReasonsOfRulesAreTranslated(t *testing.T) {
	t.Parallel()
	for language, words := range languages {
		for _, reason := range []string{conversation.ReasonModeOffInSlack, conversation.ReasonModeMentionInSlack, conversation.ReasonMutedEverywhere, conversation.ReasonChannelBudget, conversation.ReasonWorkspaceBudget} {
			if words[reason] == "" {
				t.Errorf("%s has no %q", language, reason)
			}
		}
		for _, rule := range conversation.Rules() {
			if words[rule.Reason()] == "" {
				t.Errorf("%s has no reason for rule %s", language, rule)
			}
		}
	}
}
