package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"myao/internal/llm"
)

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

type anthropicMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// blocks returns the message's content; a string is none.
func (m anthropicMessage) blocks() []anthropicBlock {
	var all []anthropicBlock
	_ = json.Unmarshal(m.Content, &all)
	return all
}

func ofType(blocks []anthropicBlock, kind string) []anthropicBlock {
	return slices.DeleteFunc(slices.Clone(blocks), func(b anthropicBlock) bool { return b.Type != kind })
}

// anthropicTurns returns the assistant messages that call tools, with the results that follow.
func anthropicTurns(messages []anthropicMessage) ([]llm.Turn, error) {
	var turns []llm.Turn
	for i, m := range messages {
		uses := ofType(m.blocks(), "tool_use")
		if len(uses) == 0 {
			continue
		}
		turn, names := llm.Turn{Provider: "anthropic", Opaque: m.Content}, map[string]string{}
		for _, b := range ofType(m.blocks(), "text") {
			turn.Text += b.Text
		}
		for _, b := range uses {
			turn.Calls = append(turn.Calls, llm.Call{ID: b.ID, Name: b.Name, Input: b.Input})
			names[b.ID] = b.Name
		}
		if i+1 < len(messages) {
			for _, b := range ofType(messages[i+1].blocks(), "tool_result") {
				shown, err := anthropicShown(b.Content)
				if err != nil {
					return nil, err
				}
				turn.Results = append(turn.Results, llm.ToolResult{CallID: b.ToolUseID, Name: names[b.ToolUseID], Text: shown.joined(), Failed: b.IsError, Files: shown.files})
			}
		}
		turns = append(turns, turn)
	}
	return turns, nil
}

func anthropicTools(declared []anthropicTool) []llm.Tool {
	var tools []llm.Tool
	for _, t := range declared {
		tools = append(tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	return tools
}

// rules are those of the Messages API.
func (anthropic) rules(body []byte) error {
	var in struct {
		Messages []anthropicMessage `json:"messages"`
		Tools    []anthropicTool    `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	if err := named(anthropicTools(in.Tools)); err != nil {
		return err
	}
	var open []string // the ids of the calls of the message before
	for i, m := range in.Messages {
		blocks := m.blocks()
		var answered []string
		for at, b := range blocks {
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) == "":
				return fmt.Errorf("messages.%d.content.%d: text content blocks must contain non-whitespace text", i, at)
			case b.Type == "tool_result" && (m.Role != "user" || !slices.Contains(open, b.ToolUseID) || slices.Contains(answered, b.ToolUseID)):
				return fmt.Errorf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, at, b.ToolUseID)
			case b.Type == "tool_result" && at != len(answered):
				return fmt.Errorf("messages.%d: `tool_result` blocks must come first", i)
			case b.Type == "tool_result":
				answered = append(answered, b.ToolUseID)
			}
		}
		for _, id := range open {
			if !slices.Contains(answered, id) {
				return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message", i, id)
			}
		}
		open = nil
		for _, b := range ofType(blocks, "tool_use") {
			open = append(open, b.ID)
		}
		if len(open)+len(answered) > 0 && len(in.Tools) == 0 {
			return errors.New("requests which include `tool_use` or `tool_result` blocks must define tools")
		}
		if err := thinkingKept(m); err != nil {
			return fmt.Errorf("messages.%d.content.0: %w", i, err)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("messages: `tool_use` ids were found without `tool_result` blocks immediately after: %s", open[0])
	}
	return nil
}

// thinkingKept finds a message whose thoughts are not as anthropicThinking wrote them.
func thinkingKept(m anthropicMessage) error {
	var blocks []map[string]any
	if json.Unmarshal(m.Content, &blocks) != nil {
		return nil
	}
	for at, b := range blocks {
		id, _ := b["id"].(string)
		switch {
		case b["type"] == "thinking" && (at != 0 || b["signature"] != seal(append([]map[string]any{without(b, "signature")}, blocks[1:]...))):
			return errors.New("`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response")
		case b["type"] == "tool_use" && strings.HasSuffix(id, thoughtMark) && blocks[0]["type"] != "thinking":
			return errors.New("expected `thinking` or `redacted_thinking`, but found `" + fmt.Sprint(blocks[0]["type"]) + "`. When `thinking` is enabled, a final `assistant` message must start with a thinking block")
		}
	}
	return nil
}

// anthropicThinking returns a block of thoughts that is signed together with the blocks after it.
func anthropicThinking(after []any) map[string]any {
	block := map[string]any{"type": "thinking", "thinking": "Let me think."}
	block["signature"] = seal(append([]any{without(block, "signature")}, after...))
	return block
}
