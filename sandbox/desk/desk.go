// Package desk is the sandbox's ticket desk: an MCP server over stdio with a tool that looks and a
// tool that acts. The worker starts it as it starts any server. Its tickets are lines of a file, from
// which the sandbox's page shows them.
package desk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tools.
const (
	FindTickets  = "find_tickets"
	CreateTicket = "create_ticket"
)

// Ticket is a line of the desk's file.
type Ticket struct {
	Number int       `json:"number"` // from 1
	Title  string    `json:"title"`
	At     time.Time `json:"at"`
}

func (t Ticket) String() string {
	return fmt.Sprintf("Ticket %d: %s (opened %s)", t.Number, t.Title, t.At.UTC().Format("2006-01-02 15:04 UTC"))
}

const (
	// maxTitle is the longest title, in characters.
	maxTitle = 300
	// maxLine bounds a line of the file, in bytes.
	maxLine = 16 << 10
)

// Read returns the tickets of a file, the oldest first. A file that does not exist has none.
func Read(path string) ([]Ticket, error) {
	tickets := []Ticket{}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return tickets, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		t := Ticket{}
		if json.Unmarshal(lines.Bytes(), &t) == nil { // else the desk was killed while it wrote the line
			t.Number = len(tickets) + 1
			tickets = append(tickets, t)
		}
	}
	return tickets, lines.Err()
}

// desk writes tickets into a file.
type desk struct {
	path  string
	clock func() time.Time
	mu    sync.Mutex
}

// Serve speaks MCP on standard input and output until the input or the context ends.
func Serve(ctx context.Context, path string) error {
	return server(path, time.Now).Run(ctx, &mcp.StdioTransport{})
}

func server(path string, clock func() time.Time) *mcp.Server {
	d := &desk{path: path, clock: clock}
	s := mcp.NewServer(&mcp.Implementation{Name: "ticket-desk", Title: "Ticket desk", Version: "1"}, nil)
	no := false
	mcp.AddTool(s, &mcp.Tool{
		Name: FindTickets, Description: "Lists the tickets whose title has a text, or all of them.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
	}, d.find)
	mcp.AddTool(s, &mcp.Tool{
		Name: CreateTicket, Description: "Opens a ticket.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no},
	}, d.create)
	return s
}

type findInput struct {
	Text string `json:"text,omitempty" jsonschema:"a text that the title has; empty for all tickets"`
}

func (d *desk) find(_ context.Context, _ *mcp.CallToolRequest, in findInput) (*mcp.CallToolResult, any, error) {
	tickets, err := Read(d.path)
	if err != nil {
		return nil, nil, err
	}
	var found []string
	for _, t := range tickets {
		if strings.Contains(strings.ToLower(t.Title), strings.ToLower(in.Text)) {
			found = append(found, t.String())
		}
	}
	if len(found) == 0 {
		return says("There is no such ticket."), nil, nil
	}
	return says(strings.Join(found, "\n")), nil, nil
}

type createInput struct {
	Title string `json:"title" jsonschema:"what is to be done, in at most 300 characters"`
}

func (d *desk) create(_ context.Context, _ *mcp.CallToolRequest, in createInput) (*mcp.CallToolResult, any, error) {
	title := strings.Join(strings.Fields(in.Title), " ")
	if title == "" || utf8.RuneCountInString(title) > maxTitle {
		return nil, nil, fmt.Errorf("the title has %d characters; it needs 1 to %d", utf8.RuneCountInString(title),
			maxTitle)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	tickets, err := Read(d.path)
	if err != nil {
		return nil, nil, err
	}
	t := Ticket{Number: len(tickets) + 1, Title: title, At: d.clock().UTC()}
	if err := appendLine(d.path, t); err != nil {
		return nil, nil, err
	}
	return says(t.String()), nil, nil
}

func appendLine(path string, t Ticket) error {
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append([]byte("\n"), append(line, '\n')...)) // on a line of its own, also after half a line
	return errors.Join(err, file.Close())
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
