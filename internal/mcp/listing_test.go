package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/config"
	"myao/internal/store"
)

func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, tool := range []string{"find", "find ", "find.", "find/", "検索", "検查", "", strings.Repeat("a", 80), strings.Repeat("a", 81), "__", "a__b", "\x00"} {
		name := nameOf("desk", tool)
		if len(name) > maxName || unfit.MatchString(name) || !strings.HasPrefix(name, "desk__") {
			t.Errorf("%q: %q", tool, name)
		}
		if other, twice := seen[name]; twice {
			t.Errorf("%q and %q are both %s", tool, other, name)
		}
		seen[name] = tool
	}
	if got := nameOf("desk", "find"); got != "desk__find" {
		t.Errorf("got %q", got)
	}
}

// A schema that no provider takes, or that would never end, takes out its tool.
func TestSchemas(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 120) + `{}` + strings.Repeat(`}}`, 120)
	doubling := `{"type":"object","$defs":{"z":{}`
	for _, d := range "abcdefghijklmnopqrst" {
		doubling += `,"` + string(d) + `":{"allOf":[{"$ref":"#/$defs/` + string(d+1) + `"},{"$ref":"#/$defs/` + string(d+1) + `"}]}`
	}
	doubling += `,"u":{}},"$ref":"#/$defs/a"}`
	for schema, fits := range map[string]bool{
		`{"type":"object"}`: true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","$defs":{"a/b":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a~1b"},"$ref":{"type":"string"}}}`:                                  true,
		`{}`:                           false,
		`null`:                         false,
		`true`:                         false,
		`[]`:                           false,
		`{"type":"string"}`:            false,
		`{"type":["object","null"]}`:   false,
		`{"type":"object","$ref":"#"}`: false,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`:                                                     false,
		`{"type":"object","allOf":[{"$ref":"#/allOf/0"}]}`:                                                      false,
		`{"type":"object","properties":{"a":{"$ref":"https://evil.example/schema"}}}`:                           false,
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`:                                    false,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`:                                          false,
		`{"type":"object","$dynamicRef":"#a"}`:                                                                  false,
		`{"type":"object","properties":{"a":{"$id":"https://evil.example/x","properties":{"b":{"$ref":"#"}}}}}`: false,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`:                                  false,
		`{"type":"object","properties":{"a":{"type":7}}}`:                                                       false,
		`{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`:                              false,
		`{"type":"object","description":"\u0000"}`:                                                              false,
		deep:     false,
		doubling: false,
	} {
		if _, err := resolve([]byte(schema)); (err == nil) != fits {
			t.Errorf("%.100s: %v", schema, err)
		}
	}
}

// What becomes of a tool over several listings: r reads, w acts, another letter is another description.
func TestMerge(t *testing.T) {
	t.Parallel()
	tool := func(says string) store.MCPTool {
		row, err := listed("desk", &sdk.Tool{Name: "x", Description: says[1:], InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: says[0] == 'r'}})
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	other := store.MCPTool{Server: "desk", Tool: "other", Name: "desk__other"}
	for _, c := range []struct {
		listings string // "-": it is not listed
		config   config.MCPServer
		want     Kind
	}{
		{"r1", config.MCPServer{}, Look},
		{"w1", config.MCPServer{}, Act},
		{"r1 r2", config.MCPServer{}, Look},
		{"r1 w1", config.MCPServer{}, Withheld},
		{"r1 w1 r1", config.MCPServer{}, Act},
		{"r1 w1 r2", config.MCPServer{}, Withheld},
		{"w1 w2", config.MCPServer{}, Withheld},
		{"w1 w2 w1", config.MCPServer{}, Act},
		{"w1 r1", config.MCPServer{}, Withheld},
		{"w1 - r1", config.MCPServer{}, Withheld},
		{"w1 -", config.MCPServer{}, Gone},
		{"- r1", config.MCPServer{}, Act},
		{"- r1 r2", config.MCPServer{}, Withheld},
		{"- - r1 r1", config.MCPServer{}, Act},
		{"w1", config.MCPServer{Look: []string{"x"}}, Look},
		{"w1 w2", config.MCPServer{Look: []string{"x"}}, Look},
		{"r1", config.MCPServer{Act: []string{"x"}}, Act},
		{"r1 r2", config.MCPServer{Act: []string{"x"}}, Withheld},
		{"r1", config.MCPServer{Tools: []string{"y"}}, Unlisted},
	} {
		var rows []store.MCPTool
		for _, says := range strings.Fields(c.listings) {
			now := []store.MCPTool{other}
			if says != "-" {
				now = append(now, tool(says))
			}
			rows = merge(rows, now, c.config)
		}
		i := slices.IndexFunc(rows, func(r store.MCPTool) bool { return r.Tool == "x" })
		if got := KindOf(rows[i], c.config); got != c.want {
			t.Errorf("%s with %+v: got %s, want %s", c.listings, c.config, got, c.want)
		}
	}
}

// What a server says of a tool comes in without what nobody sees, in its description, title and schema alike,
// and a tool whose name has such characters is none.
func TestNothingInvisibleIsListed(t *testing.T) {
	t.Parallel()
	const hidden = "\u202e\U000E0041\u200b\U000E007F"
	tool := &sdk.Tool{
		Name: "find", Description: "Finds" + hidden + " it.", Annotations: &sdk.ToolAnnotations{Title: "Find" + hidden},
		InputSchema: map[string]any{"type": "object", "description": "a" + hidden, "properties": map[string]any{"q" + hidden: map[string]any{"type": "string", "enum": []any{"b" + hidden}}}},
	}
	row, err := listed("desk", tool)
	if err != nil || row.Description != "Finds it." || !strings.Contains(row.Annotations, `"title":"Find"`) || row.Schema != `{"description":"a","properties":{"q":{"enum":["b"],"type":"string"}},"type":"object"}` {
		t.Errorf("%+v, %v", row, err)
	}
	tool.Name = "find\u200b"
	if row, err := listed("desk", tool); err == nil {
		t.Errorf("%+v is taken", row)
	}
}
