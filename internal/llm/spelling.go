package llm

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// How models write calls as text, by their templates and by the parsers of vLLM and SGLang:
//
//	<tool_call>{"name":…,"arguments":{…}}</tool_call>                        Hermes, Qwen
//	<tool_call><function=NAME><parameter=KEY>…</parameter></function></tool_call>  Qwen Coder
//	<tool_call>NAME<arg_key>KEY</arg_key><arg_value>…</arg_value></tool_call>      GLM
//	<function=NAME>{…}</function>, <|python_tag|>{…}, NAME.call(KEY="…"), a bare object  Llama
//	[TOOL_CALLS][{…}], [TOOL_CALLS]NAME{…}, [TOOL_CALLS]NAME[ARGS]{…}                Mistral
//	<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME ```json {…} ```<｜tool▁call▁end｜>     DeepSeek
//	<function_calls><invoke name="NAME"><parameter name="KEY">…</parameter></invoke>, with or without
//	a namespace                                                               Claude, MiniMax, DeepSeek
//	to=functions.NAME <|message|>{…}, functions.NAME({…})                       OpenAI
//	<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}             Kimi
//	[NAME(KEY="…")], ```tool_code print(NAME(KEY="…"))```                         Llama, Gemma
//	<|tool_call>call:NAME{KEY:<|"|>…<|"|>}<tool_call|>                              Gemma 4
//	Action: NAME, Action Input: {…}                                            ReAct
//
// So a call is one of a few forms (JSON, tags, a name with arguments) between marks that say nothing.

const (
	namespace = `(?:[\w-]+:|｜\w+｜)?`
	// token matches a special token of a tokenizer.
	token = `<[|｜][^<>|｜\s]{1,40}[|｜]>`
	mark  = `(?i:</?` + namespace + `(?:tool|function)s?(?:[_-]?(?:calls?|use))?>)|<\|/?tool_calls?\|?>|<tool_call\|>` +
		`|<(?:start|end)_function_call>|\[/?TOOL_CALLS\]`
	// opening matches what may begin a call anywhere.
	opening = mark + `|<[|｜](?:\w*tool\w*|python_tag|plugin|tool[▁\w]*)[|｜]>` +
		`|<` + namespace + `(?:invoke|function)[ =]|to=functions\.\w`
	fence = "```[\\w+-]*|~~~[\\w+-]*"
	quote = `["'\\]*`
	named = `(?:=|\s+name=)` + quote
)

var (
	// stopPattern matches where a call, or code, may begin: what may begin a call without a mark stands
	// at the beginning of a line.
	stopPattern = regexp.MustCompile(codeMarks + `|` + opening + `|(?m:^[ \t]*(?:[\[{]|functions\.\w|Action:))`)

	gapPattern   = regexp.MustCompile(`^(?:\s|[,;]|` + mark + `|` + token + `|function<｜tool▁sep｜>)*`)
	blockStart   = regexp.MustCompile("(?m)^[ \\t]*(?:```|~~~)[^`~]")
	fencePattern = regexp.MustCompile(`^\s*(?:` + fence + `)[ \t]*`)
	markPattern  = regexp.MustCompile(`(?:` + opening + `|` + token + `)`)
	closePattern = regexp.MustCompile(`^(?:\s*(?:(?i:</` + namespace + `(?:tool|function|invoke|parameter)[\w-]*>)|` +
		token +
		`|\[/TOOL_CALLS\]|</s>|<end_function_call>|<\w+\|>|<\|/\w+\|?>))*`)
	fenceEnd    = regexp.MustCompile("^\\s*(?:```|~~~)")
	functionTag = regexp.MustCompile(`^<` + namespace + `(?:function|invoke)` + named + `([\w.:-]{1,80})` + quote +
		`\s*>\s*`)
	parameterTag = regexp.MustCompile(`^\s*<(` + namespace + `parameter)` + named + `([\w.-]{1,80})` + quote +
		`[^<>\n]*>`)
	functionEnd = regexp.MustCompile(`^\s*</` + namespace + `(?:function|invoke)>`)
	namePattern = regexp.MustCompile(`^(?:print\(|call:|to=)?(?:functions\.|default_api\.)?([A-Za-z_][\w-]{0,62})(?:\.call)?(?::\d+)?`)
	betweenName = regexp.MustCompile(`^(?:\s|\[ARGS\]|\[CALL_ID\]\w*|` + token + `|(?:json|code|commentary)\b|` +
		fence + `)*`)
	actionPattern = regexp.MustCompile(`^Action:[ \t]*` + "[`\"]?" + `([\w-]{1,63})` + "[`\"]?" +
		`\s*\n\s*Action Input:\s*`)
	argumentTag = regexp.MustCompile(`(?s)^\s*<arg_key>\s*(.{1,80}?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>`)
	beforeCall  = regexp.MustCompile(`(?:^|[\n.:!?…。：！？])[ \t]*$`)
	// halfTag matches the tag of a function without its end.
	halfTag = regexp.MustCompile(`^<` + namespace + `(?:function=|invoke\s+name=)[^<>]*$`)
)

