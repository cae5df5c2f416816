package openai

import (
	"encoding/json"
	"regexp"
	"strings"

	sdk "github.com/openai/openai-go/v3"
)

// text returns the text of a message for its reader, without thoughts. The library
// passes a list of parts on as JSON, so text parses it.
func text(m sdk.ChatCompletionMessage) string {
	raw := m.JSON.Content.Raw()
	if strings.HasPrefix(raw, `"`) {
		return withoutThoughts(m.Content)
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	// A part of another form does not affect the others. Anything but a list has no text.
	_ = json.Unmarshal([]byte(raw), &parts)
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return withoutThoughts(b.String())
}

// thoughtMarks match the marks before and after a model's thoughts.
type thoughtMarks struct{ opening, closing *regexp.Regexp }

var allThoughtMarks = []thoughtMarks{
	{regexp.MustCompile(`<think>`), regexp.MustCompile(`</think>`)},                                                       // DeepSeek-R1, Qwen and most others
	{regexp.MustCompile(`\[THINK\]`), regexp.MustCompile(`\[/THINK\]`)},                                                   // Mistral's
	{regexp.MustCompile(`<\|channel>`), regexp.MustCompile(`<channel\|>`)},                                                // Gemma 4
	{regexp.MustCompile(`<\|channel\|>`), regexp.MustCompile(`<\|channel\|>final(?: ?<\|constrain\|>\w+)?<\|message\|>`)}, // gpt-oss
}

// endMark matches the mark with which gpt-oss ends an answer.
var endMark = regexp.MustCompile(`<\|(?:return|end)\|>$`)

// withoutThoughts removes the thoughts before an answer where the server has no
// parser for them: open models behind Ollama, vLLM, llama.cpp or MLX. Some
// templates put the opening mark into the prompt, so that only the closing one
// comes back. If such thoughts are cut before it, they look like an answer.
func withoutThoughts(text string) string {
	begin := strings.TrimSpace(text)
	for _, t := range allThoughtMarks {
		opening, closing := t.opening.FindStringIndex(begin), t.closing.FindStringIndex(begin)
		switch {
		case opening != nil && opening[0] == 0 && closing == nil:
			return "" // never closed: all thoughts, no answer
		case opening != nil && opening[0] == 0:
		case closing == nil, opening != nil && opening[0] <= closing[0], strings.HasSuffix(begin[:closing[0]], "`"), strings.HasPrefix(begin, "{"):
			continue // an answer, which may mention the marks
		}
		return strings.TrimSpace(endMark.ReplaceAllString(strings.TrimSpace(begin[closing[1]:]), ""))
	}
	// gpt-oss, where the server drops the marks but keeps the names of the channels.
	if _, answer, found := strings.Cut(begin, "assistantfinal"); found && strings.HasPrefix(begin, "analysis") {
		return strings.TrimSpace(answer)
	}
	return text
}

// verdictInThoughts returns a JSON object that the server took for thoughts; empty: none. vLLM
// does so if a schema leaves the model no room to think.
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
