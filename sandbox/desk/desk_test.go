package desk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// One tool looks and one acts, and says so; what acts is in the file, also for a desk that starts later.
func TestDesk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tickets")
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	open := func() *mcp.ClientSession {
		t.Helper()
		near, far := mcp.NewInMemoryTransports()
		if _, err := server(path, func() time.Time { return noon }).Connect(t.Context(), far, nil); err != nil {
			t.Fatal(err)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		return session
	}
	session := open()
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil || len(listed.Tools) != 2 {
		t.Fatalf("%+v, %v", listed, err)
	}
	for _, tool := range listed.Tools {
		if a := tool.Annotations; a == nil || a.ReadOnlyHint != (tool.Name == FindTickets) || a.IdempotentHint {
			t.Errorf("%s: %+v", tool.Name, a)
		}
	}
	call := func(failed bool, tool string, input map[string]any, want string) {
		t.Helper()
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: input})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := got.Content[0].(*mcp.TextContent)
		if text == nil || got.IsError != failed || !strings.Contains(text.Text, want) {
			t.Errorf("%s %v: failed %v, %+v, want %q", tool, input, got.IsError, text, want)
		}
	}
	call(false, FindTickets, map[string]any{}, "There is no such ticket.")
	call(false, CreateTicket, map[string]any{"title": " The door\n of 屋上 is broken "}, "Ticket 1: The door of 屋上 is broken (opened 2026-03-01 12:00 UTC)")
	call(true, CreateTicket, map[string]any{"title": " "}, "the title has 0 characters; it needs 1 to 300")
	call(true, CreateTicket, map[string]any{}, "title")
	if err := os.WriteFile(path, append(must(os.ReadFile(path)), `{"number":2,"ti`...), 0o600); err != nil {
		// killed in mid-line
		t.Fatal(err)
	}
	session = open()
	call(false, CreateTicket, map[string]any{"title": "Lamps"}, "Ticket 2: Lamps")
	call(false, FindTickets, map[string]any{"text": "DOOR"}, "Ticket 1: The door")
	if all, err := Read(path); err != nil || len(all) != 2 || all[1].Number != 2 || all[1].Title != "Lamps" || !all[1].At.Equal(noon) {
		t.Errorf("%+v, %v", all, err)
	}
}

func must(content []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return content
}