// scanned is what was found in a text.
type scanned struct {
	calls []writtenCall
	// unreadable is set if something begins like a call and is none.
	unreadable bool
	rest       string // the text without calls, and without what follows an unreadable one
}

// scan finds the calls in a text. offered says which names are those of tools.
func scan(text string, offered func(name string) bool) (found scanned) {
	trimmed := strings.TrimSpace(text)
	if s := (scanner{trimmed, offered}).sequence(0, true); s.end == len(trimmed) && (len(s.calls) > 0 || s.unreadable) {
		return scanned{calls: s.calls, unreadable: s.unreadable}
	}
	p := scanner{text, offered}
	found.rest = outsideCode(text, stopPattern, func(begin, end int) (resume int, removed bool) {
		s := p.sequence(begin, false)
		if found.unreadable = s.unreadable; s.unreadable {
			return len(text), true
		}
		found.calls = append(found.calls, s.calls...)
		return max(s.end, end), len(s.calls) > 0
	})
	if len(found.calls) == 0 && !found.unreadable {
		found = lastBlocks(text, offered)
	}
	return found
}

// lastBlocks finds calls of offered tools in the code blocks that a text ends with. Where text follows, or the tool is
// another, a block is for the reader.
func lastBlocks(text string, offered func(name string) bool) scanned {
	for _, at := range blockStart.FindAllStringIndex(text, maxStops) {
		block := strings.TrimRight(text[at[0]:], " \t\n")
		s := (scanner{block, offered}).sequence(0, true)
		unoffered := func(c writtenCall) bool { return !offered(c.name) }
		if s.end == len(block) && len(s.calls) > 0 && !slices.ContainsFunc(s.calls, unoffered) {
			return scanned{calls: s.calls, rest: text[:at[0]]}
		}
	}
	return scanned{rest: text}
}

type scanner struct {
	text    string
	offered func(name string) bool
}

// sequence is some calls that stand together.
type sequence struct {
	calls      []writtenCall
	end        int
	unreadable bool
}

// sequence reads the calls that begin at a place. whole is set where they are all of the text: then they
// may stand in code blocks.
func (p scanner) sequence(at int, whole bool) sequence {
	s := sequence{end: at}
	fenced := false
	for at < len(p.text) {
		begin := at + len(gapPattern.FindString(p.text[at:]))
		marked := markPattern.MatchString(p.text[at:begin])
		if code := fencePattern.FindString(p.text[begin:]); code != "" && (whole || marked) && !fenced {
			fenced, marked = true, marked || strings.Contains(code, "tool_")
			begin += len(code)
			begin += len(gapPattern.FindString(p.text[begin:]))
			marked = marked || markPattern.MatchString(p.text[at:begin])
		}
		calls, end, like := p.one(begin, marked, whole)
		if len(calls) == 0 {
			if like || begin == len(p.text) && opens(p.text[at:begin]) && beforeCall.MatchString(p.text[:at]) {
				s.unreadable, s.end = true, len(p.text)
			} else if len(s.calls) == 0 {
				s.end = begin // what the marks before it may begin is here
			}
			break
		}
		s.calls = append(s.calls, calls...)
		end += len(closePattern.FindString(p.text[end:]))
		if close := fenceEnd.FindString(p.text[end:]); close != "" && fenced {
			fenced = false
			end += len(close)
			end += len(closePattern.FindString(p.text[end:]))
		}
		at, s.end = end, end
	}
	if len(s.calls) > 0 && strings.TrimSpace(p.text[s.end:]) == "" {
		s.end = len(p.text)
	}
	return s
}

// opens reports whether the last of some marks was to begin a call.
func opens(marks string) bool {
	all := markPattern.FindAllString(marks, -1)
	if len(all) == 0 {
		return false
	}
	last := strings.ToLower(all[len(all)-1])
	return strings.Contains(last, "tool") && !strings.Contains(last, "/") && !strings.Contains(last, "end")
}

