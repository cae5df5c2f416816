package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/store"
)

const (
	// maxPages and maxTools bound one listing, maxRemembered the tools of a server that are remembered.
	maxPages, maxTools, maxRemembered = 20, 200, 1000
	maxToolName                       = 200
	maxDescription                    = 1000 // characters
)

// listed is a tool as its server has just listed it. It fails with a reason for which it cannot be used.
func listed(server string, t *sdk.Tool) (store.MCPTool, error) {
	if t.Name == "" || len(t.Name) > maxToolName || strings.ContainsRune(t.Name, 0) {
		return store.MCPTool{}, fmt.Errorf("a name of 1 to %d bytes is wanted", maxToolName)
	}
	if chat.Printable(t.Name) != t.Name {
		return store.MCPTool{}, errors.New("its name has characters that cannot be seen")
	}
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return store.MCPTool{}, err
	}
	schema = chat.PrintableJSON(schema)
	kept, err := remembered(schema)
	if err != nil {
		return store.MCPTool{}, err
	}
	annotations := sdk.ToolAnnotations{}
	if t.Annotations != nil {
		annotations = *t.Annotations
	}
	annotations.Title = cut(chat.Printable(annotations.Title), maxDescription)
	noted, err := json.Marshal(annotations)
	if err != nil {
		return store.MCPTool{}, err
	}
	row := store.MCPTool{
		Server: server, Tool: t.Name, Name: nameOf(server, t.Name), Description: cut(chat.Printable(t.Description),
			maxDescription),
		Schema: string(kept), Annotations: string(noted), Reads: annotations.ReadOnlyHint,
	}
	// What is cut off counts as well: it may be all that has changed.
	hash := sha256.Sum256([]byte(fmt.Sprintf("%q %q %q", t.Description, schema, row.Annotations)))
	row.Fingerprint = hex.EncodeToString(hash[:16])
	return row, nil
}

// remembered is what is kept of a schema: all of it, unless it is too large.
func remembered(schema []byte) ([]byte, error) {
	f, err := read(schema)
	if err != nil || len(schema) <= maxSchema {
		return schema, err
	}
	upper := maps.Clone(f.plain)
	upper["$comment"] = fmt.Sprintf("%s %d bytes", shortened, len(schema))
	return json.Marshal(upper)
}

// shortened begins the comment in a schema whose lower levels are left out.
const shortened = "Only the upper levels are kept of"

// Unchecked says what of a tool's input only its server checks, with the place of each.
func Unchecked(t store.MCPTool) []string {
	var schema struct {
		Comment string `json:"$comment"`
	}
	f, err := read([]byte(t.Schema))
	if err != nil || json.Unmarshal([]byte(t.Schema), &schema) != nil {
		return nil
	}
	if of, ok := strings.CutPrefix(schema.Comment, shortened); ok {
		return append([]string{"most of a schema of" + of}, f.unchecked...)
	}
	return f.unchecked
}

// merge says what is remembered of a server's tools after a listing:
//   - What a server has when it is first listed is allowed. A tool that comes later acts, whatever it says
//     of itself, until it is allowed; so a server cannot rename a tool into one that reads.
//   - One that acts, by the server's word or the operator's, stays as it was allowed: if it has changed,
//     it is withheld.
//   - One that only reads may change. If it says that it acts now, it has changed as one that acts.
func merge(known, now []store.MCPTool, c config.MCPServer) []store.MCPTool {
	rows := slices.Clone(known)
	names := map[string]bool{}
	for i := range rows {
		rows[i].Gone = true
		names[rows[i].Name] = true
	}
	for _, t := range now {
		i := slices.IndexFunc(rows, func(r store.MCPTool) bool { return r.Tool == t.Tool })
		if i < 0 {
			if len(rows) >= maxRemembered || names[t.Name] {
				continue
			}
			names[t.Name] = true
			t.Act, t.Allowed = !t.Reads || len(known) > 0, t.Fingerprint
			rows = append(rows, t)
			continue
		}
		before := rows[i]
		t.Act, t.Allowed = before.Act || !t.Reads, before.Allowed
		if !t.Act && !slices.Contains(c.Act, t.Tool) {
			t.Allowed = t.Fingerprint
		}
		rows[i] = t
	}
	return rows
}

// Kind is what becomes of a remembered tool.
type Kind string

// The kinds. Withheld is a tool that acts and has changed since it was allowed.
const (
	Look     Kind = "look"
	Act      Kind = "act"
	Withheld Kind = "withheld"
	Gone     Kind = "gone"
	Unused   Kind = "unused" // by the configuration
)

// KindOf says what becomes of a remembered tool by the configuration of its server.
func KindOf(t store.MCPTool, c config.MCPServer) Kind {
	acts := t.Act
	switch {
	case slices.Contains(c.Act, t.Tool):
		acts = true
	case slices.Contains(c.Look, t.Tool):
		acts = false
	}
	switch {
	case t.Gone:
		return Gone
	case c.Tools != nil && !slices.Contains(c.Tools, t.Tool):
		return Unused
	case !acts:
		return Look
	case t.Allowed != t.Fingerprint:
		return Withheld
	}
	return Act
}

// cut is at most so many characters of a text.
func cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + " …"
	}
	return s
}
