package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
)

// text returns the text of a message. The library
// passes a list of parts on as JSON, so text parses it.
func text(m sdk.ChatCompletionMessage) string {
	raw := m.JSON.Content.Raw()
	if strings.HasPrefix(raw, `"`) {
		return m.Content
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
	return b.String()
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
