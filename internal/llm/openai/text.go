package openai

import (
	"encoding/json"
	"regexp"
	"strings"

	sdk "github.com/openai/openai-go/v3"
)

// text is what a message says to its reader, without what the model thought
// before. The library hands a list of parts over as its JSON, so the list is read here.
func text(m sdk.ChatCompletionMessage) string {
	raw := m.JSON.Content.Raw()
	if strings.HasPrefix(raw, `"`) {
		return withoutThoughts(m.Content)
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	// A part of another form leaves the rest readable; what is no list has no text.
	_ = json.Unmarshal([]byte(raw), &parts)
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return withoutThoughts(b.String())
}

// thoughtMarks is how a model marks them, as regular expressions.
type thoughtMarks struct{ opening, closing *regexp.Regexp }

var allThoughtMarks = []thoughtMarks{
	{regexp.MustCompile(`<think>`), regexp.MustCompile(`</think>`)},                                                       // DeepSeek-R1, Qwen and most others
	{regexp.MustCompile(`\[THINK\]`), regexp.MustCompile(`\[/THINK\]`)},                                                   // Mistral's
	{regexp.MustCompile(`<\|channel>`), regexp.MustCompile(`<channel\|>`)},                                                // Gemma 4
	{regexp.MustCompile(`<\|channel\|>`), regexp.MustCompile(`<\|channel\|>final(?: ?<\|constrain\|>\w+)?<\|message\|>`)}, // gpt-oss
}

// endMark is what gpt-oss ends an answer with.
var endMark = regexp.MustCompile(`<\|(?:return|end)\|>$`)

// withoutThoughts takes away the thoughts that stand before an answer where the
// server has no parser for them: open models behind Ollama, vLLM, llama.cpp or MLX.
// Some templates put the opening tag into the prompt, and only the closing one
// comes back. Cut before that, such thoughts cannot be told from an answer.
func withoutThoughts(text string) string {
	begin := strings.TrimSpace(text)
	for _, t := range allThoughtMarks {
		opening, closing := t.opening.FindStringIndex(begin), t.closing.FindStringIndex(begin)
		switch {
		case opening != nil && opening[0] == 0 && closing == nil:
			return "" // never closed: thoughts to the end, and no answer
		case opening != nil && opening[0] == 0:
		case closing == nil, opening != nil && opening[0] <= closing[0], strings.HasSuffix(begin[:closing[0]], "`"), strings.HasPrefix(begin, "{"):
			continue // an answer, which may speak of the tags
		}
		return strings.TrimSpace(endMark.ReplaceAllString(strings.TrimSpace(begin[closing[1]:]), ""))
	}
	// gpt-oss, where the server leaves out what it marks them with, but not the names.
	if _, answer, found := strings.Cut(begin, "assistantfinal"); found && strings.HasPrefix(begin, "analysis") {
		return strings.TrimSpace(answer)
	}
	return text
}

// verdictInThoughts is the JSON object that a server took for thoughts, since none stand before it: vLLM
// does, where a schema leaves a model no room for them. Empty if there is none.
func verdictInThoughts(m sdk.ChatCompletionMessage) string {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		var said string
		if json.Unmarshal([]byte(m.JSON.ExtraFields[field].Raw()), &said) != nil {
			continue
		}
		if said = strings.TrimSpace(said); strings.HasPrefix(said, "{") && json.Valid([]byte(said)) {
			return said
		}
	}
	return ""
}
