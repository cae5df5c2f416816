package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"myao/internal/answer/mcp"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// toolsCommand shows the tools of MCP servers, and decides about them.
type toolsCommand struct {
	List  toolsList  `cmd:"" help:"Ask the MCP servers for their tools, and list what becomes of each."`
	Allow toolsAllow `cmd:"" help:"Allow the tools of a server as they are now, also where they have changed."`
	Call  toolsCall  `cmd:"" help:"Call a tool of a server yourself."`
}

type toolsList struct {
	output
}

// Help implements kong's Help.
func (toolsList) Help() string {
	return `A tool of kind look reads, and is carried out at once. One of kind act is only proposed to people.
One that acts and has changed is withheld until it is allowed. A server that does not answer is
shown as it is remembered. What of an input is not checked here, its server checks: see "unchecked".

  starter tools list
  starter tools list --json | jq '.[] | select(.kind == "withheld")'`
}

// toolOfServer is one tool of a server.
type toolOfServer struct {
	Server string `json:"server"`
	Tool   string `json:"tool"` // as the server names it
	Name   string `json:"name"` // as models call it
	// Kind is look, act, withheld, gone, unused (by the configuration) or unfit.
	Kind        string          `json:"kind"`
	Description string          `json:"description,omitempty"` // the server's claim
	Schema      json.RawMessage `json:"schema,omitempty"`      // of its input
	Seen        time.Time       `json:"seen_at,omitzero"`
	// Fault says why the tool cannot be used, or why its server was not asked.
	Fault string `json:"fault,omitempty"`
	// Unchecked says what of an input is not checked before a call, with its place: its server checks it.
	Unchecked []string `json:"unchecked,omitempty"`
}

func (c *toolsList) run(ctx context.Context, p *program) error {
	db, client, err := p.servers(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	reports := []toolOfServer{}
	faults := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Config.MCP.Servers)) {
		out, err := client.Refresh(ctx, name)
		if err != nil {
			faults[name] = "not asked now: the server does not answer"
		}
		for _, tool := range slices.Sorted(maps.Keys(out)) {
			reports = append(reports, toolOfServer{Server: name, Tool: tool, Kind: "unfit", Fault: out[tool]})
		}
	}
	known, err := db.MCPTools(ctx)
	if err != nil {
		return err
	}
	for _, t := range known {
		server, configured := p.Config.MCP.Servers[t.Server]
		if !configured {
			continue
		}
		reports = append(reports, toolOfServer{
			Server: t.Server, Tool: t.Tool, Name: t.Name, Kind: string(mcp.KindOf(t, server)), Description: t.Description, Schema: json.RawMessage(t.Schema),
			Seen: time.UnixMicro(t.SeenUS).UTC(), Fault: faults[t.Server], Unchecked: mcp.Unchecked(t),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		if !slices.ContainsFunc(reports, func(r toolOfServer) bool { return r.Server == name }) {
			reports = append(reports, toolOfServer{Server: name, Kind: "unfit", Fault: faults[name]})
		}
	}
	return c.print(p.stdout, reports, func(w io.Writer) error {
		if len(reports) == 0 {
			_, err := fmt.Fprintln(w, "none: mcp.servers has no servers, or they have no tools")
			return err
		}
		rows := [][]string{{"KIND", "SERVER", "TOOL", "WHAT ITS SERVER SAYS OF IT"}}
		for _, r := range reports {
			what := r.Description
			var places []string
			for _, u := range r.Unchecked {
				place, _, _ := strings.Cut(u, ": ")
				places = append(places, place)
			}
			if len(places) > 0 {
				what = strings.TrimSpace("(not checked here: " + strings.Join(places, ", ") + ") " + what)
			}
			if r.Fault != "" {
				what = strings.TrimSpace("(" + r.Fault + ") " + what)
			}
			rows = append(rows, []string{r.Kind, r.Server, timeline.Plain(r.Tool), shortLine(what)})
		}
		return table(w, rows)
	})
}

// shortLine is the beginning of a text on one line.
func shortLine(s string) string {
	runes := []rune(timeline.Plain(s))
	if len(runes) > 100 {
		return string(runes[:100]) + " …"
	}
	return string(runes)
}

type toolsAllow struct {
	Server string `arg:"" help:"The server's name in mcp.servers."`
	Tool   string `arg:"" optional:"" help:"Only this tool, as the server names it."`
}

// Help implements kong's Help.
func (toolsAllow) Help() string {
	return `What the tools say of themselves counts from now on: one that acted and says now that it only reads
becomes one that reads. Look first at what they say, with starter tools list --json.

  starter tools allow desk
  starter tools allow desk close_ticket`
}

func (c *toolsAllow) run(ctx context.Context, p *program) error {
	server, ok := p.Config.MCP.Servers[c.Server]
	if !ok {
		return fmt.Errorf("mcp.servers has no %q: %s", c.Server, serversOf(p))
	}
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	changed, err := db.AllowTools(ctx, c.Server, c.Tool)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%s has no such tool: `starter tools list` shows what it has", c.Server)
	}
	if err != nil {
		return err
	}
	if len(changed) == 0 {
		_, err = fmt.Fprintln(p.stdout, "nothing to allow: it is as it was allowed")
		return err
	}
	for _, t := range changed {
		if _, err := fmt.Fprintf(p.stdout, "%s is allowed: %s\n", timeline.Plain(t.Tool), mcp.KindOf(t, server)); err != nil {
			return err
		}
	}
	return nil
}

