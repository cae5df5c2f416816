package llm

import (
	"regexp"
	"strings"
)

// thoughtMarks match the marks before and after a model's thoughts.
type thoughtMarks struct{ opening, closing *regexp.Regexp }

// thoughtName matches the names of the tags: think of DeepSeek-R1, Qwen and most others, and those that
// models write who were asked to think aloud.
const thoughtName = namespace + `(?:think(?:ing)?|thoughts?|reasoning)>`

var tagMarks = thoughtMarks{regexp.MustCompile(`<` + thoughtName), regexp.MustCompile(`</` + thoughtName)}

var allThoughtMarks = []thoughtMarks{
	tagMarks,
	// Mistral's
	{regexp.MustCompile(`\[THINK\]`), regexp.MustCompile(`\[/THINK\]`)},
	// Gemma 4
	{regexp.MustCompile(`<\|channel>`), regexp.MustCompile(`<channel\|>`)},
	{regexp.MustCompile(`<\|channel\|>`),
		regexp.MustCompile(`<\|channel\|>final(?: ?<\|constrain\|>\w+)?<\|message\|>`)}, // gpt-oss
}

// endMark matches the mark with which gpt-oss ends an answer.
var endMark = regexp.MustCompile(`<\|(?:return|end)\|>$`)

// channelCall matches a call of gpt-oss, which stands in a channel of its own.
var channelCall = regexp.MustCompile(`(?:<\|channel\|>)?(?:commentary|analysis) to=functions\.|<\|start\|>assistant to=functions\.`)

// WithoutThoughts removes the thoughts before and within an answer where the server has no
// parser for them: open models behind Ollama, vLLM, llama.cpp or MLX, and what speaks
// another protocol in front of them. Some templates put the opening mark into the prompt, so that
// only the closing one comes back. If such thoughts are cut before it, they look like an answer.
func WithoutThoughts(text string) string {
	if at := channelCall.FindStringIndex(text); at != nil && strings.HasPrefix(strings.TrimSpace(text), "<|") {
		return text[at[0]+strings.Index(text[at[0]:at[1]], "to="):]
	}
	for range maxThoughts {
		rest, found := withoutFirstThoughts(text)
		if !found {
			break
		}
		text = rest
	}
	return withoutLaterThoughts(text)
}

// maxThoughts bounds the thoughts before an answer.
const maxThoughts = 10

func withoutFirstThoughts(text string) (rest string, found bool) {
	begin := strings.TrimSpace(text)
	for _, t := range allThoughtMarks {
		opening, closing := t.opening.FindStringIndex(begin), t.closing.FindStringIndex(begin)
		switch {
		case opening != nil && opening[0] == 0 && closing == nil:
			return "", true // never closed: all thoughts, no answer
		case opening != nil && opening[0] == 0:
		case closing == nil, opening != nil && opening[0] <= closing[0], strings.HasSuffix(begin[:closing[0]], "`"),
			strings.HasPrefix(begin, "{"):
			continue // an answer, which may mention the marks
		}
		return strings.TrimSpace(endMark.ReplaceAllString(strings.TrimSpace(begin[closing[1]:]), "")), true
	}
	// gpt-oss, where the server drops the marks but keeps the names of the channels.
	if _, answer, found := strings.Cut(begin, "assistantfinal"); found && strings.HasPrefix(begin, "analysis") {
		return strings.TrimSpace(answer), true
	}
	return text, false
}

var (
	laterThoughts = regexp.MustCompile(codeMarks + `|(?m:^[ \t]*<` + thoughtName + `)`)
	lineEnd       = regexp.MustCompile(`^[ \t]*(?:\n|$)`)
)

// withoutLaterThoughts removes the thoughts that a model has begun on a line of their own.
func withoutLaterThoughts(text string) string {
	if !tagMarks.opening.MatchString(text) {
		return text
	}
	return strings.TrimSpace(outsideCode(text, laterThoughts, func(_, end int) (resume int, removed bool) {
		closing := tagMarks.closing.FindStringIndex(text[end:])
		switch {
		case closing != nil && (lineEnd.MatchString(text[end:]) || lineEnd.MatchString(text[end+closing[1]:])):
			return end + closing[1], true
		case closing == nil && lineEnd.MatchString(text[end:]):
			return len(text), true // never closed
		}
		return end, false // a mention
	}))
}
