package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// anthropic speaks the Messages API, without streams.
type anthropic struct{}

// anthropicText is a system prompt: a string, or a list of blocks.
type anthropicText string

func (t *anthropicText) UnmarshalJSON(raw []byte) error {
	shown, err := anthropicShown(raw)
	*t = anthropicText(shown.joined())
	return err
}

func (anthropic) read(r *http.Request, body []byte) (Call, error) {
	var in struct {
		Model        string             `json:"model"`
		MaxTokens    *int               `json:"max_tokens"`
		Stream       bool               `json:"stream"`
		System       anthropicText      `json:"system"`
		Messages     []anthropicMessage `json:"messages"`
		Tools        []anthropicTool    `json:"tools"`
		Temperature  *float64           `json:"temperature"`
		OutputConfig struct {
			Format *struct {
				Type   string          `json:"type"`
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"output_config"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Call{}, fmt.Errorf("read request: %w", err)
	}
	switch {
	case r.Header.Get("Anthropic-Version") == "":
		return Call{}, errors.New("anthropic-version: header is required")
	case in.Model == "":
		return Call{}, errors.New("model: Field required")
	case in.MaxTokens == nil || *in.MaxTokens < 1:
		return Call{}, errors.New("max_tokens: Field required")
	case in.Stream:
		return Call{}, errors.New("streams are not served here")
	case len(in.Messages) == 0:
		return Call{}, errors.New("messages: at least one message is required")
	}
	c := Call{Provider: "anthropic", Model: in.Model, System: string(in.System), Temperature: in.Temperature, MaxTokens: in.MaxTokens,
		Tools: anthropicTools(in.Tools)}
	var err error
	if c.Turns, err = anthropicTurns(in.Messages); err != nil {
		return Call{}, fmt.Errorf("messages: %w", err)
	}
	var user []string
	for _, m := range in.Messages {
		switch m.Role {
		case "user":
			shown, err := anthropicShown(m.Content)
			if err != nil {
				return Call{}, fmt.Errorf("messages: %w", err)
			}
			if text := shown.joined(); len(ofType(m.blocks(), "tool_result")) == 0 || text != "" {
				user = append(user, text)
			}
			c.Files = append(c.Files, shown.files...)
		case "assistant":
		default:
			return Call{}, fmt.Errorf("messages: unexpected role %q", m.Role)
		}
	}
	c.User = strings.Join(user, "\n")
	if format := in.OutputConfig.Format; format != nil {
		if format.Type != "json_schema" || format.Schema == nil {
			return Call{}, errors.New("output_config.format: a type and a schema are required")
		}
		c.Schema = format.Schema
	}
	return c, nil
}

func (anthropic) key(h http.Header) string { return h.Get("X-Api-Key") }

var anthropicErrors = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

func (anthropic) failure(r Reply) any {
	kind := r.Code
	if kind == "" {
		kind = anthropicErrors[r.Status]
	}
	if kind == "" {
		kind = "api_error"
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": r.Message}, "request_id": "req_llmtest"}
}

func (anthropic) success(c Call, r Reply) any {
	stop, content := "end_turn", []any{}
	switch {
	case r.Blocked:
		stop, r.Text = "refusal", ""
	case r.Cut:
		stop = "max_tokens"
	}
	if r.Text != "" {
		content = append(content, map[string]any{"type": "text", "text": r.Text, "citations": nil})
	}
	for _, call := range callIDs("toolu_", c, r) {
		if r.Blocked {
			break
		}
		if stop == "end_turn" {
			stop = "tool_use"
		}
		content = append(content, map[string]any{"type": "tool_use", "id": call.ID, "name": call.Name, "input": call.Input, "caller": map[string]any{"type": "direct"}})
	}
	if r.ThoughtTokens > 0 {
		content = append([]any{anthropicThinking(content)}, content...)
	}
	return map[string]any{
		"id": "msg_" + strconv.Itoa(c.N), "type": "message", "role": "assistant", "model": c.Model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "stop_details": nil,
		"usage": map[string]any{
			"input_tokens": r.InputTokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
			"output_tokens": r.OutputTokens + r.ThoughtTokens, "output_tokens_details": map[string]any{"thinking_tokens": r.ThoughtTokens},
		},
	}
}
