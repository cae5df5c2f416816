package phrases

import (
	"slices"
	"strings"
	"unicode"

	"myao/internal/chat"
)

// StopWord reports whether a message tells the bot to stop and says nothing else: a word of a short
// list, perhaps with a mention of the bot, emoji, punctuation and a polite word. bot is the bot's
// user id.
func StopWord(m chat.Message, bot string) bool {
	if len(m.Files) > 0 || MentionsOther(m.Text, bot) {
		return false
	}
	rest := fold(emojiPattern.ReplaceAllString(mentionPattern.ReplaceAllString(m.Text, " "), " "))
	told := false
	for {
		rest = strings.TrimLeftFunc(rest, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '?' && !unicode.Is(unicode.Sc, r) || r == 'ー' ||
				r == '〜'
		})
		if rest == "" {
			return told
		}
		word := prefix(rest, stopWords)
		if word == "" {
			return false
		}
		told = told || !slices.Contains(politeWords, word)
		rest = rest[len(word):]
	}
}

// politeWords may stand beside a stop word, and are none alone.
var politeWords = []string{
	"please", "pls", "plz", "now", "ok", "okay", "thanks", "thank you", "thx", "sorry", "oh", "hey", "actually", "wait",
	"it", "that", "this", "here",
	"ください", "下さい", "くれ", "お願いします", "おねがいします", "お願い", "ごめんなさい", "ごめん", "すみません", "すいません",
	"やっぱり", "やっぱ", "もう", "はい", "です", "だよ", "ね", "よ", "な", "わ", "っ",
}

// stopWords are the words that stop, and the polite ones, longest first where one begins another.
var stopWords = func() []string {
	all := slices.Concat([]string{
		"stop", "stop it", "stop that", "stop this", "stop now", "stop looking", "stop searching", "stop writing",
		"stop answering",
		"cancel", "abort", "never mind", "nevermind", "nvm", "forget it", "forget that", "don't bother", "dont bother",
		"don’t bother", "no need anymore",
		"止めて", "止めろ", "とめて", "やめて", "やめろ", "やめよう", "やめ", "ストップ", "停止して", "停止", "中止して", "中止で", "中止", "中断して", "中断",
		"キャンセルして", "キャンセルで", "キャンセル", "取り消して", "取り消し", "取消",
		"もういい", "もう結構", "もう大丈夫", "やっぱりいい", "やっぱいい", "やっぱりいらない", "なんでもない", "何でもない", "なんでもありません", "何でもありません",
	}, politeWords)
	for i, w := range all {
		all[i] = fold(w)
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}()
