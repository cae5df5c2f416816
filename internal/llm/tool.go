package llm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// Tool is something that a model may ask the caller to do.
type Tool struct {
	// Name is one to 63 letters, digits, underscores and dashes.
	Name        string
	Description string
	// Schema is the JSON schema of the input, an object.
	Schema json.RawMessage
}

// Call is a model's request to use a tool.
type Call struct {
	// ID is unique among the calls of one turn. The provider made it, or the adapter where the
	// provider makes none.
	ID   string
	Name string
	// Input is what the model wrote. It should be a JSON object, but may be anything.
	Input json.RawMessage
}

// ToolResult is the caller's answer to a Call.
type ToolResult struct {
	CallID string
	Name   string
	Text   string
	// Failed is set if Text is an error that the model may be able to correct.
	Failed bool
	// Files are shown to the model after Text.
	Files []File
}

// Turn is a model's answer that calls tools, with the results of its calls. Request.Turns sends
// turns back to the provider and the model that wrote them. If a request with turns is
// ErrInvalid, the same question as a plain request, with the results in its prompt, may succeed.
type Turn struct {
	// Provider is the adapter that wrote Opaque.
	Provider string
	// Opaque is the answer as the provider wants it back: its parts verbatim and in order, with
	// signatures and thoughts. Only the adapter reads it. It is JSON, and may be stored as such.
	Opaque json.RawMessage
	// Text is what the model wrote besides its calls. It may be empty.
	Text string
	// Calls are never empty.
	Calls []Call
	// Results has one entry for each call, in the order of Calls. It is empty in a Response.
	Results []ToolResult
}

// toolName matches the names that every provider takes.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)

// toolFault says why no provider could answer the request with its tools and turns; "": nothing
// is wrong.
func (r Request) toolFault(provider string) string {
	switch {
	case len(r.Tools) > 0 && r.Schema != nil:
		return "the request has tools and a schema: it must have one of them"
	case len(r.Turns) > 0 && len(r.Tools) == 0:
		return "the request has turns but no tools: results must then be in the prompt"
	}
	seen := map[string]bool{}
	for _, t := range r.Tools {
		var schema map[string]json.RawMessage
		switch {
		case !toolName.MatchString(t.Name):
			return fmt.Sprintf("the tool %.64q has a name that is not 1 to 63 letters, digits, underscores and dashes",
				t.Name)
		case seen[t.Name]:
			return fmt.Sprintf("the tool %q is declared twice", t.Name)
		case json.Unmarshal(t.Schema, &schema) != nil || string(schema["type"]) != `"object"`:
			return fmt.Sprintf("the schema of the tool %q is not that of an object", t.Name)
		}
		seen[t.Name] = true
	}
	for i, t := range r.Turns {
		if fault := t.fault(provider); fault != "" {
			return fmt.Sprintf("turn %d %s", i+1, fault)
		}
	}
	return ""
}

func (t Turn) fault(provider string) string {
	switch {
	case t.Provider != provider:
		return fmt.Sprintf("is by the provider %.64q", t.Provider)
	case !json.Valid(t.Opaque):
		return "is not as the provider wrote it"
	case len(t.Calls) == 0:
		return "has no calls"
	case len(t.Results) != len(t.Calls):
		return fmt.Sprintf("has %d results for %d calls", len(t.Results), len(t.Calls))
	}
	for i, c := range t.Calls {
		if r := t.Results[i]; r.CallID != c.ID || r.Name != c.Name {
			return fmt.Sprintf("has a result of %.64q in the place of %.64q", r.Name, c.Name)
		}
	}
	return ""
}

// CallID returns an id for a call without one, such as call00001: unique in a request, and of
// nine letters and digits, which Mistral demands. turn and position count from 0.
func CallID(turn, position int) string { return fmt.Sprintf("call%02d%03d", turn%100, position%1000) }

// refusesTools matches how servers say that a model takes no tools: Ollama ("… does not support
// tools"), OpenAI ("tools is not supported in this model"), OpenRouter ("No endpoints found that
// support tool use"), Groq and DeepInfra ("Tool calling is not supported"), vLLM ("\"auto\" tool
// choice requires --enable-auto-tool-choice"), llama.cpp ("tools param requires --jinja flag"),
// Qwen ("Unsupported param: tools"), Azure ("Unrecognized request argument supplied: tools"),
// Gemini ("Function calling is not enabled for models/gemma-3"), and strict parsers ("tools: Extra
// inputs are not permitted").
var refusesTools = regexp.MustCompile("(?i)(tools?|functions?|tool (use|calls?)|(tool|function) calling)['\"`]* " +
	`((is|are) (currently )?(not (currently )?|un)|(is|are)n't )(supported|enabled|available|permitted)` +
	"|n[o']t (currently )?support ['\"`]*(tool|function)" +
	"|(unsupported|unrecognized|unknown) (request )?(param|parameter|argument|field)s?( supplied)?: " +
	"['\"`]*tools(['\"` ]|\\.?$)" +
	`|that support tool use|tool choice requires|tools param requires|function tools with reasoning_effort|^tools: extra inputs`)

// RefusesTools reports whether the server refuses the request because its model takes no tools.
// Such a refusal costs nothing.
func (e *Error) RefusesTools() bool {
	return slices.Contains(refusingStatuses, e.Status) && refusesTools.MatchString(e.Message)
}
