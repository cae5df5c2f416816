package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"myao/internal/llm"
)

type geminiTool struct {
	Declarations []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parametersJsonSchema"`
	} `json:"functionDeclarations"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text             string          `json:"text"`
	Call             *geminiCall     `json:"functionCall"`
	Response         *geminiResponse `json:"functionResponse"`
	ThoughtSignature string          `json:"thoughtSignature"`
	Data             *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
	} `json:"inlineData"`
}

type geminiCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type geminiResponse struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

func (c geminiContent) text() string {
	var all []string
	for _, p := range c.Parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "")
}

func (c geminiContent) calls() (calls []geminiCall) {
	for _, p := range c.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

func (c geminiContent) responses() (responses []geminiResponse) {
	for _, p := range c.Parts {
		if p.Response != nil {
			responses = append(responses, *p.Response)
		}
	}
	return responses
}

// geminiTurns returns the contents that call functions, with the responses that follow.
func geminiTurns(contents []geminiContent) ([]llm.Turn, error) {
	var turns []llm.Turn
	for i, c := range contents {
		calls := c.calls()
		if len(calls) == 0 {
			continue
		}
		turn := llm.Turn{Provider: "gemini", Text: c.text()}
		for _, call := range calls {
			turn.Calls = append(turn.Calls, llm.Call{ID: call.ID, Name: call.Name, Input: call.Args})
		}
		if i+1 < len(contents) {
			for _, r := range contents[i+1].responses() {
				text, failed := r.Response["error"]
				if !failed {
					text = r.Response["output"]
				}
				turn.Results = append(turn.Results, llm.ToolResult{CallID: r.ID, Name: r.Name, Text: text, Failed: failed})
			}
			shown, err := contents[i+1].shown()
			if err != nil {
				return nil, err
			}
			shown.resulting(&turn)
		}
		turns = append(turns, turn)
	}
	return turns, nil
}

func geminiTools(declared []geminiTool) []llm.Tool {
	var tools []llm.Tool
	for _, t := range declared {
		for _, d := range t.Declarations {
			tools = append(tools, llm.Tool{Name: d.Name, Description: d.Description, Schema: d.Parameters})
		}
	}
	return tools
}

// unsigned is what Gemini takes for a call that it has not made.
const unsigned = "skip_thought_signature_validator"

// rules are those of Gemini 3.
func (gemini) rules(body []byte) error {
	var in struct {
		Contents []geminiContent `json:"contents"`
		Tools    []geminiTool    `json:"tools"`
	}
	var raw struct {
		Contents []struct {
			Parts []map[string]any `json:"parts"`
		} `json:"contents"`
	}
	if err := errors.Join(json.Unmarshal(body, &in), json.Unmarshal(body, &raw)); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	if err := named(geminiTools(in.Tools)); err != nil {
		return err
	}
	var open []geminiCall
	for i, c := range in.Contents {
		responses := c.responses()
		if len(responses) != len(open) {
			return errors.New("please ensure that the number of function response parts is equal to the number of function call parts of the function call turn")
		}
		for k, r := range responses {
			if c.Parts[k].Response == nil {
				return fmt.Errorf("contents[%d]: the function responses must come first", i)
			}
			if c.Role != "user" || r.Name != open[k].Name || r.ID != open[k].ID || r.Response == nil {
				return fmt.Errorf("contents[%d]: the function response %s %q does not belong to its call", i, r.Name, r.ID)
			}
		}
		if open = c.calls(); len(open) == 0 {
			continue
		}
		if len(in.Tools) == 0 || c.Role != "model" {
			return fmt.Errorf("contents[%d]: a function call that nobody may make", i)
		}
		first := true
		for at, p := range c.Parts {
			switch {
			case p.Call == nil && p.ThoughtSignature != "", p.Call != nil && !first && p.ThoughtSignature != "":
				return fmt.Errorf("thought signature is not valid in content position %d, part position %d", i+1, at+1)
			case p.Call == nil:
				continue
			case first && p.ThoughtSignature == "":
				return fmt.Errorf("function call is missing a thought_signature in functionCall parts. Function call `default_api:%s`, position %d", p.Call.Name, i+1)
			case first && p.ThoughtSignature != unsigned && p.ThoughtSignature != geminiSignature(raw.Contents[i].Parts):
				return errors.New("corrupted thought signature")
			}
			first = false
		}
	}
	if len(open) > 0 {
		return errors.New("requests ending with a model turn are not supported")
	}
	return nil
}

// geminiSignature is the signature of an answer's first call.
func geminiSignature(parts []map[string]any) string {
	var unsigned []map[string]any
	for _, p := range parts {
		unsigned = append(unsigned, without(p, "thoughtSignature"))
	}
	return seal(unsigned)
}

// geminiParts returns the parts of a reply. ok is false if an input is not an object: Gemini ends
// such an answer as a malformed call.
func geminiParts(c Call, r Reply) (parts []map[string]any, ok bool) {
	if r.Text != "" {
		parts = append(parts, map[string]any{"text": r.Text})
	}
	first := len(parts)
	for _, call := range callIDs("fc_", c, r) {
		var args map[string]any
		if json.Unmarshal(call.Input, &args) != nil {
			return nil, false
		}
		parts = append(parts, map[string]any{"functionCall": map[string]any{"id": call.ID, "name": call.Name, "args": args}})
	}
	if len(r.Calls) > 0 {
		parts[first]["thoughtSignature"] = geminiSignature(parts)
	}
	return parts, true
}
