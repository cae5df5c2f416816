package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
)

// words is what a message says to its reader, without what the model thought
// before. The library hands a list of parts over as its JSON, so the list is read here.
func words(m sdk.ChatCompletionMessage) string {
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

// withoutThoughts takes away the thoughts that stand before an answer where the
// server has no parser for them: DeepSeek-R1 and Qwen behind Ollama or vLLM.
// Some templates put the opening tag into the prompt, and only the closing one
// comes back. Cut before that, such thoughts cannot be told from an answer.
func withoutThoughts(text string) string {
	const opening, closing = "<think>", "</think>"
	begin := strings.TrimSpace(text)
	thoughts, answer, closed := strings.Cut(begin, closing)
	switch {
	case strings.HasPrefix(begin, opening): // never closed: thoughts to the end, and no answer
	case !closed, strings.Contains(thoughts, opening), strings.HasSuffix(thoughts, "`"), strings.HasPrefix(begin, "{"):
		return text // an answer, which may speak of the tags
	}
	return strings.TrimSpace(answer)
}
