package shipping

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"myao/test/testserver"
)

// translated are the pages that exist in Japanese too, by the path of the Japanese one.
var translated = map[string]string{
	"README.ja.md":             "README.md",
	"docs/ja/tutorial.md":      "docs/tutorial.md",
	"docs/ja/connecting.md":    "docs/connecting.md",
	"docs/ja/configuration.md": "docs/configuration.md",
	"docs/ja/in-slack.md":      "docs/in-slack.md",
	"docs/ja/workspaces.md":    "docs/workspaces.md",
}

func TestLinksBetweenDocuments(t *testing.T) {
	t.Parallel()
	for _, fault := range deadLinks(t, os.DirFS("../..")) {
		t.Error(fault)
	}
}

func TestTranslationsAreCurrent(t *testing.T) {
	t.Parallel()
	for _, fault := range staleTranslations(t, os.DirFS("../..")) {
		t.Error(fault)
	}
}

func TestCodePageNamesEachPackage(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/code.md")
	named := func(name string) bool {
		return strings.Contains(page, "`"+name+"`") || strings.Contains(page, "/"+name+")")
	}
	root := os.DirFS("../../internal")
	testserver.Must(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == "." {
			return err
		}
		if d.Name() == "testdata" {
			return fs.SkipDir
		}
		code, err := fs.Glob(root, name+"/*.go")
		if err == nil && len(code) > 0 && !named(d.Name()) {
			t.Errorf("docs/code.md does not say what internal/%s is", name)
		}
		return err
	}))
}

func TestIndexNamesEachPage(t *testing.T) {
	t.Parallel()
	pages, err := fs.Glob(os.DirFS("../../docs"), "*.md")
	testserver.Must(t, err)
	index := read(t, "docs/README.md")
	for _, page := range pages {
		if page != "README.md" && !strings.Contains(index, "]("+page+")") {
			t.Errorf("docs/README.md does not name docs/%s: say there in a line what it is for", page)
		}
	}
}

func TestDocumentsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	for _, fault := range missingTests(t, os.DirFS("../..")) {
		t.Error(fault)
	}
}

func TestDocumentFaultsAreFound(t *testing.T) {
	t.Parallel()
	pages := func(more map[string]string) fstest.MapFS {
		all := fstest.MapFS{"docs/images/a.png": {}, "docs/b.md": {Data: []byte("# `Mute`, *for good*: 止める\n## Twice\n## Twice\n")}}
		for name, text := range more {
			all[name] = &fstest.MapFile{Data: []byte(text)}
		}
		return all
	}
	tests := "func TestB(t *testing.T) {\nfunc FuzzB(f *testing.F) {\nfunc BenchmarkB(b *testing.B) {\n"
	english, now := "# Hello\n", "90f8ec5669cd3418"
	japanese := func(line string) map[string]string {
		all := map[string]string{}
		for ja, en := range translated {
			all[en], all[ja] = english, "<!-- Translated from "+path.Base(en)+", sha256 "+now+" -->\n"
		}
		all["docs/ja/tutorial.md"] = line + "\n"
		return all
	}
	for name, test := range map[string]struct {
		pages map[string]string
		found string // part of the only fault; empty: there is none
	}{
		"good links":           {map[string]string{"a.md": "# A\n[b](docs/b.md#mute-for-good-止める) [a](#a) ![i](docs/images/a.png) [w](https://example.com/x.md)\n[c](docs/b.md#twice-1)"}, ""},
		"links in code":        {map[string]string{"a.md": "`[x](y.md)`\n```sh\n[x](y.md)\n# y\n```\n"}, ""},
		"no such file":         {map[string]string{"docs/c.md": "\n[b](d.md)"}, "docs/c.md:2: docs/d.md does not exist"},
		"no such picture":      {map[string]string{"a.md": `<img src="docs/images/b.png">`}, "a.md:1: docs/images/b.png does not exist"},
		"no such heading":      {map[string]string{"a.md": "[b](docs/b.md#mute)"}, "a.md:1: docs/b.md has no heading #mute"},
		"a comment in code":    {map[string]string{"a.md": "[y](#y)\n```sh\n# y\n```\n"}, "a.md:1: a.md has no heading #y"},
		"current translations": {japanese("<!-- Translated from tutorial.md, sha256 " + now + " -->"), ""},
		"a stale translation":  {japanese("<!-- Translated from tutorial.md, sha256 0123456789abcdef -->"), "docs/ja/tutorial.md: not of the current docs/tutorial.md"},
		"no line":              {japanese("# こんにちは"), "<!-- Translated from tutorial.md, sha256 " + now + " -->"},
		"another's line":       {japanese("<!-- Translated from connecting.md, sha256 " + now + " -->"), "docs/ja/tutorial.md: not of the current docs/tutorial.md"},
		"an unknown page":      {map[string]string{"docs/ja/other.md": ""}, "docs/ja/other.md: no English page is known"},
		"tests that exist":     {map[string]string{"a.md": "`TestB`; `b` `TestB`,\n`FuzzB`; `a/b` `BenchmarkB`", "a/b/b_test.go": tests}, ""},
		"a test that does not": {map[string]string{"a.md": "`TestC`", "a/b/b_test.go": tests}, "a.md cites TestC, which does not exist"},
		"a method":             {map[string]string{"a.md": "`TestC`", "b_test.go": "func (a) TestC() {"}, "a.md cites TestC, which does not exist"},
		"another package's": {
			map[string]string{"a.md": "`b` `TestB`, `FuzzB`\n", "a/bb/b_test.go": tests, "b/x_test.go": "func TestB("},
			"a.md cites FuzzB of package b: it is in [a/bb]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := pages(test.pages)
			found := slices.Concat(deadLinks(t, all), staleTranslations(t, all), missingTests(t, all))
			if test.found == "" && len(found) > 0 || test.found != "" && (len(found) != 1 || !strings.Contains(found[0], test.found)) {
				t.Errorf("found %q, want %q", found, test.found)
			}
		})
	}
	if found := staleTranslations(t, pages(map[string]string{"README.ja.md": "", "README.md": english})); len(found) != len(translated) {
		t.Errorf("with README.ja.md alone: found %q, want a fault for each of %d pages", found, len(translated))
	}
}

