package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"myao/internal/llm"
)

// The library knows neither the ids of calls nor thought signatures, which Gemini 3 demands back,
// and its schemas lack most of JSON schema. So the transport writes the tools and the turns into a
// request, and keeps the content of an answer as it came. It writes the other chat turns as well, which the library has
// only with more that servers need not know.

type requestKey struct{}

// withRequest makes the transport write the chat, the tools and the turns of r into this context's request.
func withRequest(ctx context.Context, r llm.Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// withTools adds the chat, the tools and the turns of the context's request to the library's body.
func withTools(ctx context.Context, body []byte) ([]byte, error) {
	r, ok := ctx.Value(requestKey{}).(llm.Request)
	if !ok || len(r.Tools)+len(r.Said) == 0 {
		return body, nil
	}
	var request map[string]json.RawMessage
	var contents []json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("not of Gemini's form: %w", err)
	}
	if err := json.Unmarshal(request["contents"], &contents); err != nil {
		return nil, fmt.Errorf("not of Gemini's form: %w", err)
	}
	before, _ := r.Chat()
	said, err := speeches(before)
	if err != nil {
		return nil, err
	}
	contents = append(said, contents...)
	for _, t := range r.Turns {
		results, err := responses(t)
		if err != nil {
			return nil, err
		}
		contents = append(contents, t.Opaque, results)
	}
	type declaration struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parametersJsonSchema"`
	}
	var tool struct {
		Declarations []declaration `json:"functionDeclarations"`
	}
	for _, t := range r.Tools {
		tool.Declarations = append(tool.Declarations, declaration{t.Name, t.Description, parameters(t.Schema)})
	}
	if len(r.Tools) > 0 {
		if request["tools"], err = json.Marshal([]any{tool}); err != nil {
			return nil, fmt.Errorf("encode tools: %w", err)
		}
	}
	if request["contents"], err = json.Marshal(contents); err != nil {
		return nil, fmt.Errorf("encode turns: %w", err)
	}
	return json.Marshal(request)
}

// speeches returns chat turns as contents.
func speeches(turns []llm.Speech) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, s := range turns {
		c := struct {
			Role  string     `json:"role"`
			Parts []filePart `json:"parts"`
		}{"user", []filePart{{Text: s.Text}}}
		if s.Own {
			c.Role = "model"
		}
		raw, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("encode the chat: %w", err)
		}
		all = append(all, raw)
	}
	return all, nil
}

// responses returns the content with the results of a turn, and after them their files. Results have
// ids if the calls had.
func responses(t llm.Turn) (json.RawMessage, error) {
	type response struct {
		ID       string            `json:"id,omitempty"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	}
	type part struct {
		Response response `json:"functionResponse"`
	}
	var said content
	if err := json.Unmarshal(t.Opaque, &said); err != nil {
		return nil, unusable("a turn is not of Gemini's form")
	}
	calls := said.calls()
	if len(calls) != len(t.Results) {
		return nil, unusable(fmt.Sprintf("a turn has %d calls and %d results", len(calls), len(t.Results)))
	}
	out := struct {
		Role  string `json:"role"`
		Parts []any  `json:"parts"`
	}{Role: "user"}
	var files []any
	for i, r := range t.Results {
		field := "output"
		if r.Failed {
			field = "error"
		}
		out.Parts = append(out.Parts, part{response{calls[i].ID, r.Name, map[string]string{field: r.Text}}})
		files = append(files, fileParts(r)...)
	}
	out.Parts = append(out.Parts, files...)
	return json.Marshal(out)
}

func unusable(message string) error {
	return &llm.Error{Kind: llm.ErrInvalid, Provider: provider, Message: message}
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func (c content) calls() []functionCall {
	var calls []functionCall
	for _, p := range c.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// turnOf reads the calls of an answer's content; nil: it has none, or one without a name.
func turnOf(r llm.Request, raw json.RawMessage, text string) *llm.Turn {
	var said content
	if json.Unmarshal(raw, &said) != nil {
		return nil
	}
	t := &llm.Turn{Provider: provider, Opaque: raw, Text: text}
	if said.Role == "" { // a proxy left it out
		t.Opaque = slices.Concat(json.RawMessage(`{"role":"model",`), bytes.TrimLeft(raw, "{ \t\r\n"))
	}
	for i, c := range said.calls() {
		if c.Name == "" {
			return nil
		}
		call := llm.Call{ID: c.ID, Name: c.Name, Input: c.Args}
		if call.ID == "" {
			call.ID = llm.CallID(len(r.Turns), i)
		}
		if len(call.Input) == 0 {
			call.Input = json.RawMessage(`{}`)
		}
		t.Calls = append(t.Calls, call)
	}
	if len(t.Calls) == 0 {
		return nil
	}
	return t
}

// unsigned stands in the place of the signature of a call that the model did not sign
// (ai.google.dev/gemini-api/docs/thought-signatures#faqs).
const unsigned = "skip_thought_signature_validator"

// turnOfWritten is a turn with calls that stood in the text, as parts of their own; nil: there are none.
func turnOfWritten(w llm.Written) *llm.Turn {
	if len(w.Calls) == 0 {
		return nil
	}
	type signed struct {
		part
		Signature string `json:"thoughtSignature,omitempty"`
	}
	said := struct {
		Role  string   `json:"role"`
		Parts []signed `json:"parts"`
	}{Role: "model"}
	if w.Text != "" {
		said.Parts = append(said.Parts, signed{part: part{Text: &w.Text}})
	}
	for i, c := range w.Calls {
		call := signed{part: part{Call: &functionCall{Name: c.Name, Args: c.Input}}}
		if i == 0 {
			call.Signature = unsigned
		}
		said.Parts = append(said.Parts, call)
	}
	opaque, err := json.Marshal(said)
	if err != nil {
		return nil // the arguments are JSON already
	}
	return &llm.Turn{Provider: provider, Opaque: opaque, Text: w.Text, Calls: w.Calls}
}
