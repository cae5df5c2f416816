// Command notices writes THIRD_PARTY_NOTICES: the modules that are linked into worker, starter and
// sandbox on any released platform, with their versions and licences.
//
//	go run ./scripts/notices [-check] FILE
//
// With -check it compares the file, and names the modules that it lacks or that are of another version.
// It fails for a module without a licence text, and for a licence that is not in the table below:
// somebody has to read that one first.
package main

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"myao/scripts/platforms"
)

func main() {
	check := flag.Bool("check", false, "compare the file, and change nothing")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: notices [-check] FILE")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *check); err != nil {
		fmt.Fprintf(os.Stderr, "notices: %v\n", err)
		os.Exit(1)
	}
}

func run(file string, check bool) error {
	want, err := notices()
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(file, want, 0o644)
	}
	have, err := os.ReadFile(file)
	if err != nil || bytes.Equal(have, want) {
		return err
	}
	return errors.New(file + " is not up to date; `make notices` renews it" + difference(string(have), string(want)))
}

// difference returns the lines that only one of the files has, each after a line break.
func difference(have, want string) string {
	var out strings.Builder
	for _, d := range []struct{ sign, one, other string }{{"-", have, want}, {"+", want, have}} {
		lines := map[string]bool{}
		for line := range strings.SplitSeq(d.other, "\n") {
			lines[line] = true
		}
		for line := range strings.SplitSeq(d.one, "\n") {
			if !lines[line] {
				out.WriteString("\n" + d.sign + " " + line)
			}
		}
	}
	return out.String()
}

// licences tells a licence, by its SPDX name, from a sentence of it in single spaces.
var licences = []struct{ name, sentence string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"Apache-2.0", "Licensed under the Apache License, Version 2.0"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright notice"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
	{"MIT", "The above copyright notice and this permission notice shall be included in all copies"},
	{"MIT", "The above copyright notice and this permission notice (including the next paragraph) shall be included"},
	{"MIT-0", "MIT No Attribution"},
	{"AGPL", "GNU AFFERO GENERAL PUBLIC LICENSE Version"},
	{"GPL", "GNU GENERAL PUBLIC LICENSE Version"},
	{"LGPL", "GNU LESSER GENERAL PUBLIC LICENSE Version"},
	{"MPL", "Mozilla Public License Version"},
	{"MPL", "Mozilla Public License, version"},
	{"EPL", "Eclipse Public License"},
}

// forbidden are licences with duties that a notice does not fulfil, such as offering the source.
var forbidden = []string{"AGPL", "GPL", "LGPL", "MPL", "EPL"}

// licencesOf returns the names of the licences in a text.
func licencesOf(text string) []string {
	words := slices.DeleteFunc(strings.Fields(text), func(word string) bool { return word == "//" || word == "*" })
	text = strings.Join(words, " ")
	var names []string
	for _, l := range licences {
		if !strings.Contains(text, l.sentence) || slices.Contains(names, l.name) ||
			l.name == "BSD-2-Clause" && slices.Contains(names, "BSD-3-Clause") { // which includes its clauses
			continue
		}
		names = append(names, l.name)
	}
	return names
}

//go:embed pdfium/*.txt nexus-proto-annotations.txt
var supplements embed.FS

// supplemented are modules whose own files do not say all that they contain.
var supplemented = map[string]string{
	"github.com/klippa-app/go-pdfium":              "pdfium/*.txt",
	"github.com/nexus-rpc/nexus-proto-annotations": "nexus-proto-annotations.txt",
}

// module is a module that is linked into a program.
type module struct {
	path, version, dir string
	packages           []string // directories
}

func (m *module) String() string { return strings.TrimSpace(m.path + " " + m.version) }

// text is a licence or notice, and the files in which it is found.
type text struct {
	content string
	files   []string // module, version and name, in order
}

