package eval

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"myao/internal/llm"
)

// extract writes memories without a language model: the lines of its prompt that are memories, and
// the messages in it, one dated line each, the oldest first. Package agents keeps the newest of them
// that a memory has room for.
type extract struct{}

var (
	saidLine     = regexp.MustCompile(`^\*\*(\d{4}-\d\d-\d\d) [\d:]+\*\* (.+):$`)
	rememberLine = regexp.MustCompile(`^- \d{4}-\d\d-\d\d `)
)

// Generate implements llm.Model.
func (extract) Generate(_ context.Context, r llm.Request) (llm.Response, error) {
	lines := strings.Split(r.System, "\n")
	target := 0 // where the last section begins, which the memory is made of
	for i, line := range lines {
		if strings.HasPrefix(line, "## ") {
			target = i
		}
	}
	var kept []string
	for i, line := range lines {
		if said := saidLine.FindStringSubmatch(line); said != nil && i > target && i+1 < len(lines) {
			kept = append(kept, "- "+said[1]+" "+said[2]+": "+lines[i+1])
		} else if rememberLine.MatchString(line) && strings.Contains(r.System, "\nWrite the long-term memory") ||
			rememberLine.MatchString(line) && i > target {
			kept = append(kept, line)
		}
	}
	const day = len("- " + time.DateOnly)
	slices.SortStableFunc(kept, func(a, b string) int { return cmp.Compare(a[:day], b[:day]) })
	seen := map[string]bool{}
	kept = slices.DeleteFunc(kept, func(line string) bool { again := seen[line]; seen[line] = true; return again })
	if len(kept) == 0 {
		kept = []string{"- nothing"}
	}
	return llm.Response{Text: strings.Join(kept, "\n"), Model: "extract"}, nil
}
