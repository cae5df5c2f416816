package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"myao/internal/chat"
)

var (
	// untilPatterns have a group for what must have happened.
	untilPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:tell|let) (?:me|us|everybody|everyone)(?: know)?(?: here)?,? (?:when|as soon as|once) ([^\n,.?!]+)`),
		regexp.MustCompile(`([^\n。、？！]+?)に?なったら、?(?:ここで)?、?(?:教えて|知らせて)`),
	}
	// hooksLine is where the tool's description names the hooks.
	hooksLine = regexp.MustCompile(`events come by these hooks: ([a-z0-9_, -]+)\.`)
	// waitHeadings are those of a prompt about a promise that waits for an event; the value is set for the Japanese.
	waitHeadings = map[string]bool{"\n## Promise that waits for an event\n": false,
		"\n## 出来事を待っている約束\n": true}
	// eventLine begins an event, hasComeLine what has come in a reply's prompt. tellLine ends it, if it has happened.
	eventLine   = regexp.MustCompile(`^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}:\n`)
	hasComeLine = regexp.MustCompile(`^(?:This has come by the hook|フック .* に届くのを待っていました)`)
	tellLine    = regexp.MustCompile(`^(?:Tell .+ that it has happened|起きたことを、大事な点とともに)`)
	// telling are the words that an event must have; plain words are not among them.
	telling    = regexp.MustCompile(`[A-Za-z0-9]+|[\p{Katakana}ー]+|\p{Han}+`)
	plainWords = []string{"a", "an", "the", "is", "are", "was", "has", "have", "been", "be", "gets", "get", "it", "to", "turns"}
)

// eventAsked is the promise to wait for an event that a message asks for, if the place has hooks.
func eventAsked(text, description string) asked {
	hooks := hooksLine.FindStringSubmatch(description)
	if hooks == nil {
		return asked{}
	}
	names := strings.Split(hooks[1], ", ")
	until := names[0]
	for _, name := range names {
		if slices.Contains(telling.FindAllString(strings.ToLower(text), -1), name) {
			until = name
		}
	}
	text = calledBy.ReplaceAllString(text, "")
	input := map[string]any{"until": until, "when": "in 7d"}
	for _, p := range whenPatterns {
		if m := p.FindStringSubmatchIndex(text); m != nil {
			input["when"] = text[m[2]:m[3]]
			text = spaces.ReplaceAllString(text[:m[0]]+text[m[1]:], " ")
			break
		}
	}
	for _, p := range untilPatterns {
		if m := p.FindStringSubmatch(text); m != nil {
			input["what"] = asWritten(m[1])
			return asked{tool: chat.ToolLookAgain, what: asWritten(m[1]), input: input}
		}
	}
	return asked{}
}

// tells reports whether a text has all words of what must have happened.
func tells(text, what string) bool {
	said := telling.FindAllString(strings.ToLower(text), -1)
	for _, word := range telling.FindAllString(strings.ToLower(what), -1) {
		if !slices.Contains(plainWords, word) && !slices.Contains(said, word) {
			return false
		}
	}
	return true
}

// happened is the verdict on a promise that waits for an event. It has happened if one event has all words of what was
// promised, and is settled if somebody has written them. ok is false for any other judgment.
func happened(system string, messages []message) (v verdict, ok bool) {
	p, ja := about(system, waitHeadings)
	if len(p) < 4 { // heading, who asked, heading, what
		return verdict{}, false
	}
	what, made, keeper := p[3], "", ""
	if m := askedLine.FindStringSubmatch(p[1]); m != nil {
		made = m[2]
	}
	if m := keeperLine.FindStringSubmatch(system); m != nil {
		keeper = m[1] + m[2]
	}
	v = verdict{addressee: chat.AddresseeSomeone, confidence: 0.9, reason: "demo rule: no event has all of its words"}
	if ja {
		v.reason = "デモの規則: すべての言葉がそろった知らせはない"
	}
	for _, m := range messages {
		if m.at > made && m.author != keeper && tells(m.text, what) {
			v.addressee, v.reason = chat.AddresseeNobody, "demo rule: "+m.author+" has told it"
			if ja {
				v.reason = "デモの規則: " + m.author + "さんが知らせた"
			}
			return v, true
		}
	}
	for _, event := range p[4:] {
		if eventLine.MatchString(event) && tells(event, what) {
			v.respond, v.gist, v.reason = true, "that it has happened", "demo rule: an event has all of its words"
			if ja {
				v.gist, v.reason = "起きたこと", "デモの規則: すべての言葉がそろった知らせが届いた"
			}
		}
	}
	return v, true
}

// waited is the message that ends the wait for an event; "" for any other reply. rest is what the prompt has after what
// was promised.
func waited(rest []string, what string, ja bool) string {
	if !hasComeLine.MatchString(rest[0]) {
		return ""
	}
	switch told := slices.ContainsFunc(rest, tellLine.MatchString); {
	case told && ja:
		return fmt.Sprintf("%s起きました: 「%s」", noticeJA, what)
	case told:
		return fmt.Sprintf("%s It has happened: “%s”", noticeEN, what)
	case ja:
		return fmt.Sprintf("%s時間になりましたが、まだ知らせはありません: 「%s」", noticeJA, what)
	}
	return fmt.Sprintf("%s The time is up, and I have not heard that it has happened: “%s”", noticeEN, what)
}
