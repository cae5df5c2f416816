package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"myao/internal/answer/mcp"
	"myao/internal/operate/timeline"
)

type toolsList struct {
	serverFlag
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
	db, client, team, err := p.servers(ctx)
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
	known, err := db.MCPTools(ctx, team)
	if err != nil {
		return err
	}
	for _, t := range known {
		server, configured := p.Config.MCP.Servers[t.Server]
		if !configured {
			continue
		}
		reports = append(reports, toolOfServer{
			Server: t.Server, Tool: t.Tool, Name: t.Name, Kind: string(mcp.KindOf(t, server)),
			Description: t.Description, Schema: json.RawMessage(t.Schema),
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