type toolsCall struct {
	Server string `arg:"" help:"The server's name in mcp.servers."`
	Tool   string `arg:"" help:"The tool, as the server names it."`
	Input  string `arg:"" help:"Its input, a JSON object."`
}

// Help implements kong's Help.
func (toolsCall) Help() string {
	return `The call is made at once, whatever the kind of the tool, and nobody is asked. What a server says is not
checked: it is printed as it is, without control characters.

  starter tools call desk list_tickets '{}'`
}

// Validate implements kong's Validate.
func (c *toolsCall) Validate() error {
	var object map[string]any
	if err := json.Unmarshal([]byte(c.Input), &object); err != nil || object == nil {
		return errors.New("<input>: want a JSON object, such as {}")
	}
	return nil
}

func (c *toolsCall) run(ctx context.Context, p *program) error {
	if _, ok := p.Config.MCP.Servers[c.Server]; !ok {
		return fmt.Errorf("mcp.servers has no %q: %s", c.Server, serversOf(p))
	}
	db, client, err := p.servers(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := client.Refresh(ctx, c.Server); err != nil {
		return err
	}
	known, err := db.MCPTools(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(known, func(t store.MCPTool) bool {
		return t.Server == c.Server && !t.Gone && (t.Tool == c.Tool || t.Name == c.Tool)
	})
	if i < 0 {
		return fmt.Errorf("%s has no tool %q that can be used: `starter tools list` shows what it has", c.Server, c.Tool)
	}
	result, err := client.Call(ctx, known[i], json.RawMessage(c.Input))
	if err != nil {
		return err
	}
	if result.Failed {
		return errors.New(result.Text)
	}
	if err := printPlain(p.stdout, result.Text); err != nil {
		return err
	}
	for _, f := range result.Files {
		if _, err := fmt.Fprintln(p.stdout, f); err != nil {
			return err
		}
	}
	return nil
}

// serversOf names the servers of the configuration.
func serversOf(p *program) string {
	names := slices.Sorted(maps.Keys(p.Config.MCP.Servers))
	if len(names) == 0 {
		return "it has none"
	}
	return fmt.Sprintf("it has %q", names)
}

// servers opens the database and a client of the MCP servers, which the caller must close.
func (p *program) servers(ctx context.Context) (*store.Store, *mcp.Client, error) {
	db, err := p.database(ctx)
	if err != nil {
		return nil, nil, err
	}
	return db, mcp.New(mcp.Options{
		Servers: p.Config.MCP.Servers, Store: db, Material: func(s string) string { return s }, Clock: time.Now,
		Logger: slog.New(slog.DiscardHandler), // the output says what is wrong
	}), nil
}
