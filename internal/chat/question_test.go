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
