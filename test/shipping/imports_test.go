package shipping

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"myao/test/testserver"
)

// A neighbourhood is a folder of internal/ or of the root. Its row names the neighbourhoods that it may import. Each of
// them has a row further down.
type neighbourhood struct {
	name    string
	imports string
}

var neighbourhoods = []neighbourhood{
	{"test", "*"},
	{"scripts", ""},
	{"sandbox", "answer operate slack store llm runtime config conversation chat"},
	{"worker", "workflows activities intake operate answer slack store llm runtime config conversation"},
	{"starter", "workflows evaluate intake operate answer slack store llm runtime config conversation language chat"},
	{"workflows", "activities conversation chat"},
	{"activities", "intake operate answer slack store llm runtime config conversation language chat"},
	{"evaluate", "intake answer slack store llm runtime config conversation chat"},
	{"intake", "operate slack store runtime config conversation language chat"},
	{"operate", "answer slack store llm runtime config conversation language chat"},
	{"answer", "slack store llm runtime config conversation language chat templates"},
	{"slack", "store runtime config language chat"},
	{"store", "runtime conversation language chat"},
	{"llm", "runtime chat"},
	{"runtime", "config conversation chat"},
	{"config", "conversation chat"},
	{"conversation", "language chat"},
	{"language", "chat"},
	{"chat", ""},
	{"templates", ""},
}

// insides are packages within another that are imported from outside its neighbourhood nevertheless.
var insides = map[string][]string{
	"internal/answer/document/pdf":     {"starter", "worker"}, // they make the readers of files
	"internal/answer/document/webpage": {"starter", "worker"}, // and of pages
}

func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	for _, fault := range wrongImports(t, os.DirFS("../..")) {
		t.Error(fault)
	}
}

// TestWrongImportsAreFound tests that an arrow upward, one that the table lacks, a neighbour's inside, and a room of
// no neighbourhood are found, with both files' names.
func TestWrongImportsAreFound(t *testing.T) {
	t.Parallel()
	file := func(imported string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package p\n\nimport _ " + strconv.Quote("myao/"+imported) + "\n")}
	}
	house := fstest.MapFS{
		"internal/store/a.go":               file("internal/answer/recall"),
		"internal/llm/a.go":                 file("internal/config"),
		"internal/operate/doctor/a.go":      file("internal/answer/document/pdf"),
		"internal/answer/tools/a.go":        file("internal/answer/document/pdf"),
		"internal/answer/tools/a_test.go":   file("starter/cli"),
		"internal/attic/a.go":               file("internal/chat"),
		"internal/answer/recall/recall.go":  file("internal/store"),
		"internal/answer/document/pdf/a.go": file("internal/chat"),
	}
	want := []string{
		"internal/attic is in no row of the neighbourhoods",
		"internal/llm/a.go imports internal/config, which llm may not",
		"internal/operate/doctor/a.go imports internal/answer/document/pdf, which is the inside of internal/answer/document",
		"internal/store/a.go imports internal/answer/recall, which store may not",
	}
	if got := wrongImports(t, house); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, n := range neighbourhoods {
		for name := range strings.FieldsSeq(n.imports) {
			if at := slices.IndexFunc(neighbourhoods, func(n neighbourhood) bool { return n.name == name }); name != "*" && at <= i {
				t.Errorf("%s may import %s, which does not stand below it", n.name, name)
			}
		}
	}
}

// wrongImports are the imports of a tree that the neighbourhoods do not allow. Tests may import what they like.
func wrongImports(t *testing.T, tree fs.FS) (faults []string) {
	t.Helper()
	programFiles(t, tree, func(name string, text []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		testserver.Must(t, err)
		from := neighbourhoodOf(name)
		row := slices.IndexFunc(neighbourhoods, func(n neighbourhood) bool { return n.name == from })
		if row < 0 {
			faults = append(faults, path.Dir(name)+" is in no row of the neighbourhoods")
			return
		}
		allowed := strings.Fields(neighbourhoods[row].imports)
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			testserver.Must(t, err)
			imported, ours := strings.CutPrefix(imported, "myao/")
			to := neighbourhoodOf(imported + "/")
			switch {
			case !ours || from == to || slices.Contains(allowed, "*"):
			case !slices.Contains(allowed, to):
				faults = append(faults, fmt.Sprintf("%s imports %s, which %s may not", name, imported, from))
			case strings.Count(imported, "/") > 2 && !slices.Contains(insides[imported], from):
				faults = append(faults, fmt.Sprintf("%s imports %s, which is the inside of %s", name, imported, path.Dir(imported)))
			}
		}
	})
	slices.Sort(faults)
	return slices.Compact(faults)
}

// neighbourhoodOf returns the name of the neighbourhood in which a file stands, by its path from the root.
func neighbourhoodOf(file string) string {
	name, rest, _ := strings.Cut(file, "/")
	if name == "internal" {
		name, _, _ = strings.Cut(rest, "/")
	}
	return name
}

// maxColumns is how wide a line of code may be, where a tab counts four. What stands in quotes does not count: a
// pattern, a statement of SQL or a tag is not clearer in pieces.
const maxColumns = 120

func TestLinesEndBeforeColumn120(t *testing.T) {
	t.Parallel()
	programFiles(t, os.DirFS("../.."), func(name string, text []byte) {
		if strings.HasPrefix(name, "test/") {
			return
		}
		var code scanner.Scanner
		file := token.NewFileSet().AddFile(name, -1, len(text))
		code.Init(file, text, nil, 0)
		bare := slices.Clone(text)
		for {
			at, kind, literal := code.Scan()
			if kind == token.EOF {
				break
			}
			if kind == token.STRING {
				for i := range len(literal) {
					if literal[i] != '\n' {
						bare[file.Offset(at)+i] = 0
					}
				}
			}
		}
		for i, line := range strings.Split(strings.ReplaceAll(string(bare), "\x00", ""), "\n") {
			if columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); columns > maxColumns {
				t.Errorf("%s:%d: %d columns; break it before column %d", name, i+1, columns, maxColumns)
			}
		}
	})
}

// maxFunction is how many lines a function may have, its signature among them.
const maxFunction = 80

func TestFunctionsAreShort(t *testing.T) {
	t.Parallel()
	programFiles(t, os.DirFS("../.."), func(name string, text []byte) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, 0)
		testserver.Must(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(name, "test/") {
				continue
			}
			if n := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1; n > maxFunction {
				t.Errorf("%s: %s has %d lines; split it before %d", name, f.Name.Name, n, maxFunction)
			}
		}
	})
}

// programFiles visits the Go files of a tree that are no tests.
func programFiles(t *testing.T, tree fs.FS, visit func(name string, text []byte)) {
	t.Helper()
	testserver.Must(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err == nil {
			visit(name, text)
		}
		return err
	}))
}
