package tap

import (
	"fmt"
	"strings"
	"time"

	"myao/internal/llm"
)

// Exchange is one request to the model, and its answer.
type Exchange struct {
	// Decision is the one that the request is about (llm.NewClientRequestID); empty, as for a memory: none.
	Decision string `json:"decision,omitempty"`
	// Purpose and Model are the request's.
	Purpose string `json:"purpose"`
	Model   string `json:"model"`
	// At is when the model was asked.
	At time.Time `json:"at"`
	// System is the system prompt, and Prompt the user turn, with a line for each file instead of its
	// bytes. What was said in chat turns stands before it.
	System string `json:"system"`
	Prompt string `json:"prompt"`
	// Tools are those that the model was offered, and LookedUp what it called before, with the
	// results; both as text. Of files it has a line as well.
	Tools    string `json:"tools,omitempty"`
	LookedUp string `json:"looked_up,omitempty"`
	// Answer is the model's text, even if it was cut at the token limit, and the tools that it calls.
	Answer string `json:"answer"`
	// Error is one line that says what went wrong; empty: nothing.
	Error string `json:"error"`
}

// asked is the exchange of a request before its answer.
func asked(r llm.Request, at time.Time) Exchange {
	return Exchange{Decision: llm.DecisionOf(r.ClientRequestID), Purpose: r.Purpose, Model: r.Model, At: at,
		System: r.System, Prompt: chat(r.Said) + withFiles(r.Prompt, r.Files), Tools: declared(r.Tools),
		LookedUp: lookedUp(r.Turns)}
}

// chat tells chat turns, each of the bot with a mark.
func chat(said []llm.Speech) string {
	var all strings.Builder
	for _, s := range said {
		mark := ""
		if s.Own {
			mark = "← "
		}
		all.WriteString(mark + s.Text + "\n\n")
	}
	return all.String()
}

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
