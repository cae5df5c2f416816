package demo

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"myao/internal/chat"
	"myao/internal/llm"
)

const (
	enWeekday = `(?:mon|tues|wednes|thurs|fri|satur|sun)day`
	enClock   = `\d{1,2}(?::\d{2})?(?: ?[ap]m)?`
	jaDay     = `(?:今日|明日|明後日|(?:(?:今週|来週)の?)?[月火水木金土日]曜日?|[\d０-９]+日)の?`
	jaClock   = `(?:午前|午後|朝|夜)?[\d０-９]+(?:時(?:[\d０-９]+分|半)?|:\d{2})`
)

var (
	// repeats are the ways to repeat. A group is what stays of the text: it belongs to the time.
	repeats = []struct {
		pattern *regexp.Regexp
		every   string
	}{
		{regexp.MustCompile(`(?i)\bevery day\b|毎日の?`), "day"},
		{regexp.MustCompile(`(?i)\bevery weekday\b|平日の?`), "weekday"},
		{regexp.MustCompile(`(?i)\bevery (?:week\b|(` + enWeekday + `)\b)|毎週の?`), "week"},
		{regexp.MustCompile(`(?i)\bevery month\b|毎月の?`), "month"},
	}
	// whenPatterns have a group for the time.
	whenPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(in (?:an?|half an|[\d.]+) ?[a-z]+|(?:tomorrow|today|(?:on |next )?` + enWeekday +
			`|\d{4}-\d{2}-\d{2})(?:,? (?:at )?` + enClock + `)?|at ` + enClock + `)\b`),
		regexp.MustCompile(`([\d０-９]+(?:秒|分|時間|日|週間)後|(?:` + jaDay + `)?` + jaClock + `|` + jaDay + `)に?、?`),
	}
	// remindPatterns have a group for what to remind of. The time is gone from the text.
	remindPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\bremind (?:me|us|everybody|everyone),?(?: (?:to|that|of|about))? ([^\n]+)`),
		regexp.MustCompile(`([^\n。？！]+?)(?:する)?(?:ように|よう|って|と|のことを?|を)?、?(?:リマインド|思い出させ|知らせ)`),
	}
	// lookPatterns have a group for what makes the look superfluous, which may be empty.
	lookPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:look|check) again\b(?:,? (?:whether|if) ([^\n]+))?`),
		regexp.MustCompile(`(?:([^\n。？！]+?)か(?:どうか)?を?、?)?もう一度、?(?:見|確認|確かめ)`),
	}
	// before matches the sentences before the one that ends the text, such as the question that it is about.
	before = regexp.MustCompile(`(?s)^.*[.?!。？！\n]`)
	spaces = regexp.MustCompile(`[ \t]+`)
)

// promiseAsked is the promise that a message asks for, if the tool for it is offered.
func promiseAsked(text string, offered []llm.Tool) asked {
	i := slices.IndexFunc(offered, func(t llm.Tool) bool { return t.Name == chat.ToolLookAgain })
	if i < 0 {
		return asked{}
	}
	if a := eventAsked(text, offered[i].Description); a.tool != "" {
		return a
	}
	text = calledBy.ReplaceAllString(text, "")
	input := map[string]any{}
	for _, r := range repeats {
		if r.pattern.MatchString(text) {
			text = r.pattern.ReplaceAllString(text, "$1")
			input["every"] = r.every
			break
		}
	}
	for _, p := range whenPatterns {
		if m := p.FindStringSubmatchIndex(text); m != nil {
			input["when"] = text[m[2]:m[3]]
			text = spaces.ReplaceAllString(text[:m[0]]+text[m[1]:], " ")
			break
		}
	}
	if what, unless := promised(text); what != "" && input["when"] != nil {
		input["what"] = what
		if unless != "" {
			input["unless"] = unless
		}
		return asked{tool: chat.ToolLookAgain, what: what, input: input}
	}
	return asked{}
}

// promised returns what a text wants to be promised, and what makes that superfluous; "" if it wants nothing.
func promised(text string) (what, unless string) {
	for _, p := range lookPatterns {
		m := p.FindStringSubmatchIndex(text)
		if m == nil {
			continue
		}
		if m[2] >= 0 {
			unless = asWritten(text[m[2]:m[3]])
		}
		settled, look := "somebody has answered", "Look whether %s"
		if japanese(text) {
			settled, look = "誰かが答えた", "%sかを確かめる"
		}
		unless = cmp.Or(unless, settled)
		return cmp.Or(quote(before.FindString(text[:m[0]])), fmt.Sprintf(look, unless)), unless
	}
	for _, p := range remindPatterns {
		if m := p.FindStringSubmatch(text); m != nil {
			return asWritten(m[1]), ""
		}
	}
	return "", ""
}

// asWritten is a part of a message without a mention before it and punctuation after it.
func asWritten(text string) string {
	return quote(closing.ReplaceAllString(calledBy.ReplaceAllString(text, ""), ""))
}

// confirmed tells what came of asking for a promise.
func confirmed(result llm.ToolResult, ja bool) string {
	switch {
	case result.Failed && ja:
		return fmt.Sprintf("%s約束できません: 「%s」", noticeJA, quote(result.Text))
	case result.Failed:
		return fmt.Sprintf("%s I cannot promise that: “%s”", noticeEN, quote(result.Text))
	case ja:
		return noticeJA + "わかりました。約束したことは下にあります。"
	}
	return noticeEN + " Gladly: what I promise stands below."
}

var (
	// The headings of what a prompt says about a promise. The values are set for the Japanese ones.
	keptHeadings = map[string]bool{"\n## What you promised\n": false, "\n## 約束したこと\n": true}
	dueHeadings  = map[string]bool{"\n## Promise that is due\n": false, "\n## 時間が来た約束\n": true}

	// unlessLine begins the paragraph after what was promised, if that is a look.
	unlessLine = regexp.MustCompile(`^(?:It would be superfluous if|次の場合は不要)`)
	// askedLine has groups for who asked and for when, keeperLine for the bot's name.
	askedLine  = regexp.MustCompile(`^(.+?)(?: asked for it on |(?:さん)?に)(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})`)
	keeperLine = regexp.MustCompile(`(?m)^(?:Decide whether (.+?) should (?:keep the promise|tell now)|(?:約束したことが起きたと)?(.+?)がいま(?:約束を果たすか|知らせるか))`)
)

// about returns the paragraphs from one of some headings to the end of a prompt; nil if it has none of them.
func about(system string, headings map[string]bool) (paragraphs []string, ja bool) {
	for heading, ja := range headings {
		if at := strings.LastIndex(system, heading); at >= 0 {
			return strings.Split(strings.TrimSpace(system[at:]), "\n\n"), ja
		}
	}
	return nil, false
}

// kept is the message that keeps a promise; "" for any other reply.
func kept(system string) string {
	p, ja := about(system, keptHeadings)
	if len(p) < 4 { // heading, who asked, what, and what to do about it
		return ""
	}
	what := quote(escaped.ReplaceAllString(p[2], "$1"))
	if text := waited(p[3:], what, ja); text != "" {
		return text
	}
	switch look := unlessLine.MatchString(p[3]); {
	case look && ja:
		return fmt.Sprintf("%sもう一度見ましたが、まだ済んでいないようです: 「%s」", noticeJA, what)
	case look:
		return fmt.Sprintf("%s I have looked again, and this seems to be open still: “%s”", noticeEN, what)
	case ja:
		return fmt.Sprintf("%s時間です: 「%s」", noticeJA, what)
	}
	return fmt.Sprintf("%s It is time: “%s”", noticeEN, what)
}

// due is the verdict on a promise that is due: it is settled if somebody other than whoever asked, and the bot, has
// written since. ok is false for any other judgment.
func due(system string, messages []message) (v verdict, ok bool) {
	if v, ok := happened(system, messages); ok {
		return v, true
	}
	p, ja := about(system, dueHeadings)
	if len(p) < 2 {
		return verdict{}, false
	}
	asker, made, keeper := "", "", ""
	if m := askedLine.FindStringSubmatch(p[1]); m != nil {
		asker, made = m[1], m[2]
	}
	if m := keeperLine.FindStringSubmatch(system); m != nil {
		keeper = m[1] + m[2]
	}
	v = verdict{addressee: chat.AddresseeNobody, confidence: 0.9}
	for _, m := range messages {
		if m.at > made && m.author != asker && m.author != keeper {
			v.reason = "demo rule: " + m.author + " has written since"
			if ja {
				v.reason = "デモの規則: そのあと" + m.author + "さんが発言した"
			}
			return v, true
		}
	}
	v.addressee, v.respond, v.gist, v.reason = chat.AddresseeEveryone, true, "that it is open still",
		"demo rule: nobody else has written since"
	if ja {
		v.gist, v.reason = "まだ済んでいないこと", "デモの規則: そのあと誰も発言していない"
	}
	return v, true
}
