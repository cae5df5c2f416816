package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is what CycloneDX 1.6 requires of the objects that are used, and that nothing else is.
const schema = `{
	"type": "object",
	"required": ["bomFormat", "specVersion", "version", "metadata", "components", "dependencies"],
	"additionalProperties": false,
	"properties": {
		"bomFormat": {"const": "CycloneDX"},
		"specVersion": {"const": "1.6"},
		"version": {"const": 1},
		"metadata": {"required": ["component"], "additionalProperties": false, "properties": {"component": {"$ref": "#/$defs/component"}}},
		"components": {"type": "array", "minItems": 4, "uniqueItems": true, "items": {"$ref": "#/$defs/component"}},
		"dependencies": {"type": "array", "minItems": 3, "items": {
			"required": ["ref", "dependsOn"],
			"properties": {"dependsOn": {"type": "array", "minItems": 1, "uniqueItems": true}}
		}}
	},
	"$defs": {"component": {
		"required": ["bom-ref", "type", "name", "version"],
		"properties": {
			"type": {"enum": ["application", "library"]},
			"name": {"minLength": 1},
			"purl": {"pattern": "^pkg:golang/[a-z0-9.~_/-]+@[A-Za-z0-9.%-]+$"},
			"hashes": {"items": {"required": ["alg", "content"], "properties": {"alg": {"const": "SHA-256"}, "content": {"pattern": "^[0-9a-f]{64}$"}}}}
		},
		"if": {"properties": {"type": {"const": "library"}}},
		"then": {"required": ["purl"]},
		"else": {"properties": {"purl": false}}
	}}
}`

// build compiles two programs of this repository. One of them contains another module.
func build(t *testing.T) (programs []string) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir+"/", "-buildvcs=false", ".", "../notices").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return []string{filepath.Join(dir, "sbom"), filepath.Join(dir, "notices")}
}

func TestBillOfMaterials(t *testing.T) {
	t.Parallel()
	programs := build(t)
	text, err := print(programs)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := print([]string{programs[1], programs[0]}); err != nil || !bytes.Equal(text, again) {
		t.Errorf("in another order it is another, %v", err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	compiler := jsonschema.NewCompiler()
	if err == nil {
		err = compiler.AddResource("bill.json", document)
	}
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = compiler.MustCompile("bill.json").Validate(value)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}

	var got bill
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	refs := map[string]bool{got.Metadata.Component.Ref: true}
	modules := map[string]bool{}
	for _, c := range got.Components {
		if refs[c.Ref] {
			t.Errorf("two components %s", c.Ref)
		}
		refs[c.Ref] = true
		if c.Type == "application" || c.Name == "stdlib" {
			continue
		}
		modules[c.Name] = true
		if len(c.Properties) != 1 || !strings.Contains(string(sums), c.Name+" "+c.Version+" "+c.Properties[0].Value+"\n") {
			t.Errorf("%+v is not in go.sum", c)
		}
	}
	info, err := buildinfo.ReadFile(programs[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		if !modules[m.Path] {
			t.Errorf("it lacks %s", m.Path)
		}
	}
	if !modules["golang.org/x/sync"] || len(modules) != len(info.Deps) {
		t.Errorf("%d modules, want %d: %s", len(modules), len(info.Deps), text)
	}
	for _, d := range got.Dependencies {
		for _, ref := range append(d.DependsOn, d.Ref) {
			if !refs[ref] {
				t.Errorf("there is no component %s", ref)
			}
		}
	}
}

func TestPackageURLs(t *testing.T) {
	t.Parallel()
	for want, m := range map[string][2]string{
		"pkg:golang/go.temporal.io/sdk@v1.50.0":                                {"go.temporal.io/sdk", "v1.50.0"},
		"pkg:golang/github.com/johanneskaufmann/html-to-markdown/v2@v2.5.2":    {"github.com/JohannesKaufmann/html-to-markdown/v2", "v2.5.2"},
		"pkg:golang/github.com/docker/docker@v28.0.0%2Bincompatible":           {"github.com/docker/docker", "v28.0.0+incompatible"},
		"pkg:golang/github.com/robfig/cron@v0.0.0-20260101000000-b41be1df6967": {"github.com/robfig/cron", "v0.0.0-20260101000000-b41be1df6967"},
		"pkg:golang/stdlib@1.26.8":                                             {"stdlib", "1.26.8"},
	} {
		if got := purl(m[0], m[1]); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWhatIsNoBill(t *testing.T) {
	t.Parallel()
	self := build(t)[0]
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, programs := range map[string][]string{
		"no Go program":  {shell},
		"no file":        {filepath.Join(t.TempDir(), "none")},
		"the same twice": {self, self},
	} {
		if text, err := print(programs); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}
