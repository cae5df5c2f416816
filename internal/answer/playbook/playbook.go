// Package playbook reads how things are done here: Markdown files that the operator has written. Prompts name them, and
// a model reads one by a tool. Nothing of ours writes one.
package playbook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"myao/internal/chat"
)

// Limits of a directory and of a file.
const (
	MaxPlaybooks  = 50
	MaxTitle      = 80     // characters
	MaxWhen       = 200    // characters; more is cut
	MaxCharacters = 20_000 // of a file: what a model is shown of one result by default
)

// Playbook is a file: its text begins a line with "# ", which is the title, and a paragraph that says when to use it.
type Playbook struct {
	chat.Playbook
	File, Text string
}

// Fault is why a file is left out; without a file, why the directory cannot be read.
type Fault struct{ File, Reason string }

// Read reads the playbooks in a directory, in the order of their files' names. Files that do not end in .md, and those
// that begin with a dot, are none.
func Read(dir string) (found []Playbook, faults []Fault) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, []Fault{{"", "cannot be read: " + err.Error()}}
	}
	defer func() { _ = root.Close() }()
	files, err := files(dir)
	if err != nil {
		return nil, []Fault{{"", "cannot be read: " + err.Error()}}
	}
	for _, file := range files {
		p, err := read(root, file)
		if i := slices.IndexFunc(found, p.named); err == nil && i >= 0 {
			err = fmt.Errorf("has the title of %s, %q", found[i].File, p.Title)
		}
		if err == nil && len(found) == MaxPlaybooks {
			err = fmt.Errorf("is one too many: %d are read", MaxPlaybooks)
		}
		if err != nil {
			faults = append(faults, Fault{file, err.Error()})
			continue
		}
		found = append(found, p)
	}
	return found, faults
}

func (p Playbook) named(other Playbook) bool { return strings.EqualFold(p.Title, other.Title) }

// Find returns the playbook of a title, whatever its case.
func Find(all []Playbook, title string) (Playbook, bool) {
	title = oneLine(title)
	i := slices.IndexFunc(all, func(p Playbook) bool { return strings.EqualFold(p.Title, title) })
	if i < 0 {
		return Playbook{}, false
	}
	return all[i], true
}

// files are the names of the files in a directory that are to be playbooks.
func files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() && !strings.HasPrefix(name, ".") && strings.EqualFold(filepath.Ext(name), ".md") {
			names = append(names, name)
		}
	}
	return names, err
}

// read reads a file within a directory, which a link must not leave.
func read(root *os.Root, name string) (Playbook, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return Playbook{}, unreadable(err)
	case !info.Mode().IsRegular():
		return Playbook{}, errors.New("is no file")
	}
	f, err := root.Open(name)
	if err != nil {
		return Playbook{}, unreadable(err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, MaxCharacters*utf8.UTFMax+1))
	switch {
	case err != nil:
		return Playbook{}, unreadable(err)
	case utf8.RuneCount(data) > MaxCharacters:
		return Playbook{}, fmt.Errorf("is too large: it may have %d characters", MaxCharacters)
	case !utf8.Valid(data):
		return Playbook{}, errors.New("is not UTF-8")
	}
	return parse(name, strings.TrimSpace(chat.Printable(string(data))))
}

func unreadable(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("cannot be read, or leads out of the directory: %w", err)
}

// parse reads the title, and the paragraph under it.
func parse(file, text string) (Playbook, error) {
	lines := strings.Split(text, "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "# ") })
	if at < 0 {
		return Playbook{}, errors.New(`has no title: a line that begins with "# "`)
	}
	title := oneLine(strings.TrimRight(strings.TrimPrefix(lines[at], "# "), "# "))
	switch n := utf8.RuneCountInString(title); {
	case n == 0:
		return Playbook{}, errors.New("has an empty title")
	case n > MaxTitle:
		return Playbook{}, fmt.Errorf("has a title of %d characters: it may have %d", n, MaxTitle)
	}
	var paragraph []string
	for _, line := range lines[at+1:] {
		line = strings.TrimSpace(strings.TrimLeft(line, "> "))
		if strings.HasPrefix(line, "#") || line == "" && len(paragraph) > 0 {
			break
		}
		if line != "" {
			paragraph = append(paragraph, line)
		}
	}
	when := []rune(oneLine(strings.Join(paragraph, " ")))
	if len(when) == 0 {
		return Playbook{}, errors.New("has no line under its title that says when to use it")
	}
	if len(when) > MaxWhen {
		when = append(when[:MaxWhen-1], '…')
	}
	return Playbook{chat.Playbook{Title: title, When: string(when)}, file, text}, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Dir is the playbooks of a directory. It reads the files again when they have changed, and logs which it leaves out.
// It is safe for concurrent use. Nil has none.
type Dir struct {
	path   string
	logger *slog.Logger

	mu    sync.Mutex
	state string // of the files when they were read
	all   []Playbook
}

// Open reads the playbooks of a directory; "" is nil.
func Open(path string, logger *slog.Logger) *Dir {
	if path == "" {
		return nil
	}
	d := &Dir{path: path, logger: logger}
	d.All()
	return d
}

// All are the playbooks as the files are now.
func (d *Dir) All() []Playbook {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	state := stateOf(d.path)
	if state == d.state {
		return d.all
	}
	all, faults := Read(d.path)
	d.state, d.all = state, all
	for _, f := range faults {
		d.logger.Warn("playbook left out", "directory", d.path, "file", f.File, "reason", f.Reason)
	}
	d.logger.Info("playbooks read", "directory", d.path, "playbooks", len(all))
	return all
}

// stateOf changes with any of the files in a directory.
func stateOf(dir string) string {
	var state strings.Builder
	names, err := files(dir)
	fmt.Fprintln(&state, "read", err)
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			fmt.Fprintln(&state, name, err)
			continue
		}
		fmt.Fprintln(&state, name, info.Size(), info.ModTime().UnixNano())
	}
	return state.String()
}
