// Package phrases knows by which words, in English and in Japanese, people stop the bot, thank, address each
// other and take something on, and by which a reply promises something. It matches words; what follows from
// them is decided elsewhere.
package phrases

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Promises reports whether a reply promises in words that its author comes back later, in English
// or Japanese. Quotations, code, questions, offers and what others will do do not count. It would
// rather miss a promise than see one where there is none.
func Promises(text string) bool {
	text = shownPattern.ReplaceAllString(text, " ")
	text = strings.ReplaceAll(strings.ToLower(norm.NFKC.String(text)), "’", "'")
	for _, clause := range clausePattern.FindAllString(text, -1) {
		clause = strings.TrimSpace(clause)
		if strings.HasSuffix(clause, "?") || strings.HasSuffix(clause, ":") {
			continue // a question, or what it does at once
		}
		if promisesInEnglish(clause) || promisesInJapanese(clause) {
			return true
		}
	}
	return false
}

var (
	// shownPattern matches what a reply shows and does not say: code, and what others have said.
	shownPattern = regexp.MustCompile("(?s:```.*?(?:```|$))|`[^`\n]*`|(?m:^[ " +
		"\t]*(?:>|&gt;).*$)|\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|(?:^|[\\s(])'[^'\n]*'(?:[\\s,.)!?]|$)")
	// clausePattern matches sentences and their independent parts, with the character that ends them.
	clausePattern = regexp.MustCompile(`(?:[^.!?。;:\n]|[.:][^\s])+[.!?。;:\n]?`)

	// enFirst matches the author's own intent.
	enFirst = regexp.MustCompile(`(?:\b(?:i'll|i will|i'm going to|i am going to|i shall)|^(?:ok(?:ay)?|sure|yes|got it)?,? ?will) (?:also |then |just |definitely |certainly |gladly |happily |of course |try to |be sure to |make sure to |personally )*`)
	enLetMe = regexp.MustCompile(`\blet me (?:also |just )*`)
	// enBefore matches what, before the intent, makes it somebody else's, a condition or none.
	enBefore = regexp.MustCompile(`\b(?:not|never|cannot|if|unless|whether|said|says|say|told|wrote|writes|promised|means?|tell|give|send|share|ask|mention|ping|reply|paste|provide|instead of)\b|n't\b`)
	// enReactive matches what waits for the reader, and offers.
	enReactive = regexp.MustCompile(`\b(?:if|once|when|whenever|as soon as|after|unless|until|in case) (?:you|anyone|someone asked)\b|\bif (?:that|it) (?:helps|would help|is useful)|\bif (?:so|needed|necessary|desired|wanted|asked)\b`)
	// enAtOnce matches what is done in this reply.
	enAtOnce = regexp.MustCompile(`\b(?:below|above|right now|right away|now|here(?:'s| is| are)|as follows|in this (?:reply|message|answer)|later in this)\b`)

	enRemind = regexp.MustCompile(`^(?:remind (?:you|everyone|everybody|them|him|her|us|the |<@|@)|send (?:you |everyone |out )?a reminder|set (?:you )?a reminder)`)
	// enAgain matches what can only be done later.
	enAgain = regexp.MustCompile(`^(?:follow up|get back to (?:you|everyone|everybody|this|it|<@|@|the (?:team|channel|thread))|come back to (?:you|this thread|this later|it later)|circle back|check back|check in (?:again|with (?:you|the team|everyone|<@))|report back` +
		`|let (?:you|everyone|<@\w+>) know (?:when|once|if|as soon as|tomorrow|later|whether|by|on|in)\b|keep (?:an eye|a close eye|watch|watching|monitoring|checking|you (?:posted|updated|informed))|monitor|watch (?:for|this|out for)|revisit|be back\b|ping (?:you|them|everyone|<@|@)|nudge)`)
	// enAct matches what is a promise only with a time, which enTime matches close after it.
	enAct  = regexp.MustCompile(`^(?:check|look|take (?:another|a second|a fresh) look|have (?:another|a) look|ask(?: for)?|post|try|share|send|update|review|tell|report|summari[sz]e|message|verify|write|do (?:it|this|that))\b`)
	enTime = regexp.MustCompile(`\b(?:tomorrow|tonight|later|next (?:week|month|mon|tues|wednes|thurs|fri|satur|sun)\w*|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:every|each) (?:day|morning|week|hour|mon|tues|wednes|thurs|fri)\w*|in (?:an?|a few|a couple of|\d+|one|two|three|half an) (?:sec|min|hour|h\b|day|week|while)\w*|(?:this|in the) (?:afternoon|evening|morning)|at \d{1,2}(?::\d\d| ?[ap]m))\b|\bat \d{1,2}[.!]?$`)
	// enAbout matches signs that the time belongs to what is looked at.
	enAbout = regexp.MustCompile(`\b(?:what|which|who|whose|that|how|why|due|scheduled|planned|from|happen\w*|was|were|is|are|for|of)\b`)
)

func promisesInEnglish(clause string) bool {
	clause = strings.TrimPrefix(clause, "don't worry")
	if enReactive.MatchString(clause) || enAtOnce.MatchString(clause) {
		return false
	}
	for _, at := range enFirst.FindAllStringIndex(clause, -1) {
		if rest := clause[at[1]:]; !enBefore.MatchString(sinceTurn(clause[:at[0]])) &&
			(enRemind.MatchString(rest) && !strings.HasPrefix(rest, "remind you that") || comesBack(rest)) {
			return true
		}
	}
	for _, at := range enLetMe.FindAllStringIndex(clause, -1) {
		if comesBack(clause[at[1]:]) && !enBefore.MatchString(sinceTurn(clause[:at[0]])) {
			return true
		}
	}
	return false
}

