package words

import (
	"regexp"
	"slices"
	"testing"

	"myao/internal/config"
	"myao/internal/conversation"
)

// What a sentence is filled with, and what is to be typed as it stands, is the same in each language.
func TestTranslationsSayTheSame(t *testing.T) {
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
		for english, own := range words {
			if !slices.Equal(verbs(english), verbs(own)) {
				t.Errorf("%s: %q has %q, and %q has %q", language, english, verbs(english), own, verbs(own))
			}
			has := code.FindAllString(own, -1)
			for _, span := range code.FindAllString(english, -1) {
				if !slices.Contains(has, span) {
					t.Errorf("%s: %q lacks %s", language, own, span)
				}
			}
		}
	}
}

func TestSay(t *testing.T) {
	t.Parallel()
	for language, want := range map[config.Language]string{
		config.English: "2 of 5 calls", config.Japanese: "呼び出し 5 回中 2 回", "tlh": "2 of 5 calls",
	} {
		if got := In(language).Say("%d of %d calls", 2, 5); got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
	if got := In(config.Japanese).Of("100%d of a model's reason"); got != "100%d of a model's reason" {
		t.Errorf("what has no translation is %q", got)
	}
}

func TestEachRuleHasItsReason(t *testing.T) {
	t.Parallel()
	for language, words := range languages {
		for _, rule := range conversation.Rules() {
			if words[rule.Reason()] == "" {
				t.Errorf("%s: %s", language, rule)
			}
		}
	}
}
