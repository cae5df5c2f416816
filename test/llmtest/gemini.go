package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// gemini speaks v1beta generateContent.
type gemini struct{}

func (gemini) read(r *http.Request, body []byte) (Call, error) {
	var in struct {
		SystemInstruction geminiContent   `json:"systemInstruction"`
		Contents          []geminiContent `json:"contents"`
		Tools             []geminiTool    `json:"tools"`
		GenerationConfig  struct {
			Temperature      *float64        `json:"temperature"`
			MaxOutputTokens  *int            `json:"maxOutputTokens"`
			ResponseMIMEType string          `json:"responseMimeType"`
			ResponseSchema   json.RawMessage `json:"responseSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Call{}, fmt.Errorf("read request: %w", err)
	}
	_, path, _ := strings.Cut(r.URL.Path, "/v1beta/")
	c := Call{
		Provider:    "gemini",
		Model:       strings.TrimPrefix(strings.TrimSuffix(path, ":generateContent"), "models/"),
		System:      in.SystemInstruction.text(),
		Temperature: in.GenerationConfig.Temperature,
		MaxTokens:   in.GenerationConfig.MaxOutputTokens,
		Tools:       geminiTools(in.Tools),
	}
	var err error
	if c.Turns, err = geminiTurns(in.Contents); err != nil {
		return Call{}, err
	}
	var user []string
	for _, content := range in.Contents {
		if len(content.Parts) == 0 {
			return Call{}, errors.New("contents is not specified")
		}
		if content.Role != "model" && len(content.responses()) == 0 {
			shown, err := content.shown()
			if err != nil {
				return Call{}, err
			}
			user, c.Files = append(user, shown.joined()), append(c.Files, shown.files...)
		}
	}
	if n := len(in.Contents); n == 0 || in.Contents[n-1].Role == "model" {
		return Call{}, errors.New("requests ending with a model turn are not supported")
	}
	c.User = strings.Join(user, "\n")
	if in.GenerationConfig.ResponseMIMEType == "application/json" {
		c.Schema = in.GenerationConfig.ResponseSchema
		if c.Schema == nil {
			c.Schema = json.RawMessage(`{}`)
		}
		if _, _, err := propertiesOf(c.Schema); err != nil {
			return Call{}, err
		}
	} else if in.GenerationConfig.ResponseSchema != nil {
		return Call{}, errors.New("a response schema needs the MIME type application/json")
	}
	return c, nil
}

func (gemini) key(h http.Header) string { return h.Get("X-Goog-Api-Key") }

var googleStatus = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
	429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func (gemini) failure(r Reply) any {
	var details []map[string]any
	if r.Code != "" {
		details = append(details, map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": r.Code})
	}
	if r.RetryInfo > 0 {
		details = append(details, map[string]any{
			"@type":      "type.googleapis.com/google.rpc.RetryInfo",
			"retryDelay": fmt.Sprintf("%gs", r.RetryInfo.Seconds()),
		})
	}
	e := map[string]any{"code": r.Status, "message": r.Message, "status": googleStatus[r.Status]}
	if details != nil {
		e["details"] = details
	}
	return map[string]any{"error": e}
}

func (gemini) success(c Call, r Reply) any {
	out := map[string]any{"usageMetadata": map[string]any{
		"promptTokenCount":     r.InputTokens,
		"candidatesTokenCount": r.OutputTokens,
		"thoughtsTokenCount":   r.ThoughtTokens,
		"totalTokenCount":      r.InputTokens + r.OutputTokens + r.ThoughtTokens,
	}, "modelVersion": c.Model}
	if r.Blocked {
		out["promptFeedback"] = map[string]any{"blockReason": "SAFETY"}
		return out
	}
	content := map[string]any{"role": "model"}
	finish := "STOP"
	switch parts, ok := geminiParts(c, r); {
	case !ok:
		finish = "MALFORMED_FUNCTION_CALL"
	case len(parts) > 0:
		content["parts"] = parts
	}
	if r.Cut {
		finish = "MAX_TOKENS"
	}
	out["candidates"] = []any{map[string]any{"content": content, "finishReason": finish, "index": 0}}
	return out
}
