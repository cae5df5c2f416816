package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"myao/internal/chat"
	"myao/internal/llm"
)

var (
	// calledBy matches a mention at the beginning of a message.
	calledBy = regexp.MustCompile(`^\s*@\S+(?: \(U\w+\))?[,、:：]?\s*`)

	forgetPattern   = regexp.MustCompile(`(?i)\b(?:forget|delete) note #?(\d+)|(?:メモ|覚え書き) ?#?(\d+) ?(?:を|は)?(?:忘れて|消して|削除して)`)
	rememberPattern = regexp.MustCompile(`(?i)(?:^|[.,!:]\s+|\bplease |\b(?:can|could) you )remember that (.+)|(?:^|\n)(.+?)(?:ということを|って|を|と)?、?覚えておいて`)
	// openPatterns have a group for the address.
	openPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?is)\b(?:open|read|summari[sz]e|look at|what(?:'s| is| does))\b.*?(https?://[^\s<>()"「」、。]+)`),
		regexp.MustCompile(`(?s)(https?://[^\s<>()"「」、。\p{Hiragana}\p{Katakana}\p{Han}]+).*?(?:要約|まとめ|読んで|開いて|見て)`),
	}
	// readPatterns have a group for the name of a file, which somebody names or attaches.
	readPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:open|read|summari[sz]e|look at|what(?:'s| is) in)\b[^\n]*?([\p{L}\p{N}_.()-]+\.[a-z][a-z0-9]{1,4})\b`),
		regexp.MustCompile(`([\p{L}\p{N}_.()-]+\.[A-Za-z][A-Za-z0-9]{1,4})[」』]?(?:の(?:中身|内容))?を?(?:読んで|開いて|見て|要約|まとめて)`),
		regexp.MustCompile(`(?m)^\[file: (.+)\]$`),
	}
	// searchPatterns have groups for who said it, which may be empty, and for what.
	searchPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\bwhat did (.+?) (?:say|write|mention|decide)(?: about| on| of)? (.+)`),
		regexp.MustCompile(`(?i)()\b(?:find|search for|look for|look up|who (?:said|wrote|mentioned)) (.+)`),
		regexp.MustCompile(`(?:(.+?)(?:さん)?は、?)?(.+?)(?:のこと|の件)?について(?:何|なに)か(?:言|い|話|書)`),
		regexp.MustCompile(`()(.+?)(?:について|のことを|の話を|を)?(?:探して|検索して|調べて)`),
	}
	// playbookPattern has groups for the title.
	playbookPattern = regexp.MustCompile(`(?i)\bplaybook(?: for| on| about)?:? +["“]?([^\n"”?.!]+)|手順書[「『]([^」』\n]+)`)
	// postPatterns have groups for the place and for what to say there.
	postPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?is)\b(?:tell|say in|say to|post in|post to|let) ([#@][\p{L}\p{N}_-]+)(?: \((U\w+)\))?(?: know)?(?:,? that |: ?| )(.+)`),
		regexp.MustCompile(`(?s)([#@][\p{L}\p{N}_-]+?)(?: \((U\w+)\))?(?:さん)?\s*(?:に|へ)、?(.+?)(?:と|って)(?:伝|投稿|書|言)`),
	}
	// anybody matches who is nobody in particular.
	anybody = regexp.MustCompile(`(?i)^(?:i|we|you|they|people|any(?:one|body)|some(?:one|body)|(?:誰|だれ)か|みんな)$`)
	closing = regexp.MustCompile(`[\s?？。.!！]+$`)
	// numbered matches a line of a search's result: its number, its time and place, and what follows
	// the message's ts, which people need not see.
	numbered = regexp.MustCompile(`(?m)^[ \t>*-]*\[(\d+)\] (\d{4}-\d{2}-\d{2} \S+ \S+)(?: \(\d+\.\d+\))?(.*)$`)
)

// maxFound bounds the found messages in a reply.
const maxFound = 3

// asked is what the newest message asks the tools for.
type asked struct {
	tool string // "" for nothing
	// what is the query, the address, the text to remember or the number of the note. key is where a
	// ticket desk wants it.
	what, author, key string
	// input is the whole input of the call, where the fields above do not say it.
	input map[string]any
}

func askedFor(text string, offered []llm.Tool) asked {
	if a := promiseAsked(text, offered); a.tool != "" {
		return a
	}
	if m := playbookPattern.FindStringSubmatch(text); m != nil && slices.ContainsFunc(offered,
		func(t llm.Tool) bool { return t.Name == chat.ToolReadPlaybook }) {
		return asked{tool: chat.ToolReadPlaybook, what: strings.TrimSpace(m[1] + m[2])}
	}
	for _, p := range postPatterns {
		m := p.FindStringSubmatch(text)
		if m != nil && slices.ContainsFunc(offered, func(t llm.Tool) bool { return t.Name == chat.ToolPostMessage }) {
			return asked{tool: chat.ToolPostMessage, input: map[string]any{"to": cmp.Or(m[2], m[1]), "text": m[3]}}
		}
	}
	if a := ticketAsked(text, offered); a.tool != "" {
		return a
	}
	if a := byRules(text); a.what != "" {
		return a
	}
	return asked{}
}

