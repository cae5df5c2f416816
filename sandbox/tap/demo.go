package tap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

// modelBackend answers with a model in this process.
func modelBackend(model llm.Model) backend {
	return func(w http.ResponseWriter, r *http.Request, q question, note func(answer, fault string)) {
		refuse := func(status int, message string) {
			note("", message)
			q.refuse(w, status, message)
		}
		if q.Provider != string(config.ProviderOpenAI) {
			refuse(http.StatusNotFound, "the demo model needs OpenAI's protocol")
			return
		}
		asked := llm.Request{Purpose: q.purpose, Model: q.Model, System: q.System, Prompt: q.User, Files: q.Files,
			Tools: q.Tools, Turns: q.Turns}
		if q.Judgment() {
			var err error
			if asked.Schema, err = readSchema(q.Call); err != nil {
				refuse(http.StatusBadRequest, err.Error())
				return
			}
		}
		answer, err := model.Generate(r.Context(), asked)
		if err != nil {
			refuse(http.StatusServiceUnavailable, err.Error())
			return
		}
		note(answered(answer), "")
		reply := llmtest.Reply{Text: answer.Text, InputTokens: answer.Usage.Input, OutputTokens: answer.Usage.Output}
		if answer.Turn != nil {
			reply.Text, reply.Calls = answer.Turn.Text, answer.Turn.Calls
		}
		q.Answer(w, q.Call, reply)
	}
}

// maximumPattern finds the greatest allowed value, which only the description of a property
// states.
var maximumPattern = regexp.MustCompile(`from 0 to (\d+)`)

// readSchema is the reverse of llm.Schema's JSONSchema, except that it leaves the name empty.
func readSchema(c llmtest.Call) (*llm.Schema, error) {
	var object struct {
		Properties map[string]struct {
			Type        json.RawMessage `json:"type"`
			Description string          `json:"description"`
			Enum        []*string       `json:"enum"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(c.Schema, &object); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	s := &llm.Schema{}
	for _, name := range c.Properties() {
		form := object.Properties[name]
		p := llm.Property{Name: name, Description: form.Description}
		var types []llm.Type
		if json.Unmarshal(form.Type, &p.Type) != nil && json.Unmarshal(form.Type, &types) != nil {
			return nil, fmt.Errorf("read the schema: %s has no type", name)
		}
		for _, t := range types {
			if t == "null" {
				p.Nullable = true
			} else {
				p.Type = t
			}
		}
		for _, v := range form.Enum {
			if v != nil {
				p.Enum = append(p.Enum, *v)
			}
		}
		if m := maximumPattern.FindStringSubmatch(p.Description); m != nil && p.Type == llm.Integer {
			if most, err := strconv.Atoi(m[1]); err == nil {
				p.Maximum = &most
			}
		}
		s.Properties = append(s.Properties, p)
	}
	return s, nil
}
