package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"myao/templates"
)

// file is a template's source and its path. replaced is the first source that it replaces:
// the embedded one, if there is one.
type file struct{ name, path, source, replaced string }

// shouldDefine reports whether the file replaced the definition of a template. Ask only for a
// template that no file defines.
func (f file) shouldDefine(template string) bool {
	return strings.Contains(f.replaced, `{{define "`+template+`"}}`)
}

// load reads a language's embedded templates and those in dir that replace them, sorted by name. A
// file in dir that replaces none is a fault.
func load(language, dir string, faults *Faults) ([]file, error) {
	if _, err := fs.Stat(templates.FS, language+"/response.tmpl"); err != nil {
		return nil, fmt.Errorf("prompt language %q: want one of %s", language, strings.Join(languages(), ", "))
	}
	files := map[string]file{}
	entries, err := fs.ReadDir(templates.FS, language)
	if err != nil {
		return nil, fmt.Errorf("read embedded prompt templates: %w", err)
	}
	for _, e := range entries {
		path := language + "/" + e.Name()
		source, err := fs.ReadFile(templates.FS, path)
		if err != nil {
			return nil, fmt.Errorf("read embedded prompt template: %w", err)
		}
		files[e.Name()] = file{name: e.Name(), path: "templates/" + path, source: string(source)}
	}
	if dir != "" {
		// The language's own directory comes last: its files win.
		if err := override(files, dir, faults); err != nil {
			return nil, err
		}
		if err := override(files, filepath.Join(dir, language), faults); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) }), nil
}

// override replaces files with the templates in dir.
func override(files map[string]file, dir string, faults *Faults) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read templates_dir: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".tmpl" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		before, known := files[e.Name()]
		if !known && !strings.HasPrefix(e.Name(), "_") {
			faults.add(fmt.Errorf("prompt template %s: no prompt has this name (the name of a partial begins with _)",
				path))
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			faults.add(fmt.Errorf("read prompt template: %w", err))
			continue
		}
		replaced := cmp.Or(before.replaced, before.source)
		files[e.Name()] = file{name: e.Name(), path: path, source: string(source), replaced: replaced}
	}
	return nil
}

// embeddedSources returns the sources of the embedded templates of all languages. The guard knows the
// headings of all of them.
func embeddedSources() ([]string, error) {
	var sources []string
	err := fs.WalkDir(templates.FS, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		source, err := fs.ReadFile(templates.FS, path)
		sources = append(sources, string(source))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read embedded prompt templates: %w", err)
	}
	return sources, nil
}

func languages() []string {
	var names []string
	entries, _ := fs.ReadDir(templates.FS, ".") // an embedded file system cannot fail to list its root
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
