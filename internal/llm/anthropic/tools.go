package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"myao/internal/llm"
)

// tool declares a tool. Its schema is sent as it is.
func tool(t llm.Tool) sdk.ToolUnionParam {
	p := sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema)}
	if t.Description != "" {
		p.Description = sdk.String(t.Description)
	}
	return sdk.ToolUnionParam{OfTool: &p}
}

// turn returns the messages of a turn: the model's blocks, as it wrote them, and one message with
// all results.
func turn(t llm.Turn) []sdk.MessageParam {
	said := encoded(struct {
		Role    sdk.MessageParamRole `json:"role"`
		Content json.RawMessage      `json:"content"`
	}{sdk.MessageParamRoleAssistant, t.Opaque})
	var results []sdk.ContentBlockParamUnion
	for _, r := range t.Results {
		block := sdk.ToolResultBlockParam{ToolUseID: r.CallID}
		if r.Failed {
			block.IsError = sdk.Bool(true)
		}
		if strings.TrimSpace(r.Text) != "" { // the API refuses blank texts, but takes no content
			block.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Text}}}
		}
		for _, b := range blocks(r.Files) {
			block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfText: b.OfText,
				OfImage: b.OfImage, OfDocument: b.OfDocument})
		}
		results = append(results, sdk.ContentBlockParamUnion{OfToolResult: &block})
	}
	return []sdk.MessageParam{param.Override[sdk.MessageParam](said), sdk.NewUserMessage(results...)}
}

// turnOf reads the calls of an answer; nil: it has none, or one without a name. Opaque is the list of its blocks,
// without blank texts, which the API writes but does not take back.
func turnOf(m *sdk.Message) *llm.Turn {
	t := &llm.Turn{Provider: provider, Text: llm.WithoutThoughts(text(m))}
	var blocks []json.RawMessage
	for _, block := range m.Content {
		if block.Type == "text" && strings.TrimSpace(block.Text) == "" {
			continue
		}
		blocks = append(blocks, json.RawMessage(block.RawJSON()))
		if isCall(block) {
			if block.Name == "" {
				return nil
			}
			input := block.Input
			if len(input) == 0 {
				input = json.RawMessage(`{}`)
			}
			t.Calls = append(t.Calls, llm.Call{ID: block.ID, Name: block.Name, Input: input})
		}
	}
	if len(t.Calls) == 0 {
		return nil
	}
	t.Opaque = encoded(blocks)
	return t
}

func isCall(b sdk.ContentBlockUnion) bool { return b.Type == "tool_use" }

// turnOfWritten is a turn with calls that stood in the text, as blocks of their own; nil: there are none.
// Thoughts stay as they are, since they are signed.
func turnOfWritten(m *sdk.Message, w llm.Written) *llm.Turn {
	if len(w.Calls) == 0 {
		return nil
	}
	var blocks []json.RawMessage
	for _, block := range m.Content {
		if block.Type != "text" {
			blocks = append(blocks, json.RawMessage(block.RawJSON()))
		}
	}
	if w.Text != "" {
		blocks = append(blocks, encoded(sdk.NewTextBlock(w.Text)))
	}
	for _, c := range w.Calls {
		blocks = append(blocks, encoded(sdk.NewToolUseBlock(c.ID, c.Input, c.Name)))
	}
	return &llm.Turn{Provider: provider, Opaque: encoded(blocks), Text: w.Text, Calls: w.Calls}
}

// encoded encodes parts of a message, which were JSON before.
func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("anthropic: a message that is not JSON: %v", err))
	}
	return b
}
