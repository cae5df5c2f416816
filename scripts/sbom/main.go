// Command sbom prints what built programs contain, as a software bill of materials in CycloneDX 1.6:
//
//	go run ./scripts/sbom PROGRAM... > sbom.cdx.json
//
// It reads the build information that Go writes into each program: the modules with their versions and
// hashes, and the version of Go. The same programs give the same bytes, so there is neither a time
// nor a serial number. C libraries that a module contains, such as PDFium, are not listed apart.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM...")
		os.Exit(2)
	}
	text, err := print(os.Args[1:])
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

// The objects of CycloneDX, as far as they are used; cyclonedx.org/docs/1.6/json.
type (
	bill struct {
		Format       string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Ref        string     `json:"bom-ref"`
		Type       string     `json:"type"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"` // hexadecimal
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// settings are the build settings that a program's component tells.
var settings = []string{"GOOS", "GOARCH", "vcs.revision", "vcs.modified"}

// print returns the bill of programs of one module and version, as indented JSON.
func print(programs []string) ([]byte, error) {
	all := map[string]component{}
	var whole component
	var uses []dependency
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if main := own(info, info.Main.Path); whole.Ref != "" && main.Ref != whole.Ref {
			return nil, fmt.Errorf("%s is of %s, another program of %s", path, main.Ref, whole.Ref)
		} else {
			whole = main
		}
		program := own(info, info.Path)
		if _, twice := all[program.Ref]; twice {
			return nil, fmt.Errorf("%s is a second program %s", path, info.Path)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		program.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
		for _, s := range info.Settings {
			if slices.Contains(settings, s.Key) {
				program.Properties = append(program.Properties, property{s.Key, s.Value})
			}
		}
		modules, err := contained(info)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		use := dependency{Ref: program.Ref}
		for _, m := range modules {
			all[m.Ref] = m
			use.DependsOn = append(use.DependsOn, m.Ref)
		}
		all[program.Ref] = program
		uses = append(uses, use)
	}
	slices.SortFunc(uses, func(a, b dependency) int { return cmp.Compare(a.Ref, b.Ref) })
	of := dependency{Ref: whole.Ref}
	for _, use := range uses {
		of.DependsOn = append(of.DependsOn, use.Ref)
	}
	out := bill{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{whole},
		Dependencies: append([]dependency{of}, uses...),
	}
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		out.Components = append(out.Components, all[ref])
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(out)
	return text.Bytes(), err
}

// own is a component of the main module: the module, or the program in the package path.
func own(info *debug.BuildInfo, path string) component {
	version := cmp.Or(info.Main.Version, "(devel)")
	return component{Ref: path + "@" + version, Type: "application", Name: path, Version: version}
}

// contained are the modules that are linked into a program, and Go's standard library.
func contained(info *debug.BuildInfo) ([]component, error) {
	version, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ") // experiments follow
	all := []component{library("stdlib", version)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" || m.Sum == "" {
			return nil, errors.New(m.Path + " was built from a directory: it has neither a version nor a hash")
		}
		c := library(m.Path, m.Version)
		c.Properties = []property{{"go.sum", m.Sum}}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	return all, nil
}

func library(path, version string) component {
	ref := purl(path, version)
	return component{Ref: ref, Type: "library", Name: path, Version: version, PURL: ref}
}

// purl is a module's package URL. Its type golang has the path in small letters.
func purl(path, version string) string {
	parts := strings.Split(strings.ToLower(path), "/")
	for i, part := range parts {
		parts[i] = url.QueryEscape(part)
	}
	return "pkg:golang/" + strings.Join(parts, "/") + "@" + url.QueryEscape(version)
}
