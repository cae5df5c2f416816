package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/store"
)

func TestToolsCommand(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	echo := func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		Text string `json:"text"`
	}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "did \x1b[2J" + in.Text}}}, nil, nil
	}
	sdk.AddTool(s, &sdk.Tool{Name: "find", Description: "Finds \x1b[2J.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, echo)
	sdk.AddTool(s, &sdk.Tool{Name: "close", Description: "Closes."}, echo)
	schema := map[string]any{"type": "object", "properties": map[string]any{"to": map[string]any{"type": "string", "pattern": `^(?!\.)[a-z.]+@`}, "n": map[string]any{"exclusiveMinimum": true}}}
	s.AddTool(&sdk.Tool{Name: "mail", Description: "Mails.", InputSchema: schema}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "got " + string(r.Params.Arguments)}}}, nil
	})
	s.AddTool(&sdk.Tool{Name: "wild\u200b", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{}, nil
	})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(server.Close)
	o := newLedgerBundle(t, "mcp: {servers: {desk: {url: '"+server.URL+"', channels: [all]}, away: {url: 'http://127.0.0.1:1/', channels: [all]}}}\n"+
		"workspaces: {T100: {mcp: {servers: {till: {url: '"+server.URL+"', channels: [all]}, away: }}}}\n")
	list := []string{"tools", "list"}
	o.prints(list, []string{"look   desk    find   Finds ", "act    desk    close  Closes.", "act    desk    mail   (not checked here: to.pattern) Mails.", "unfit  desk    wild   (its name",
		"unfit  away           (not asked now: the server does not answer)"}, nil)

	o.must(o.RememberTools(t.Context(), "", "desk", func(known []store.MCPTool) []store.MCPTool {
		for i := range known {
			known[i].Allowed = "what it was"
		}
		return known
	}))
	o.prints([]string{"tools", "list", "--json"}, []string{`"kind": "withheld"`, `"kind": "look"`, `"name": "desk__close"`, `"schema": {`, `"unchecked": [`, `"to.pattern: \"^(?!\\\\.)[a-z.]+@\" is an expression of another kind"`}, nil)
	o.prints([]string{"tools", "allow", "desk", "close"}, []string{"close is allowed: act"}, nil)
	o.prints([]string{"tools", "allow", "desk", "close"}, []string{"nothing to allow"}, nil)
	o.fails(1, []string{"tools", "allow", "desk", "nothing"}, "desk has no such tool")
	o.fails(1, []string{"tools", "allow", "shop"}, `mcp.servers has no "shop": it has ["away" "desk"]`)

	o.prints([]string{"tools", "call", "desk", "close", `{"text":"7"}`}, []string{"did ", "7"}, []string{"\x1b"})
	o.fails(1, []string{"tools", "call", "desk", "close", `{"text":7}`}, "The input of desk__close is wrong")
	o.fails(1, []string{"tools", "call", "desk", "wild", "{}"}, `desk has no tool "wild" that can be used`)
	o.prints([]string{"tools", "call", "desk", "mail", `{"to":".@"}`}, []string{`got {"to":".@"}`}, nil)
	o.fails(1, []string{"tools", "call", "desk", "mail", `{"to":7}`}, "The input of desk__mail is wrong")
	o.fails(1, []string{"tools", "call", "away", "x", "{}"}, "it does not answer")
	o.fails(2, []string{"tools", "call", "desk", "close", "[]"}, "want a JSON object, such as {}")

	// A workspace with servers of its own.
	o.prints(append(list, "--team", "T100"), []string{"act    desk    close", "act    till    close"}, []string{"away"})
	o.prints([]string{"tools", "call", "till", "close", `{"text":"7"}`, "--team", "T100"}, []string{"did ", "7"}, nil)
	o.prints([]string{"tools", "allow", "till", "--team", "T100"}, []string{"nothing to allow"}, nil)
	o.fails(1, []string{"tools", "call", "till", "close", "{}"}, `mcp.servers has no "till"`)
}
