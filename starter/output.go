package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// output is the flag of every command that prints something.
type output struct {
	JSON bool `help:"Print JSON, for programs."`
}

// mostListed is the most that a list has. All of it is asked for by name, some twice, and
// SQLite takes 32,766 values at once.
const mostListed = 10_000

// checkLimit checks a --limit.
func checkLimit(limit, most int) error {
	if limit < 1 || limit > most {
		return fmt.Errorf("--limit %d: want 1 to %d", limit, most)
	}
	return nil
}

// print writes v as indented JSON, or has text write it for people.
func (o output) print(w io.Writer, v any, text func(io.Writer) error) error {
	if !o.JSON {
		return text(w)
	}
	return printJSON(w, v)
}

// printJSON writes v indented, and < and & as they are.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table writes rows in columns; the first is the heading.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := io.WriteString(t, strings.Join(row, "\t")+"\n"); err != nil {
			return err
		}
	}
	return t.Flush()
}
