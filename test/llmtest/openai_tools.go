package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"myao/internal/llm"
)

type openaiTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	} `json:"function"`
}

type openaiMessage struct {
	Role      string          `json:"role"`
	Content   openaiContent   `json:"content"`
	Reasoning json.RawMessage `json:"reasoning_content"`
	ToolCalls []openaiCall    `json:"tool_calls"`
	CallID    string          `json:"tool_call_id"`
}

type openaiCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// openaiTurns returns the assistant messages that call tools, with the tool messages that follow, and
// the user's message with their files.
func openaiTurns(messages []openaiMessage) []llm.Turn {
	var turns []llm.Turn
	names := map[string]string{}
	for i, m := range messages {
		switch {
		case m.Role == "user" && i > 0 && messages[i-1].Role == "tool" && len(turns) > 0:
			m.Content.resulting(&turns[len(turns)-1])
		case len(m.ToolCalls) > 0:
			turn := llm.Turn{Provider: "openai", Text: m.Content.joined()}
			for _, c := range m.ToolCalls {
				turn.Calls = append(turn.Calls, llm.Call{ID: c.ID, Name: c.Function.Name, Input: json.RawMessage(c.Function.Arguments)})
				names[c.ID] = c.Function.Name
			}
			turns = append(turns, turn)
		case m.Role == "tool" && len(turns) > 0:
			last := &turns[len(turns)-1]
			last.Results = append(last.Results, llm.ToolResult{CallID: m.CallID, Name: names[m.CallID], Text: m.Content.joined()})
		}
	}
	return turns
}

// rules are those of OpenAI, and of DeepSeek where the answer held reasoning_content.
func (openai) rules(body []byte) error {
	var in struct {
		Messages []openaiMessage `json:"messages"`
		Tools    []openaiTool    `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	if err := named(openaiTools(in.Tools)); err != nil {
		return err
	}
	for _, t := range in.Tools {
		if !t.Function.Strict {
			continue
		}
		if err := strict(t.Function.Parameters); err != nil {
			return fmt.Errorf("invalid schema for function '%s': In context=(), %w", t.Function.Name, err)
		}
	}
	open := map[string]bool{} // the ids of calls that have no result yet
	unanswered := func() error {
		for id := range open {
			return errors.New("an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
				"The following tool_call_ids did not have response messages: " + id)
		}
		return nil
	}
	for i, m := range in.Messages {
		if m.Role != "user" && len(m.Content.files) > 0 {
			return fmt.Errorf("messages[%d]: only messages with role 'user' may contain files", i)
		}
		if m.Role == "tool" {
			if !open[m.CallID] {
				return fmt.Errorf("messages[%d]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'", i)
			}
			delete(open, m.CallID)
			continue
		}
		if err := unanswered(); err != nil {
			return err
		}
		for _, c := range m.ToolCalls {
			if m.Role != "assistant" || c.ID == "" || c.Type != "function" || c.Function.Name == "" || open[c.ID] {
				return fmt.Errorf("messages[%d]: invalid tool_calls", i)
			}
			open[c.ID] = true
			var thoughts string
			if strings.HasSuffix(c.ID, thoughtMark) && (json.Unmarshal(m.Reasoning, &thoughts) != nil || thoughts != openaiThoughts(m.ToolCalls)) {
				return fmt.Errorf("missing `reasoning_content` field in the assistant message at message index %d", i)
			}
		}
	}
	return unanswered()
}

// openaiThoughts are the thoughts of an answer with calls.
func openaiThoughts(calls []openaiCall) string { return "Let me look it up. " + seal(calls) }

func openaiTools(declared []openaiTool) []llm.Tool {
	var tools []llm.Tool
	for _, t := range declared {
		tools = append(tools, llm.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	return tools
}

// openaiCalls returns the calls of a reply in their form.
func openaiCalls(c Call, r Reply) []openaiCall {
	var calls []openaiCall
	for _, call := range callIDs("call_", c, r) {
		wire := openaiCall{ID: call.ID, Type: "function"}
		wire.Function.Name, wire.Function.Arguments = call.Name, string(call.Input)
		calls = append(calls, wire)
	}
	return calls
}
