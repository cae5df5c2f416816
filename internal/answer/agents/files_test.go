package agents

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"myao/internal/llm"
)

// What is over the limits of a question is left out, the oldest first, and so is what no model takes.
func TestFitFiles(t *testing.T) {
	file := func(name string, size int) llm.File {
		return llm.File{Name: name, MIME: "image/png", Data: make([]byte, size)}
	}
	turns := []llm.Turn{
		{Results: []llm.ToolResult{{Files: []llm.File{file("r1", 1), file("r2", 1)}}}},
		{Results: []llm.ToolResult{{Files: []llm.File{file("r3", maxFileBytes-2)}}, {Files: []llm.File{{Name: "r4", MIME: "image/svg+xml", Data: []byte("<svg/>")}, file("r5", 0)}}}},
	}
	message := []llm.File{file("m1", 1), file("m2", 1)}
	var shown []string
	collect := func(files []llm.File) {
		for _, f := range files {
			shown = append(shown, f.Name)
		}
	}
	r := fitFiles(llm.Request{Prompt: "Answer.", Files: message, Turns: turns})
	for _, turn := range r.Turns {
		for _, result := range turn.Results {
			collect(result.Files)
		}
	}
	collect(r.Files)
	if want := []string{"r1", "r2", "r3"}; !slices.Equal(shown, want) || strings.Count(r.Prompt, "was not shown") != 2 {
		t.Errorf("shown %v, want %v; told %q", shown, want, r.Prompt)
	}
	if told := r.Turns[1].Results[1].Text; !strings.Contains(told, `"r4" was not shown to you: no model takes`) || !strings.Contains(told, `"r5"`) {
		t.Errorf("told %q", told)
	}
	if len(turns[1].Results[1].Files) != 2 || len(message) != 2 {
		t.Error("the caller's turns were changed")
	}
	shown = nil
	var many []llm.Turn
	for i := range 7 {
		many = append(many, llm.Turn{Results: []llm.ToolResult{{Files: []llm.File{file(fmt.Sprint(i), 1)}}}})
	}
	collect(fitFiles(llm.Request{Files: append(resultFiles(many), message...)}).Files) // the last round
	if want := []string{"6", "5", "4", "3", "2"}; !slices.Equal(shown, want) {
		t.Errorf("the last round shows %v, want %v", shown, want)
	}
}