func byRules(text string) asked {
	text = calledBy.ReplaceAllString(text, "")
	if m := forgetPattern.FindStringSubmatch(text); m != nil {
		return asked{tool: chat.ToolForgetNote, what: m[1] + m[2]}
	}
	if m := rememberPattern.FindStringSubmatch(text); m != nil {
		return asked{tool: chat.ToolRemember, what: quote(closing.ReplaceAllString(m[1]+m[2], ""))}
	}
	for _, p := range openPatterns {
		if m := p.FindStringSubmatch(text); m != nil {
			return asked{tool: chat.ToolOpenLink, what: strings.TrimRight(m[1], ".,:;!?'")}
		}
	}
	for _, p := range readPatterns {
		if m := p.FindStringSubmatch(text); m != nil {
			return asked{tool: chat.ToolReadFile, what: m[1]}
		}
	}
	for _, p := range searchPatterns {
		m := p.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		a := asked{tool: chat.ToolSearchMessages, what: quote(closing.ReplaceAllString(m[2], "")),
			author: strings.TrimPrefix(strings.TrimSpace(m[1]), "@")}
		if anybody.MatchString(a.author) || strings.Contains(a.author, "\n") {
			a.author = ""
		}
		return a
	}
	return asked{}
}

// call returns the turn that a rule asks for; nil: none does, or its tool is not offered. A search
// for what somebody said is made once more without the name if that fails.
func call(r llm.Request, a asked) *llm.Turn {
	var schema json.RawMessage
	for _, t := range r.Tools {
		if t.Name == a.tool {
			schema = t.Schema
		}
	}
	input := map[string]any{}
	switch retry := len(r.Turns) == 1 && a.author != "" && failed(r.Turns[0]); {
	case schema == nil || len(r.Turns) > 0 && !retry:
		return nil
	case a.input != nil:
		input = a.input
	case a.key != "":
		if a.what != "" {
			input[a.key] = a.what
		}
	case a.tool == chat.ToolSearchMessages:
		input["query"] = a.what
		if a.author != "" && !retry {
			input["author"] = a.author
		}
	case a.tool == chat.ToolOpenLink:
		input["url"] = a.what
	case a.tool == chat.ToolReadFile, a.tool == chat.ToolReadPlaybook:
		input["name"] = a.what
	case a.tool == chat.ToolRemember:
		input["text"] = a.what
	case a.tool == chat.ToolForgetNote:
		input["id"] = a.what
		if n, err := strconv.Atoi(a.what); err == nil && wantsNumber(schema, "id") {
			input["id"] = n
		}
	}
	return &llm.Turn{Provider: provider, Opaque: json.RawMessage(`{}`),
		Calls: []llm.Call{{ID: llm.CallID(len(r.Turns), 0), Name: a.tool, Input: encode(input)}}}
}

func failed(t llm.Turn) bool { return len(t.Results) > 0 && t.Results[0].Failed }

func wantsNumber(schema json.RawMessage, name string) bool {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s)
	kind := string(s.Properties[name].Type)
	return strings.Contains(kind, "integer") || strings.Contains(kind, "number")
}

// told returns what came of a call, from the last turn's result or, in a request without turns,
// from the prompt; "" if there is nothing to tell.
func told(r llm.Request, a asked, ja bool) string {
	result, found := "", [][]string(nil)
	if n := len(r.Turns); n > 0 && len(r.Turns[n-1].Results) > 0 {
		if a.tool == chat.ToolLookAgain {
			return confirmed(r.Turns[n-1].Results[0], ja)
		}
		result = r.Turns[n-1].Results[0].Text
		found = numbered.FindAllStringSubmatch(result, -1)
	} else if a.tool == chat.ToolSearchMessages {
		found = numbered.FindAllStringSubmatch(r.System+"\n"+r.Prompt, -1)
	}
	switch {
	case len(found) > 0 && a.tool == chat.ToolSearchMessages:
		var b strings.Builder
		if ja {
			fmt.Fprintf(&b, "%s「%s」を検索した結果です。", noticeJA, a.what)
		} else {
			fmt.Fprintf(&b, "%s I searched for “%s”, and found:", noticeEN, a.what)
		}
		for _, m := range found[:min(len(found), maxFound)] {
			fmt.Fprintf(&b, "\n• %s [%s]", quote(escaped.ReplaceAllString(m[2]+m[3], "$1")), m[1])
		}
		return b.String()
	case result == "":
		return ""
	case strings.HasPrefix(result, "Proposed, not done.") && ja:
		return noticeJA + "下の操作を提案します。承認されたら実行します。"
	case strings.HasPrefix(result, "Proposed, not done."):
		return noticeEN + " I propose what stands below. It is done once somebody approves it."
	}
	return answeredBy(a.tool, result, ja)
}

// answeredBy tells what a tool returned.
func answeredBy(tool, result string, ja bool) string {
	if ja {
		return fmt.Sprintf("%s%s の結果: 「%s」", noticeJA, tool, quote(result))
	}
	return fmt.Sprintf("%s %s answered: “%s”", noticeEN, tool, quote(result))
}
