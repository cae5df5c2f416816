package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write schema.json again")

// TestSchema tests that schema.json is what the types, the rules and the comments of the example say.
func TestSchema(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(example, &document); err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	gatherComments(document.Content[0], "", comments)
	root := schemaOf(reflect.TypeFor[Config](), rule{}, "", comments)
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", "myao's configuration"
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(root); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(want.Bytes(), Schema) {
		t.Fatal("schema.json is out of date: go test ./internal/config -run TestSchema -update")
	}

	compiler := jsonschema.NewCompiler()
	parsed, err := jsonschema.UnmarshalJSON(&want)
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("config.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		valid bool
	}{
		{string(example), true},
		{"response:\n  min_wait_seconds: ${WAIT}\nslack:", true},
		{"channels:\n  general:\n    min_wait_seconds: 10\n    mode: all\n    tools: [desk__find]", true},
		{"mcp:\n  servers:\n    desk:\n      command: desk\n      channels: all\n      env: {A: b}", true},
		{"retention:\n  messages_days: 0", true},
		{"channels:\n  general:\n    bots: [A0123456789, B0123456789]", true},
		{"channels:\n  general:\n    bots: all", false},
		{"workspaces:\n  T1:\n    mode: off\n    persona: Be brief.\n    daily_calls: 1\n    agents: {response: {provider: '', max_output_tokens: 0}}", true},
		{"workspaces:\n  T1:\n    persona: {name: mio}\n    agents: {response: {provider: claudia}}", false},
		{"workspaces:\n  T1:\n    hush_reaction: x", false},
		{"retention:\n  messages_days: 3", false},
		{"channels:\n  general:\n    mode: sometimes", false},
		{"response:\n  min_wait: 10", false},
		{"response:\n  min_wait_seconds: soon", false},
		{"agents:\n  judgment:\n    temperature: 3", false},
		{"mcp:\n  servers:\n    desk:\n      channels: 7", false},
	} {
		var value any
		if err := yaml.Unmarshal([]byte(c.text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != c.valid {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// setting begins a line of a comment that shows how to write a key.
var setting = regexp.MustCompile(`^#\s*"?[\w*-]+"?:(\s|$)`)

// gatherComments collects the comments of a file by the dotted key that they explain.
func gatherComments(n *yaml.Node, at string, comments map[string]string) {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		var words []string
		for _, c := range []string{key.HeadComment, key.LineComment, value.LineComment} {
			for line := range strings.Lines(c) {
				if setting.MatchString(line) {
					break
				}
				words = append(words, strings.Fields(strings.TrimPrefix(line, "#"))...)
			}
		}
		comments[join(at, key.Value)] = strings.Join(words, " ")
		gatherComments(value, join(at, key.Value), comments)
	}
}

// variable is a text that stands in for a number or a choice, since it has a variable.
const variable = `\$\{`

// schemaOf is the schema of a value, which may also be null. Keywords of JSON Schema concern values of their own type
// only: a number may also be a text with a variable.
func schemaOf(rt reflect.Type, r rule, key string, comments map[string]string) map[string]any {
	if rt.Kind() == reflect.Pointer {
		return schemaOf(rt.Elem(), r, key, comments)
	}
	schema := map[string]any{}
	if text := comments[key]; text != "" {
		schema["description"] = text
	}
	switch rt.Kind() {
	case reflect.Struct:
		properties := map[string]any{}
		for name, field := range fields(rt) {
			r := ruleOf(rt, field)
			if rt == reflect.TypeFor[Agent]() && strings.HasPrefix(key, "workspaces.") {
				r = unlessEmpty(r) // it inherits
			}
			properties[name] = schemaOf(field.Type, r, join(key, name), comments)
		}
		schema["type"], schema["additionalProperties"], schema["properties"] = []string{"object", "null"}, false, properties
		if rt == reflect.TypeFor[WorkspacePersona]() {
			schema["type"] = []string{"object", "string", "null"}
		}
	case reflect.Map:
		schema["type"] = []string{"object", "null"}
		schema["additionalProperties"] = schemaOf(rt.Elem(), r, join(key, "*"), comments)
	case reflect.Slice:
		schema["type"], schema["items"] = []string{"array", "null"}, schemaOf(rt.Elem(), r, key+"[]", comments)
		if rt == reflect.TypeFor[Places]() {
			schema["type"] = []string{"array", "string", "null"}
		}
		if rt == reflect.TypeFor[Bots]() {
			schema["type"] = []string{"array", "string", "null"}
			maps.Copy(schema, r.keywords)
		}
	default:
		name := map[reflect.Kind]string{reflect.Int: "integer", reflect.Float64: "number", reflect.Bool: "boolean", reflect.String: "string"}[rt.Kind()]
		switch {
		case name == "":
			panic("no schema for " + rt.String() + " of " + key)
		case name == "string" && len(r.keywords) == 0:
			schema["type"] = []string{"string", "null"}
		case name == "string" || r.keywords["anyOf"] != nil:
			schema["anyOf"] = []any{r.keywords, map[string]any{"type": "string", "pattern": variable}, map[string]any{"type": "null"}}
		default:
			schema["type"], schema["pattern"] = []string{name, "string", "null"}, variable
			maps.Copy(schema, r.keywords)
		}
	}
	return schema
}
