package chat

import "testing"

func TestParseReaction(t *testing.T) {
	for answer, want := range map[string]string{
		"react: +1":                     "+1",
		"react: :+1:":                   "+1",
		"react:thumbsup":                "+1",
		" React: :THUMBSUP:\n":          "+1",
		"react: :+1::skin-tone-4:":      "+1",
		"react: 👍🏽":                     "+1",
		"react: ❤":                      "heart",
		"`react: tada`":                 "tada",
		"```\nreact: ok_hand\n```":      "ok_hand",
		"react: `pray`":                 "pray",
		"react: +1, you are welcome":    "",
		"react: +1\nYou are welcome.":   "",
		"react: +1 react: heart":        "",
		"You are welcome.\nreact: +1":   "",
		"react: :+1: :heart:":           "",
		"react: :+1::skin-tone-4:heart": "",
		"react: white_check_mark":       "", // it would claim that something is done
		"react: middle_finger":          "",
		"react: ":                       "",
		"react:":                        "",
		"react":                         "",
		"reaction: +1":                  "",
		"":                              "",
		":+1:":                          "",
	} {
		if got := ParseReaction(answer); got != want {
			t.Errorf("%q is the reaction %q, want %q", answer, got, want)
		}
	}
	for _, name := range AnswerReactions() {
		if character := EmojiCharacter(name); character == "" || ParseReaction("react: "+character) != name {
			t.Errorf("%s has the character %q", name, character)
		}
	}
}