var (
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inline   = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"\s]+)"`)
	external = regexp.MustCompile(`^[a-z]+:`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	linked   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// deadLinks finds the links of all documents to files and headings that do not exist.
func deadLinks(t *testing.T, root fs.FS) (found faults) {
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		for i, line := range strings.Split(inline.ReplaceAllString(prose(t, root, name), ""), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				file, anchor, _ := strings.Cut(cmp.Or(m[1], m[2]), "#")
				if external.MatchString(file) {
					continue
				}
				target := name
				if file != "" {
					target = path.Join(path.Dir(name), file)
				}
				if _, err := fs.Stat(root, target); err != nil {
					found.add("%s:%d: %s does not exist", name, i+1, target)
				} else if anchor != "" && !anchors(prose(t, root, target))[anchor] {
					found.add("%s:%d: %s has no heading #%s", name, i+1, target, anchor)
				}
			}
		}
		return nil
	})
	testserver.Must(t, err)
	return found
}

// prose returns a document with its blocks of code blanked, line by line.
func prose(t *testing.T, root fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(root, name)
	testserver.Must(t, err)
	return fenced.ReplaceAllStringFunc(string(text), func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
}

// anchors returns the anchors that GitHub gives to a document's headings.
func anchors(text string) map[string]bool {
	all, times := map[string]bool{}, map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		words := strings.ToLower(strings.TrimSpace(linked.ReplaceAllString(m[1], "$1")))
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.N):
				return r
			}
			return -1
		}, words)
		if n := times[anchor]; n > 0 {
			all[fmt.Sprintf("%s-%d", anchor, n)] = true
		}
		all[anchor] = true
		times[anchor]++
	}
	return all
}

var (
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	testOf   = regexp.MustCompile("`([a-z][a-z0-9/]*)`\\s+((?:`(?:Test|Fuzz|Benchmark)[A-Z]\\w*`(?:,\\s+|\\s+and\\s+)?)+)")
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)`)
)

// missingTests finds the tests that a document cites and that do not exist. Where the name of a package
// stands before a list of tests, as in `store` `TestA`, `TestB`, each must be one of that package.
func missingTests(t *testing.T, root fs.FS) (found faults) {
	t.Helper()
	packages := map[string][]string{} // of a test: the directories that declare one of this name
	pages := map[string]string{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md" && !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if path.Ext(name) == ".md" {
			pages[name] = string(text)
			return err
		}
		for _, m := range declared.FindAllSubmatch(text, -1) {
			packages[string(m[1])] = append(packages[string(m[1])], path.Dir(name))
		}
		return err
	})
	testserver.Must(t, err)
	for page, text := range pages {
		for _, test := range testName.FindAllString(text, -1) {
			found.want(packages[test] != nil, "%s cites %s, which does not exist", page, test)
		}
		for _, m := range testOf.FindAllStringSubmatch(text, -1) {
			for _, test := range testName.FindAllString(m[2], -1) {
				in := slices.ContainsFunc(packages[test], func(dir string) bool { return strings.HasSuffix("/"+dir, "/"+m[1]) })
				found.want(in || packages[test] == nil, "%s cites %s of package %s: it is in %s", page, test, m[1], packages[test])
			}
		}
	}
	return found
}

// staleTranslations finds Japanese pages that are missing, or were made from another version of
// their English page. There need be none until README.ja.md exists.
func staleTranslations(t *testing.T, root fs.FS) (found faults) {
	pages, err := fs.Glob(root, "docs/ja/*.md")
	testserver.Must(t, err)
	for _, ja := range pages {
		found.want(translated[ja] != "", "%s: no English page is known: add it to translated in this test", ja)
	}
	_, err = fs.Stat(root, "README.ja.md")
	complete := err == nil
	for ja, en := range translated {
		text, err := fs.ReadFile(root, ja)
		if err != nil {
			found.want(!complete, "%s does not exist, and README.ja.md does", ja)
			continue
		}
		english, err := fs.ReadFile(root, en)
		if err != nil {
			found.add("%s: %v", ja, err)
			continue
		}
		first, _, _ := strings.Cut(string(text), "\n")
		line := fmt.Sprintf("<!-- Translated from %s, sha256 %.8x -->", path.Base(en), sha256.Sum256(english))
		found.want(first == line, "%s: not of the current %s. Bring it up to date, then make this its first line:\n%s", ja, en, line)
	}
	return found
}
