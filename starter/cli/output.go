package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"myao/internal/operate/timeline"
)

// output is the flag of every command that prints something.
type output struct {
	JSON bool `help:"Print JSON, for programs."`
}

// maxListed bounds a list. Each entry may be queried by name, some twice, and SQLite takes 32,766
// values in a statement.
const maxListed = 10_000

// checkLimit checks a --limit.
func checkLimit(limit, most int) error {
	if limit < 1 || limit > most {
		return fmt.Errorf("--limit %d: want 1 to %d", limit, most)
	}
	return nil
}

// print writes v as indented JSON with --json, and otherwise calls text.
func (o output) print(w io.Writer, v any, text func(io.Writer) error) error {
	if !o.JSON {
		return text(w)
	}
	return printJSON(w, v)
}

// nonNil is a list that is [] in JSON where it is empty.
func nonNil[T any](list []T) []T { return append([]T{}, list...) }

// printJSON writes v as indented JSON, without escaping < and &.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// writeFile replaces a file that only its owner may read.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// table writes rows in columns. The first row is the heading.
func table(w io.Writer, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displayWidth(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-displayWidth(cell)+2))
		}
		b.WriteString(row[len(row)-1] + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printPlain prints a text by a model or users, which may have several lines, without what would
// control a terminal.
func printPlain(w io.Writer, text string) error {
	for line := range strings.SplitSeq(text, "\n") {
		if _, err := fmt.Fprintln(w, timeline.Plain(line)); err != nil {
			return err
		}
	}
	return nil
}

// formatTime formats a time.
func formatTime(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "–"
	}
	return t.In(zone).Format("2006-01-02 15:04:05 MST")
}

// displayWidth is the width of a text in a terminal. A Japanese character takes two columns.
func displayWidth(text string) int {
	n := 0
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// section writes a table after an empty line, unless it has a heading alone.
func section(w io.Writer, rows [][]string) error {
	if len(rows) == 1 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return table(w, rows)
}