// legal matches the names of files that must be passed on.
var legal = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)(\.(txt|md))?$`)

// notices returns the content of the file.
func notices() ([]byte, error) {
	modules, err := linked()
	if err != nil {
		return nil, err
	}
	texts := map[string]*text{}
	names := map[string][]string{} // of a module's licences
	for _, m := range modules {
		if err := m.read(func(file, content string) {
			t := texts[content]
			if t == nil {
				t = &text{content: content}
				texts[content] = t
			}
			t.files = append(t.files, m.String()+", "+file)
			for _, name := range licencesOf(content) {
				if !slices.Contains(names[m.path], name) {
					names[m.path] = append(names[m.path], name)
				}
			}
		}); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(names[m.path],
			func(name string) bool { return slices.Contains(forbidden, name) }); i >= 0 {
			return nil, fmt.Errorf("%s has the licence %s, whose duties a notice does not fulfil", m, names[m.path][i])
		}
		if len(names[m.path]) == 0 && supplemented[m.path] == "" {
			return nil, fmt.Errorf("%s has no licence that this program knows: read it, and add it to "+
				"scripts/notices/main.go", m)
		}
	}
	return format(modules, names, texts), nil
}

// linked returns the modules that the programs contain, with Go's own packages first, by path.
func linked() ([]*module, error) {
	lists := make([][]byte, len(platforms.All))
	var group errgroup.Group
	for i, p := range platforms.All {
		group.Go(func() error {
			cmd := exec.Command("go", append([]string{"list", "-deps", "-f",
				"{{.Dir}}\t{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{.Main}}{{end}}"},
				platforms.Programs...)...)
			cmd.Env = append(os.Environ(), p.Env()...)
			cmd.Stderr = os.Stderr
			var err error
			lists[i], err = cmd.Output()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	goroot := strings.TrimSpace(string(root))
	all := map[string]*module{"": {path: "Go's standard library", dir: goroot, packages: []string{goroot}}}
	for line := range strings.Lines(string(bytes.Join(lists, nil))) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 || f[4] == "true" { // Go's, or ours
			continue
		}
		m := all[f[1]]
		if m == nil {
			m = &module{path: f[1], version: f[2], dir: f[3]}
			all[f[1]] = m
		}
		if !slices.Contains(m.packages, f[0]) {
			m.packages = append(m.packages, f[0])
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *module) int { return cmp.Compare(a.path, b.path) }), nil
}

// read calls found for each legal file of the module, from its root down to its linked packages.
func (m *module) read(found func(file, content string)) error {
	var dirs []string
	for _, dir := range m.packages {
		for ; strings.HasPrefix(dir, m.dir); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() || !legal.MatchString(e.Name()) {
				continue
			}
			content, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			file, err := filepath.Rel(m.dir, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			found(filepath.ToSlash(file), tidy(content))
		}
	}
	if supplemented[m.path] == "" {
		return nil
	}
	files, err := fs.Glob(supplements, supplemented[m.path])
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := supplements.ReadFile(file)
		if err != nil {
			return err
		}
		found("part "+strings.TrimSuffix(path.Base(file), ".txt"), tidy(content))
	}
	return nil
}

// tidy removes differences that readers do not see, so that equal texts are printed once.
func tidy(content []byte) string {
	lines := strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

const opening = `Third-party notices of myao

The programs worker, starter and sandbox contain the modules below. Each is listed with its version
and its licences; the texts follow, and each names the files in which it is found. Made by
"make notices".

The PDFium in go-pdfium is based in part on the work of the Independent JPEG Group. Portions of it
are copyright The FreeType Project (https://freetype.org). All rights reserved.
The SQLite in go-sqlite3-wasm is in the public domain (https://sqlite.org/copyright.html).

`

func format(modules []*module, names map[string][]string, texts map[string]*text) []byte {
	var out bytes.Buffer
	out.WriteString(opening)
	for _, m := range modules {
		fmt.Fprintf(&out, "%s: %s\n", m, cmp.Or(strings.Join(names[m.path], ", "), "see its text"))
	}
	for _, t := range slices.SortedFunc(maps.Values(texts),
		func(a, b *text) int { return cmp.Compare(a.files[0], b.files[0]) }) {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(t.files, "\n"),
			strings.Repeat("-", 80), t.content)
	}
	return out.Bytes()
}
