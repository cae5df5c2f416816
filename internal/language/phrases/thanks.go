package phrases

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// thanks are phrases that want no answer, longest first where one begins another. A yes is not
// among them: it may answer a question.
var thanks = func() []string {
	all := []string{
		"thank you so much", "thank you very much", "thank you", "thanks so much", "thanks a lot", "thanks a bunch",
		"thanks again", "thanks", "many thanks", "thx", "tysm", "ty", "cheers", "much appreciated", "appreciate it",
		"appreciated",
		"okay", "okey", "ok", "kk", "k", "got it", "gotcha", "noted", "understood", "roger that", "roger", "ack",
		"will do", "sounds good", "makes sense", "fair enough", "great", "perfect", "cool", "nice", "awesome",
		"excellent", "lovely", "brilliant",
		"no problem", "no worries", "np", "you're welcome", "youre welcome", "yw", "my pleasure", "+1", "lgtm",
		"all good", "never mind", "nevermind", "nvm", "good to know", "that works", "that helps", "it works now",
		"for the help", "for your help", "everyone", "all", "so much", "a lot", "very much", "and", "to you",
		"了解いたしました", "了解しました", "了解です", "了解でーす", "了解", "りょうかい", "りょ", "承知いたしました", "承知しました", "承知です", "承知", "かしこまりました",
		"わかりました", "分かりました", "おけ", "おっけー", "オッケー", "okです",
		"ありがとうございました", "ありがとうございます", "ありがとうです", "ありがとう", "どうもありがとう", "どうも", "サンキュー", "感謝です", "感謝", "助かりました", "助かります",
		"助かった", "お疲れさまでした", "お疲れ様でした", "お疲れさまです", "お疲れ様です", "おつかれさまでした", "おつかれさまです", "おつかれ",
		"どういたしまして", "いえいえ", "なるほどです", "なるほど", "いいですね", "確認しました", "本当に", "ほんと", "大変", "とても", "皆さん", "みなさん",
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}()

// fillers carry no meaning beside a thanks, and are no acknowledgement alone.
var fillers = []string{"everyone", "all", "so much", "a lot", "very much", "and", "to you", "for the help",
	"for your help", "本当に", "ほんと", "大変", "とても", "皆さん", "みなさん"}

var emojiPattern = regexp.MustCompile(`:[\p{L}\p{N}_+'-]+(?:::skin-tone-\d)?:`)

// Acknowledges reports whether a text is nothing but thanks, an OK and the like, perhaps with emoji
// and the names of members.
func Acknowledges(text string, members []string) bool {
	rest := fold(mentionPattern.ReplaceAllString(text, " "))
	meant := emojiPattern.MatchString(rest)
	rest = emojiPattern.ReplaceAllString(rest, " ")
	for {
		rest = strings.TrimLeftFunc(rest, func(r rune) bool {
			meant = meant || unicode.Is(unicode.So, r)
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '+' && r != '?' || r == 'ー' ||
				unicode.Is(unicode.Lm, r)
		})
		if rest == "" || strings.Trim(rest, "w笑") == "" {
			return meant
		}
		phrase := prefix(rest, thanks)
		if phrase != "" {
			meant = meant || !slices.Contains(fillers, phrase)
		} else if phrase = prefix(rest, folded(members)); phrase == "" {
			return false
		} else {
			rest = strings.TrimPrefix(rest[len(phrase):], "さん")
			continue
		}
		rest = rest[len(phrase):]
	}
}

// prefix is the first phrase that a text begins with, as whole words.
func prefix(text string, phrases []string) string {
	for _, p := range phrases {
		if rest, ok := strings.CutPrefix(text, p); ok && p != "" && !oneWord(p, rest, latin) {
			return p
		}
	}
	return ""
}

func folded(names []string) []string {
	var all []string
	for _, n := range names {
		n = fold(n)
		first, _, _ := strings.Cut(n, " ")
		all = append(all, n, first)
	}
	return all
}
