package tap

import (
	"fmt"
	"strings"

	"myao/internal/llm"
)

// declared tells the tools of a request, each with its description and its schema.
func declared(tools []llm.Tool) string {
	var all []string
	for _, t := range tools {
		all = append(all, strings.TrimRight(fmt.Sprintf("%s: %s", t.Name, t.Description), ": ")+"\n"+string(t.Schema))
	}
	return strings.Join(all, "\n\n")
}

// lookedUp tells the calls of earlier answers, each with its result.
func lookedUp(turns []llm.Turn) string {
	var all []string
	for _, t := range turns {
		results := map[string]llm.ToolResult{}
		for _, r := range t.Results {
			results[r.CallID] = r
		}
		if t.Text != "" {
			all = append(all, t.Text)
		}
		for _, c := range t.Calls {
			mark := "←"
			if results[c.ID].Failed {
				mark = "← failed:"
			}
			all = append(all, called(c)+"\n"+mark+" "+withFiles(results[c.ID].Text, results[c.ID].Files))
		}
	}
	return strings.Join(all, "\n\n")
}

// withFiles is a text with a line for each file, which says its name, kind and size.
func withFiles(text string, files []llm.File) string {
	for _, f := range files {
		text += "\n" + f.String()
	}
	return text
}

// answered tells an answer: its text, and its calls.
func answered(r llm.Response) string {
	if r.Turn == nil {
		return r.Text
	}
	var all []string
	if r.Turn.Text != "" {
		all = append(all, r.Turn.Text)
	}
	for _, c := range r.Turn.Calls {
		all = append(all, called(c))
	}
	return strings.Join(all, "\n")
}

func called(c llm.Call) string { return "→ " + c.Name + " " + string(c.Input) }
