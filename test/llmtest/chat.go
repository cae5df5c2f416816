package llmtest

import (
	"encoding/json"
	"strings"

	"myao/internal/llm"
)

// Chat returns the chat turns of a request in order, as the provider's protocol has them: neighbours of one role stay
// apart. Those without a text, as results of tools, are left out.
func (c Call) Chat() []llm.Speech {
	type turn struct {
		Role           string
		Content, Parts json.RawMessage
	}
	var in struct{ Messages, Contents []turn }
	_ = json.Unmarshal(c.Body, &in) // the server has read it
	var said []llm.Speech
	for _, t := range append(in.Messages, in.Contents...) {
		own := t.Role == "assistant" || t.Role == "model"
		var text string
		var parts []struct{ Text string }
		if json.Unmarshal(t.Content, &text) != nil {
			_ = json.Unmarshal(append(t.Content, t.Parts...), &parts)
		}
		for _, p := range parts {
			text += p.Text
		}
		if (own || t.Role == "user") && strings.TrimSpace(text) != "" {
			said = append(said, llm.Speech{Own: own, Text: text})
		}
	}
	return said
}
