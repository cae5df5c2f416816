package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/answer/tools"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
)

// Run executes a call. A server that does not answer is a failed result for a tool that reads. For one that
// acts, an error means that the call may have been made.
func (c *Client) Run(ctx context.Context, p tools.Place, name string, input json.RawMessage) (tools.Result, error) {
	known, err := c.Store.MCPTools(ctx, c.Team)
	if err != nil {
		return tools.Result{}, errors.Join(tools.ErrNotCalled, err)
	}
	for _, s := range c.servers {
		for _, t := range known {
			if t.Server != s.name || t.Name != name || !s.mayBeUsed(p) || !s.offers(p, t) {
				continue
			}
			act := KindOf(t, s.config) != Look
			if act && p.Approved == "" {
				return failedf("%q acts, so it runs only when people have approved it.", name), nil
			}
			return c.call(ctx, s, t, act, input)
		}
	}
	return failedf("There is no tool %q here.", name), nil
}

func failedf(format string, args ...any) tools.Result {
	return tools.Result{Text: fmt.Sprintf(format, args...), Failed: true}
}

// Call executes a call for an operator, whatever the kind of the tool.
func (c *Client) Call(ctx context.Context, t store.MCPTool, input json.RawMessage) (tools.Result, error) {
	s, err := c.server(t.Server)
	if err != nil {
		return tools.Result{}, err
	}
	return c.call(ctx, s, t, true, input)
}

func (c *Client) call(
	ctx context.Context, s *server, t store.MCPTool, act bool, input json.RawMessage,
) (tools.Result, error) {
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	if wrong := check(t, act, input); wrong != "" {
		return failedf("%s", wrong), nil
	}
	began, outcome := c.Clock(), resultUnavailable
	defer func() { c.Metrics.called(s.name, t.Tool, outcome, c.Clock().Sub(began)) }()
	asking, cancel := timeout.After(ctx, callTimeout)
	defer cancel()
	var found *sdk.CallToolResult
	call := func() error {
		return s.use(asking, func(session *sdk.ClientSession) (err error) {
			found, err = session.CallTool(asking, &sdk.CallToolParams{Name: t.Tool, Arguments: input})
			return err
		})
	}
	err := call()
	// A session may end between two calls. One that the server does not know has done nothing.
	if err != nil && asking.Err() == nil && !answered(err) && !errors.Is(err, errAway) &&
		(!act || errors.Is(err, sdk.ErrSessionMissing)) {
		s.worked() // it is asked again at once
		err = call()
	}
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, errAway):
		return tools.Result{}, errors.Join(tools.ErrNotCalled, ctx.Err())
	case ctx.Err() != nil:
		return tools.Result{}, ctx.Err()
	case answered(err):
		s.worked()
		outcome = resultFailed
		e, _ := errors.AsType[*jsonrpc.Error](err)
		return failedf("The server %s answers with an error: %s", s.name,
			c.Material(cut(store.Clean(e.Message), maxDescription))), nil
	case errors.Is(err, errAway) || !act:
		return failedf("The server %s does not answer. Do without it, and say so.", s.name), nil
	default:
		return tools.Result{}, fmt.Errorf("call %s: %s", t.Name, s.plain(err))
	}
	s.worked()
	result := resultOf(found)
	result.Text = c.Material(store.Clean(result.Text))
	if found.NeedsInput() {
		result = failedf("The server %s asks for more than was given to it, and nobody is asked. Nothing is known to "+
			"be done.", s.name)
	}
	if outcome = resultDone; result.Failed {
		outcome = resultFailed
	}
	return result, nil
}

// maxInput is how many characters a call of a tool that reads may hold, besides texts whose length the tool's schema
// bounds: it is made before anybody has seen it. People see the whole of a call that acts.
const maxInput = 2000

// maxBoundedText is up to which maxLength a schema bounds a text: whoever runs the server writes the schema.
const maxBoundedText = 20_000

// check says what is wrong with an input; "" if nothing is.
func check(t store.MCPTool, act bool, input json.RawMessage) string {
	f, err := read([]byte(t.Schema))
	if err != nil {
		return fmt.Sprintf("%s cannot be used: %v.", t.Name, err)
	}
	var object map[string]any
	if err := json.Unmarshal(input, &object); err != nil || object == nil {
		return fmt.Sprintf("The input of %s is not a JSON object. It must match this schema: %s", t.Name, t.Schema)
	}
	if err := f.Validate(object); err != nil {
		return fmt.Sprintf("The input of %s is wrong: %s. It must match this schema: %s", t.Name,
			cut(err.Error(), maxDescription), t.Schema)
	}
	if strings.ContainsRune(fmt.Sprint(object), 0) {
		return fmt.Sprintf("The input of %s has a NUL character. Leave it out.", t.Name)
	}
	if n := unbounded(f.Schema(), object); !act && n > maxInput {
		return fmt.Sprintf("The input of %s has %d characters, at most %d are sent to its server. Give only what it "+
			"needs to look for.", t.Name, n, maxInput)
	}
	return ""
}

// unbounded counts the characters of an input, without those of texts whose length its schema bounds.
func unbounded(form *jsonschema.Schema, object map[string]any) (n int) {
	for name, value := range object {
		text, isText := value.(string)
		if property := form.Properties[name]; isText && property != nil && property.MaxLength != nil &&
			*property.MaxLength <= maxBoundedText {
			continue
		}
		if !isText {
			raw, _ := json.Marshal(value) // of what was JSON
			text = string(raw)
		}
		n += utf8.RuneCountInString(name) + utf8.RuneCountInString(text)
	}
	return n
}
