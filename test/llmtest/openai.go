package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// openai speaks chat completions, without streams.
type openai struct{}

func (openai) read(_ *http.Request, body []byte) (Call, error) {
	var in struct {
		Model          string          `json:"model"`
		Stream         bool            `json:"stream"`
		Messages       []openaiMessage `json:"messages"`
		Tools          []openaiTool    `json:"tools"`
		Temperature    *float64        `json:"temperature"`
		MaxTokens      *int            `json:"max_tokens"`
		MaxCompletion  *int            `json:"max_completion_tokens"`
		ResponseFormat struct {
			Type       string `json:"type"`
			JSONSchema struct {
				Name   string          `json:"name"`
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Call{}, fmt.Errorf("read request: %w", err)
	}
	switch {
	case in.Model == "":
		return Call{}, errors.New("you must provide a model parameter")
	case in.Stream:
		return Call{}, errors.New("streams are not served here")
	case len(in.Messages) == 0:
		return Call{}, errors.New("messages is too short")
	}
	c := Call{Provider: "openai", Model: in.Model, Temperature: in.Temperature, MaxTokens: in.MaxTokens,
		Tools: openaiTools(in.Tools), Turns: openaiTurns(in.Messages)}
	if in.MaxCompletion != nil {
		c.MaxTokens = in.MaxCompletion
	}
	var system, user []string
	for i, m := range in.Messages {
		switch m.Role {
		case "system", "developer":
			system = append(system, m.Content.joined())
		case "user":
			if i > 0 && in.Messages[i-1].Role == "tool" {
				continue // the files of results
			}
			user, c.Files = append(user, m.Content.joined()), append(c.Files, m.Content.files...)
		}
	}
	c.System, c.User = strings.Join(system, "\n"), strings.Join(user, "\n")
	switch in.ResponseFormat.Type {
	case "json_schema":
		if in.ResponseFormat.JSONSchema.Name == "" || in.ResponseFormat.JSONSchema.Schema == nil {
			return Call{}, errors.New("json_schema needs a name and a schema")
		}
		c.Schema = in.ResponseFormat.JSONSchema.Schema
	case "json_object":
		c.Schema = json.RawMessage(`{}`)
	}
	return c, nil
}

func (openai) key(h http.Header) string {
	if k := h.Get("Api-Key"); k != "" {
		return k
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

func (openai) failure(r Reply) any {
	e := map[string]any{"message": r.Message, "type": "llmtest_error", "param": nil, "code": nil}
	if r.Code != "" {
		e["code"] = r.Code
	}
	return map[string]any{"error": e}
}

func (openai) success(c Call, r Reply) any {
	finish := "stop"
	switch {
	case r.Blocked:
		finish, r.Text = "content_filter", ""
	case r.Cut:
		finish = "length"
	}
	message := map[string]any{"role": "assistant", "content": r.Text, "refusal": nil}
	if calls := openaiCalls(c, r); len(calls) > 0 && !r.Blocked {
		message["tool_calls"] = calls
		if r.Text == "" {
			message["content"] = nil
		}
		if r.ThoughtTokens > 0 {
			message["reasoning_content"] = openaiThoughts(calls)
		}
		if finish == "stop" {
			finish = "tool_calls"
		}
	}
	output := r.OutputTokens + r.ThoughtTokens
	return map[string]any{
		"id": "chatcmpl-" + strconv.Itoa(c.N), "object": "chat.completion", "created": c.At.Unix(), "model": c.Model,
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": finish, "logprobs": nil,
			"message": message,
		}},
		"usage": map[string]any{
			"prompt_tokens": r.InputTokens, "completion_tokens": output, "total_tokens": r.InputTokens + output,
			"completion_tokens_details": map[string]any{"reasoning_tokens": r.ThoughtTokens},
		},
	}
}
