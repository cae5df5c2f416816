package mcp

import (
	"encoding/json"
	"fmt"
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

// Whatever schema a server writes, its tool is offered by one that every provider takes. What fits the server's schema
// is not refused here, what is refused here fits no schema of the server's, and what cannot be checked is named.
func TestSchemas(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 120) + `{}` + strings.Repeat(`}}`, 120)
	doubling := `{"type":"object","$defs":{"z":{}`
	for _, d := range "abcdefghijklmnopqrst" {
		doubling += `,"` + string(d) + `":{"allOf":[{"$ref":"#/$defs/` + string(d+1) + `"},{"$ref":"#/$defs/` + string(d+1) + `"}]}`
	}
	doubling += `,"u":{}},"$ref":"#/$defs/a"}`
	object := func(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }
	wide := `"p":{}`
	for i := range 3000 {
		wide += fmt.Sprintf(`,"p%d":{"type":"object","properties":{"q":{"type":"string","description":"a long description"}}}`, i)
	}
	for schema, c := range map[string]struct {
		fits, wrong []string // inputs
		offered     string   // "": not looked at
		unchecked   string   // "": all is checked
	}{
		`{"type":"object"}`: {[]string{`{}`, `{"a":1}`}, nil, `{"properties":{},"type":"object"}`, ""},
		`{}`:                {[]string{`{}`, `{"a":1}`}, nil, `{"properties":{},"type":"object"}`, ""},
		`true`:              {[]string{`{}`}, nil, `{"properties":{},"type":"object"}`, ""},
		`null`:              {[]string{`{}`}, nil, `{"properties":{},"type":"object"}`, ""},
		`{"properties":{"a":{"type":"string"}},"required":["a"]}`:                                          {[]string{`{"a":"x"}`}, []string{`{}`}, "", ""},
		`{"type":["object","null"]}`:                                                                       {[]string{`{}`}, nil, `{"properties":{},"type":"object"}`, ""},
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`:                            {[]string{`{}`}, nil, `{"properties":{},"type":"object"}`, ""},
		`{"$schema":"https://schemas.example/own","id":"x","$id":"https://evil.example/","type":"object"}`: {[]string{`{}`}, nil, `{"properties":{},"type":"object"}`, ""},
		// Expressions of other languages.
		object(`"a":{"type":"string","pattern":"^(?!\\.)[a-z.]+@"}`): {[]string{`{"a":"."}`, `{}`}, []string{`{"a":7}`}, `{"properties":{"a":{"type":"string"}},"type":"object"}`, `a.pattern: "^(?!\\.)[a-z.]+@" is an expression of another kind`},
		object(`"a":{"pattern":"(a)\\1"}`):                           {[]string{`{"a":"b"}`}, nil, "", "a.pattern"},
		object(`"a":{"pattern":"^[a-z]+$"}`):                         {[]string{`{"a":"b"}`}, []string{`{"a":"7"}`}, `{"properties":{"a":{"pattern":"^[a-z]+$"}},"type":"object"}`, ""},
		object(`"a":{"pattern":"^[^\\u0000]+$"}`):                    {[]string{`{"a":"b"}`}, nil, "", "a.pattern"},
		object(`"a":{"pattern":7}`):                                  {[]string{`{"a":"b"}`}, nil, "", "a.pattern"},
		`{"type":"object","patternProperties":{"^(?!x)":{"type":"string"}},"additionalProperties":false}`:              {[]string{`{"a":"b"}`}, nil, "", "patternProperties"},
		`{"type":"object","patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`:                  {[]string{`{"x1":"b"}`}, []string{`{"a":"b"}`, `{"x":1}`}, `{"properties":{},"type":"object"}`, ""},
		`{"type":"object","propertyNames":{"pattern":"^(?=x)"},"minProperties":1}`:                                     {[]string{`{"a":1}`}, []string{`{}`}, "", "propertyNames.pattern"},
		object(`"a":{"not":{"pattern":"^(?!x)"}}`):                                                                     {[]string{`{"a":"b"}`}, nil, "", "a.pattern"},
		object(`"a":{"not":{"const":"b"}}`):                                                                            {[]string{`{"a":"c"}`}, []string{`{"a":"b"}`}, `{"properties":{"a":{}},"type":"object"}`, ""},
		object(`"a":{"oneOf":[{"type":"string","pattern":"^(?!x)"},{"type":"string","pattern":"^x"}]}`):                {[]string{`{"a":"x"}`}, []string{`{"a":1}`}, "", "a.oneOf[0].pattern"},
		object(`"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}`):                                                 {[]string{`{"a":"x"}`, `{"a":1}`}, []string{`{"a":true}`}, `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"type":"object"}`, ""},
		object(`"a":{"if":{"pattern":"^(?!x)"},"then":{"minLength":3}}`):                                               {[]string{`{"a":"b"}`}, nil, "", "a.pattern"},
		object(`"a":{"type":"array","contains":{"pattern":"(?=x)"},"maxContains":1}`):                                  {[]string{`{"a":["b","c"]}`}, nil, "", "a.contains.pattern"},
		`{"type":"object","allOf":[{"properties":{"a":{"$ref":"https://x.example/"}}}],"unevaluatedProperties":false}`: {[]string{`{"a":1}`}, nil, "", "allOf[0].a"},
		// Older drafts, and OpenAPI.
		object(`"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}`):                                                                                                    {[]string{`{"n":1}`}, []string{`{"n":0}`}, `{"properties":{"n":{"exclusiveMinimum":0,"type":"integer"}},"type":"object"}`, ""},
		object(`"n":{"type":"integer","maximum":9,"exclusiveMaximum":false}`):                                                                                                   {[]string{`{"n":9}`}, []string{`{"n":10}`}, "", ""},
		object(`"n":{"type":"number","exclusiveMaximum":9.5}`):                                                                                                                  {[]string{`{"n":9}`}, []string{`{"n":9.5}`}, "", ""},
		object(`"n":{"type":"number","exclusiveMaximum":"9"}`):                                                                                                                  {[]string{`{"n":99}`}, nil, "", "n.exclusiveMaximum"},
		object(`"a":{"type":"string","nullable":true,"enum":["x"]}`):                                                                                                            {[]string{`{"a":null}`, `{"a":"x"}`}, []string{`{"a":"y"}`}, "", ""},
		object(`"a":{"type":"string","required":true}`):                                                                                                                         {[]string{`{"a":"x"}`, `{}`}, nil, "", "a.required"},
		object(`"a":{"type":"array","items":[{"type":"string"}],"additionalItems":false}`):                                                                                      {[]string{`{"a":["x"]}`}, []string{`{"a":[1]}`, `{"a":["x","y"]}`}, "", ""},
		`{"type":"object","dependencies":{"a":["b"],"c":{"required":["d"]}}}`:                                                                                                   {[]string{`{"a":1,"b":2}`, `{}`}, []string{`{"a":1}`, `{"c":1}`}, "", ""},
		`{"$ref":"#/definitions/in","definitions":{"in":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`:                                              {[]string{`{"a":"x"}`}, []string{`{}`}, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, ""},
		`{"type":"object","$defs":{"a/b":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a~1b","description":"an x"},"$ref":{"type":"string"}}}`:                          {[]string{`{"x":"y"}`}, []string{`{"x":1}`}, `{"properties":{"$ref":{"type":"string"},"x":{"description":"an x","type":"string"}},"type":"object"}`, ""},
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/l","maxItems":1}},"definitions":{"l":{"type":"array"}}}`: {[]string{`{"a":[1,2]}`}, []string{`{"a":1}`}, "", ""},
		`{"type":"object","properties":{"a":{"$ref":"tree.json","unevaluatedProperties":false}}}`:                                                                               {[]string{`{"a":{"b":1}}`}, nil, "", "leads nowhere"},
		// What is wrong or unknown.
		object(`"a":{"type":7}`):                             {[]string{`{"a":1}`}, nil, "", "a.type"},
		object(`"a":{"type":"file"}`):                        {[]string{`{"a":1}`}, nil, "", `a.type: "file" is no type of JSON`},
		object(`"a":{"type":"STRING","format":"color"}`):     {[]string{`{"a":"b"}`}, []string{`{"a":1}`}, "", ""},
		object(`"a":{"minLength":"3"}`):                      {[]string{`{"a":"b"}`}, nil, "", "a.minLength"},
		object(`"a":{"maxLength":99999999999}`):              {[]string{`{"a":"b"}`}, nil, "", "a.maxLength"},
		object(`"a":{"enum":[]}`):                            {[]string{`{"a":"b"}`}, nil, "", "a.enum"},
		object(`"a":true,"b":false,"c":null`):                {[]string{`{"a":1}`}, []string{`{"b":1}`}, `{"properties":{"a":{},"c":{}},"type":"object"}`, "c: it is no schema"},
		object(`"a":{"title":null,"pattern":null,"x-y":{}}`): {[]string{`{"a":1}`}, nil, `{"properties":{"a":{}},"type":"object"}`, ""},
		object(`"a":{"const":"x"},"b":{"type":"array"}`):     {[]string{`{"a":"x"}`}, []string{`{"a":"y"}`}, `{"properties":{"a":{"enum":["x"],"type":"string"},"b":{"items":{},"type":"array"}},"type":"object"}`, ""},
		`{"type":"object","properties":[]}`:                  {[]string{`{"a":1}`}, nil, "", "properties"},
		`{"type":"object","required":["a","a"]}`:             {[]string{`{"a":1}`}, []string{`{}`}, `{"properties":{"a":{}},"required":["a"],"type":"object"}`, ""},
		`{"type":"object","anyOf":7}`:                        {[]string{`{}`}, nil, "", "anyOf"},
		// Alternatives at the top.
		`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"anyOf":[{"required":["a"],"properties":{"a":{"type":"string"}}},{"required":["b"],"properties":{"b":{"type":"string"}}}]}`:             {[]string{`{"id":"1","a":"x"}`}, []string{`{"id":"1"}`}, `{"properties":{"a":{"type":"string"},"b":{"type":"string"},"id":{"type":"string"}},"required":["id"],"type":"object"}`, ""},
		`{"oneOf":[{"type":"object","properties":{"do":{"const":"open"},"n":{"type":"integer"}},"required":["do","n"]},{"type":"object","properties":{"do":{"const":"close"},"n":{"type":"string"}},"required":["do"]}]}`: {[]string{`{"do":"close"}`}, []string{`{"do":"open"}`, `{}`}, `{"properties":{"do":{"enum":["open","close"],"type":"string"},"n":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"required":["do"],"type":"object"}`, ""},
		`{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}}}]}`:                                                                                                     {[]string{`{"a":"x"}`}, []string{`{}`}, `{"properties":{"a":{"type":"string"},"b":{}},"required":["a"],"type":"object"}`, ""},
		// References that lead nowhere, or to themselves.
		`{"type":"object","$ref":"#"}`:                                       {[]string{`{}`}, nil, "", "refers to itself"},
		object(`"a":{"$ref":"#"}`):                                           {[]string{`{"a":{"a":{"a":{}}}}`}, []string{`{"a":1}`}, "", `a.a.a: "#" refers to itself`},
		`{"type":"object","allOf":[{"$ref":"#/allOf/0"}]}`:                   {[]string{`{}`}, nil, "", "refers to itself"},
		object(`"a":{"$ref":"https://evil.example/schema"}`):                 {[]string{`{"a":1}`}, nil, "", "leads nowhere"},
		object(`"a":{"$ref":"file:///etc/passwd"}`):                          {[]string{`{"a":1}`}, nil, "", "leads nowhere"},
		object(`"a":{"$ref":"#/$defs/none"}`):                                {[]string{`{"a":1}`}, nil, "", "leads nowhere"},
		`{"type":"object","$dynamicRef":"#a"}`:                               {[]string{`{}`}, nil, "", "$dynamicRef: it is not followed"},
		object(`"a":{"$id":"https://evil.example/x","properties":{"b":{}}}`): {[]string{`{"a":{}}`}, nil, "", ""},
		// Too much.
		deep:         {[]string{`{"a":{"a":{}}}`}, []string{`{"a":1}`}, "", "levels"},
		doubling:     {[]string{`{}`}, nil, "", "levels"},
		object(wide): {[]string{`{"p1":{}}`}, nil, "", "most of a schema of"},
		`{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`: {[]string{`{}`}, nil, "", "most of a schema of"},
		`{"type":"object","description":"` + strings.Repeat("x", maxRead) + `"}`:   {[]string{`{}`}, nil, "", "most of a schema of"},
	} {
		row, err := listed("desk", &sdk.Tool{Name: "x", InputSchema: json.RawMessage(schema)})
		if err != nil {
			t.Errorf("%.100s: %v", schema, err)
			continue
		}
		for _, input := range c.fits {
			if wrong := check(row, true, json.RawMessage(input)); wrong != "" {
				t.Errorf("%.100s: %s is refused: %.200s", schema, input, wrong)
			}
		}
		for _, input := range c.wrong {
			if check(row, true, json.RawMessage(input)) == "" {
				t.Errorf("%.100s: %s is not refused", schema, input)
			}
		}
		unchecked := Unchecked(row)
		if named := strings.Contains(strings.Join(unchecked, "\n"), c.unchecked); !named || (c.unchecked == "") != (len(unchecked) == 0) {
			t.Errorf("%.100s: unchecked is %q, want %q", schema, unchecked, c.unchecked)
		}
		f, err := read([]byte(row.Schema))
		if err != nil {
			t.Fatal(err)
		}
		offered := string(f.declared())
		if c.offered != "" && offered != c.offered || len(offered) > 2*maxSchema || len(row.Schema) > maxSchema {
			t.Errorf("%.100s: offered is\n%.300s (%d bytes of %d), want\n%s", schema, offered, len(offered), len(row.Schema), c.offered)
		}
		for _, keyword := range []string{"$ref", "$defs", "definitions", "allOf", "oneOf", "not", "const", "if", "patternProperties"} {
			if strings.Contains(offered, `"`+keyword+`":`) && !strings.Contains(schema, `"$ref":{`) {
				t.Errorf("%.100s: offered has %s: %.300s", schema, keyword, offered)
			}
		}
	}
	for _, schema := range []string{`false`, `[]`, `7`, `"object"`, `{"type":"string"}`, `{"type":["string","null"]}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"array"}}}`} {
		if row, err := listed("desk", &sdk.Tool{Name: "x", InputSchema: json.RawMessage(schema)}); err == nil || !strings.Contains(err.Error(), "not that of an object") {
			t.Errorf("%s: %+v, %v", schema, row, err)
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
		{"r1", config.MCPServer{Tools: []string{"y"}}, Unused},
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