// one reads a call in one of the forms, or a list of calls. like is set if the text begins like a call, but cannot be
// read as one.
func (p scanner) one(at int, marked, whole bool) (calls []writtenCall, end int, like bool) {
	rest := p.text[at:]
	switch {
	case rest == "":
		return nil, at, false
	case rest[0] == '{' || rest[0] == '[':
		return p.json(at, marked, whole)
	}
	if tag := functionTag.FindStringSubmatch(rest); tag != nil {
		arguments, values, end, ok := p.body(at + len(tag[0]))
		if !ok {
			return nil, at, tag[0] == rest || strings.ContainsAny(rest[len(tag[0]):len(tag[0])+1], "{[<")
		}
		return []writtenCall{{plainName(tag[1]), arguments, values}}, end, true
	}
	if action := actionPattern.FindStringSubmatch(rest); action != nil {
		raw, end, ok := p.object(at + len(action[0]))
		if !ok {
			return nil, at, p.offered(action[1])
		}
		return p.unmarked(at, []writtenCall{{name: action[1], arguments: raw}}, end, whole)
	}
	if halfTag.MatchString(rest) {
		return nil, at, true
	}
	c, end, like := p.named(at, marked)
	switch {
	case end == at:
		return nil, at, like
	case marked || strings.HasPrefix(rest, "to="):
		return []writtenCall{c}, end, true
	}
	// functions.NAME({…}), or what may be a sentence
	return p.unmarked(at, []writtenCall{c}, end, whole && strings.HasPrefix(rest, "functions."))
}

// unmarked returns calls without a mark: they are calls if their tools are offered, or if unoffered is
// set.
func (p scanner) unmarked(at int, calls []writtenCall, end int, unoffered bool) ([]writtenCall, int, bool) {
	for _, c := range calls {
		if !unoffered && !p.offered(c.name) {
			return nil, at, false
		}
	}
	return calls, end, false
}

// named reads a name with arguments. Without a mark they stand in parentheses.
func (p scanner) named(at int, marked bool) (c writtenCall, end int, like bool) {
	name := namePattern.FindStringSubmatch(p.text[at:])
	if name == nil {
		return c, at, false
	}
	c.name = name[1]
	after := at + len(name[0])
	rest := p.text[after:]
	if strings.HasPrefix(rest, "(") {
		var ok bool
		if c.arguments, end, ok = p.parameters(after + 1); !ok {
			return c, at, marked || strings.Contains(name[0], ".") && p.offered(c.name)
		}
		if strings.HasPrefix(name[0], "print(") {
			end += len(p.text[end:]) - len(strings.TrimPrefix(p.text[end:], ")"))
		}
		return c, end, true
	}
	if !marked && !strings.HasPrefix(name[0], "to=") {
		return c, at, false
	}
	if argumentTag.MatchString(rest) {
		c.values, end = map[string]string{}, after
		next := argumentTag.FindStringSubmatch
		for tag := next(rest); tag != nil; tag = next(p.text[end:]) {
			c.values[tag[1]] = strings.TrimSpace(tag[2])
			end += len(tag[0])
		}
		return c, end, true
	}
	begin := after + len(betweenName.FindString(rest))
	if raw, end, ok := p.object(begin); ok {
		c.arguments = raw
		return c, end, true
	}
	if strings.HasPrefix(name[0], "call:") {
		if c.arguments, end = p.gemma(begin); end > begin {
			return c, end, true
		}
	}
	if p.offered(c.name) && strings.HasPrefix(p.text[begin:], "</") {
		c.arguments = json.RawMessage(`{}`)
		return c, begin, true
	}
	like = strings.HasPrefix(p.text[begin:], "{") || strings.HasPrefix(rest, "<arg_key>")
	return c, at, like || begin == len(p.text) && p.offered(c.name)
}

// body reads the arguments in the tag of a function: an object, tags with parameters, or nothing.
func (p scanner) body(at int) (arguments json.RawMessage, values map[string]string, end int, ok bool) {
	if arguments, end, ok := p.object(at); ok {
		return arguments, nil, end, true
	}
	values = map[string]string{}
	for {
		tag := parameterTag.FindStringSubmatch(p.text[at:])
		if tag == nil {
			break
		}
		at += len(tag[0])
		length := strings.Index(p.text[at:], "</"+tag[1]+">")
		if length < 0 {
			return nil, nil, at, false
		}
		value := strings.TrimPrefix(p.text[at:at+length], "\n")
		values[tag[2]] = strings.TrimSuffix(value, "\n")
		at += length + len("</"+tag[1]+">")
	}
	if len(values) == 0 && !functionEnd.MatchString(p.text[at:]) {
		return nil, nil, at, false
	}
	return nil, values, at, true
}
