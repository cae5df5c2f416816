package chat

import "testing"

func TestAsksQuestion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"When is lunch?":           true,
		"lunch wa itsu？ \n":        true,
		"Is it?\nNever mind.":      false,
		"First line\nsecond: why?": true,
		"When is lunch? :pray:":    true,
		"Really?!":                 true,
		"お昼は何時からですか":               true,
		"この手順で合っていますか。":            true,
		"もう一度送ってもらえませんか〜":          true,
		"明日の定例、何時からでしたっけ":          true,
		"これで行けますかね":                true,
		"これで大丈夫そうですか":              true,
		"いつですか？🙏":                  true,
		"いつですか？（汗）":                true,
		"I need help with this":    false,
		"困りました。":                   false,
		"了解です":                     false,
		"承知しました。":                  false,
		"なるほど、そうですか":               false,
		"そうなんですか〜":                 false,
		"誰かが鍵を閉めたようです":             false,
		"Good morning.":            false,
		"":                         false,
	} {
		if got := AsksQuestion(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

func TestHasQuestion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"When is lunch? I would like to book a table.":    true,
		"Does anybody know how the printer is reset":      true,
		"hi all, can someone look at staging. thanks":     true,
		"The build is red. Any idea why":                  true,
		"I was wondering whether we still need this":      true,
		"どこにありますか。急ぎではないです":                               true,
		"リセットの手順を教えてください！":                                true,
		"いつでしたっけ\nメモが見つからなくて":                             true,
		"これで合ってる？ 違ったら直します":                               true,
		"なるほど、そうですか。了解です":                                 false,
		"See <https://example.com/a?b=1> and `x ? y : z`": false,
		"> where is it?\nIn the drawer.":                  false,
		"what a day!":                                     false,
		"??":                                              false,
		"Did the deploy. All is well when it is green.":   false,
		"教えてもらったとおりに直しました。":                               false,
	} {
		if got := HasQuestion(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}
