package tools

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"myao/internal/answer/document"
	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/store"
)

// Files reads files of Slack.
type Files interface {
	// Available reports whether files can be read at all.
	Available() bool
	// Read returns the text of a file as material, and a picture or PDF itself, or a document.Refused.
	Read(ctx context.Context, f chat.File) (text string, files []llm.File, err error)
}

const (
	// maxFileMessages is how many messages of a channel, and of a thread, a file is looked for in.
	maxFileMessages = 200
	// maxFileNames is how many names a model gets.
	maxFileNames = 20
)

// WithoutFiles are the names of the tools among these that read no files.
func WithoutFiles(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == chat.ToolReadFile })
}

// ReadsForeign reports whether a tool has a program of ours read bytes that strangers wrote.
func ReadsForeign(name string) bool { return name == chat.ToolReadFile || name == chat.ToolOpenLink }

type readFileInput struct {
	Name string `json:"name" jsonschema:"name of the file as it stands in brackets at its message, such as notes.txt; the newest of this name is read, and with (2) behind it the one before"`
}

func readFile(s Sources) tool {
	t := defineFiles(chat.ToolReadFile,
		"Reads a file that somebody has attached to a message in this channel: its text, or the picture or PDF itself.",
		func(ctx context.Context, p Place, _ string, in readFileInput) (Result, error) {
			known, err := s.Store.Files(ctx, p.Conversation, maxFileMessages)
			if err != nil {
				return Result{}, err
			}
			f, found := fileNamed(known, in.Name)
			if !found {
				return Result{}, unknownFile(known, in.Name)
			}
			text, files, err := s.Files.Read(ctx, f.File)
			if refused, ok := errors.AsType[*document.Refused](err); ok {
				return Result{}, mistakef("%s %s. Say so, and do not guess what is in it.", document.Name(f.File),
					refused.Reason)
			}
			return Result{Text: text, Files: files, Shown: []Reference{{p.Conversation.Channel, f.TS}}}, err
		})
	t.available = s.Files.Available
	return t
}

var (
	// fileLabel matches a file as it stands at its message.
	fileLabel = regexp.MustCompile(`^\[(?:file|image|video|audio): (.*)\]$`)
	// ordinal matches the number of a file among those of one name.
	ordinal = regexp.MustCompile(`^(.+?)\s*\((\d{1,3})\)$`)
)

// fileNamed finds the file that a model names, by its name, its id, or its name and its number among files of
// that name.
func fileNamed(known []store.StoredFile, name string) (store.StoredFile, bool) {
	name = strings.TrimSpace(name)
	if m := fileLabel.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if f, found := nthNamed(known, name, 1); found {
		return f, true
	}
	if m := ordinal.FindStringSubmatch(name); m != nil {
		n, _ := strconv.Atoi(m[2]) // which are digits
		return nthNamed(known, m[1], n)
	}
	return store.StoredFile{}, false
}

// nthNamed finds the n-th file of a name, or the file of an id. Names that are written alike are
// the same if none is just so.
func nthNamed(known []store.StoredFile, name string, n int) (store.StoredFile, bool) {
	for _, same := range []func(f store.StoredFile) bool{
		func(f store.StoredFile) bool { return f.Name == name || f.ID == name },
		func(f store.StoredFile) bool { return folded(f.Name) == folded(name) },
	} {
		left := n
		for _, f := range known {
			if same(f) {
				if left--; left == 0 {
					return f, true
				}
			}
		}
	}
	return store.StoredFile{}, false
}

// folded is a name without what gets lost where a model repeats it: case, blanks, and the form in which
// some systems write accents and voiced kana.
func folded(name string) string {
	return strings.ToLower(strings.Join(strings.Fields(norm.NFKC.String(name)), " "))
}

func unknownFile(known []store.StoredFile, name string) error {
	if len(known) == 0 {
		return mistakef("No message in this channel has a file, as far as is known. Say so.")
	}
	var names []string
	count := map[string]int{}
	for _, f := range known[:min(len(known), maxFileNames)] {
		count[f.Name]++
		listed := fmt.Sprintf("%q", f.Name)
		if n := count[f.Name]; n > 1 {
			listed = fmt.Sprintf("%q", fmt.Sprintf("%s (%d)", f.Name, n))
		}
		names = append(names, listed)
	}
	return mistakef("No file %q is known in this channel; files of other channels cannot be read. There are, the "+
		"newest first: %s.", name, strings.Join(names, ", "))
}
