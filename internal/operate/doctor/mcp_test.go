package doctor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/config"
	"myao/internal/runtime/timeout"
	"myao/sandbox/workspace"
)

func TestMCPServers(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	none := func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return nil, nil }
	s.AddTool(&sdk.Tool{Name: "find", InputSchema: map[string]any{"type": "object"}}, none)
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(server.Close)
	_, e := slackOf(t, workspace.Config{})
	e.Config.MCP.Servers = map[string]config.MCPServer{
		"away": {Command: "/no/such/program", Channels: []string{"all"}}, "desk": {URL: server.URL, Channels: []string{"all"}}, "idle": {URL: server.URL},
	}
	ask := func() (all []Finding) {
		for _, c := range e.servers() {
			all = append(all, c.run(timeout.Extend(t.Context())))
		}
		return all
	}
	got := ask()
	expect(t, got[0], Warn, "it does not answer")
	expect(t, got[1], OK, "it has 1 tools")
	expect(t, got[2], Warn, "it has 1 tools, and they are used nowhere")
	s.AddTool(&sdk.Tool{Name: "wild\u202e", InputSchema: map[string]any{"type": "object"}}, none)
	expect(t, ask()[1], Warn, "1 of its tools can be used, 1 cannot")
}