// sinceTurn is the rest of a text after its last "so" or "but": "I can't see it yet, so …".
func sinceTurn(s string) string {
	return s[max(strings.LastIndex(s, " so "), strings.LastIndex(s, " but "), 0):]
}

func comesBack(s string) bool {
	if enAgain.MatchString(s) {
		return true
	}
	verb := enAct.FindString(s)
	if verb == "" {
		return false
	}
	s = s[len(verb):]
	at := enTime.FindStringIndex(s)
	return at != nil && !enAbout.MatchString(s[:at[0]]) && !strings.HasPrefix(s[at[1]:], "'s")
}

const (
	jaDone = `(?:を|も)?(?:お?送り|入れ)?(?:いた|致)?(?:し|させていただき)?(?:て)?(?:おき|い)?ます`
	jaTell = `(?:ご|お)?(?:連絡|報告|知らせ|通知|共有|案内|返事|返信|回答|声(?:がけ|かけ|を(?:お)?かけ))`
)

var (
	jaRemind = regexp.MustCompile(`(?:リマインド|リマインダー|再通知)` + jaDone)
	jaWatch  = regexp.MustCompile(`(?:見張って(?:おき|い)?|見張り|見守(?:り|って(?:おき|い))|注視して?(?:おき|い|いき)?|(?:監視|モニタリング)して?(?:おき|い|いき|続け)|(?:引き続き|継続して)(?:状況を|様子を|経過を)?(?:確認|監視|チェック|注視|フォロー)して?(?:おき|い|いき)?|気に(?:かけ|留め)ておき)ます` +
		`|(?:次第|動きが(?:あれば|あったら|ありましたら)|たら|ましたら)、?(?:また|改めて|すぐに?|こちらで|ここで)*` + jaTell + jaDone)
	jaLater = regexp.MustCompile(`明日|明後日|あさって|明朝|明晩|今夜|今晩|来週|来月|(?:月|火|水|木|金|土|日)曜日?|後で|あとで|後ほど|のちほど|後日|追って|しばらくしたら|毎(?:朝|日|週)|また(?:後|あと|今度)|(?:\d+|数)(?:秒|分|時間|日|週間?)後|\d+時(?:半|\d+分)?(?:に|頃)`)
	jaAct   = regexp.MustCompile(`(?:` + jaTell +
		`|(?:ご|再)?確認|チェック|フォロー(?:アップ)?|投稿|様子を見|見に(?:来|き)|見|見直し|調べ(?:直し)?|聞[いき]|お?伺い|お送りし|送り|戻って(?:き|来))` + jaDone +
		`|(?:見|調べ|聞い|確認し|チェックし|様子を見)て(?:おき|み)ます|また来ます`)
	// jaDay matches what may follow a time before の without making it a noun's: 明日の朝.
	jaDay = regexp.MustCompile(`^の(?:朝|昼|夕方|夜|午前|午後|正午|\d)`)
	// jaAbout matches a verb before a noun, and other signs that the time belongs to what is looked at.
	jaAbout = regexp.MustCompile(`[たるうすつぬむぐぶ][\p{Han}\p{Katakana}]|まで|から|時点|開催|予定`)
	// jaOther matches somebody else as the subject, or who is quoted.
	jaOther = regexp.MustCompile(`(?:さん|くん|ちゃん|氏|様|先生|者|係|チーム|部|課|社|側|部長|課長|彼|彼女|方|[a-z0-9>]|[ァ-ヶー])(?:たち|達)?(?:が|は|から|も)|チームで`)
	// jaFill matches the author as the subject, and what means "again".
	jaFill     = regexp.MustCompile(`もう(?:一度|一回|いちど)|(?:私|わたし|僕|こちら|ボット|myao)(?:が|は|から|も|の方から|のほうから)`)
	jaReactive = regexp.MustCompile(`必要(?:なら|であれば|でしたら|があれば|に応じ)|(?:よ|良|宜し|よろし)ければ|希望|(?:くだされ|頂けれ|いただけれ|くれれ)ば|(?:いただけ|頂け|くださ)(?:れば|ましたら|ったら)|(?:教え|言っ|伝え|おっしゃ|指示|指定|メンションし)[^、]*(?:ば|たら)|以下|下記|早速|さっそく|今すぐ`)
	jaEnd      = regexp.MustCompile(`^(?:か|、?と|って)`)
)

func promisesInJapanese(clause string) bool {
	clause = jaFill.ReplaceAllString(clause, "")
	if jaReactive.MatchString(clause) {
		return false
	}
	for _, p := range []*regexp.Regexp{jaRemind, jaWatch} {
		if at := p.FindStringIndex(clause); at != nil && saysSo(clause, at[0], at[1]) {
			return true
		}
	}
	for _, when := range jaLater.FindAllStringIndex(clause, -1) {
		rest := clause[when[1]:]
		at := jaAct.FindStringIndex(rest)
		if at == nil || !saysSo(clause, when[1]+at[0], when[1]+at[1]) {
			continue
		}
		between := rest[:at[0]]
		if strings.HasPrefix(between, "の") && !jaDay.MatchString(between) || jaAbout.MatchString(between) {
			continue
		}
		return true
	}
	return false
}

// saysSo reports whether the words from one index to another are the author's own statement.
func saysSo(clause string, from, to int) bool {
	return !jaOther.MatchString(clause[:from]) && !jaEnd.MatchString(clause[to:])
}
