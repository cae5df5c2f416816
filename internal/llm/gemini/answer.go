package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"myao/internal/llm"
)

// answer is what the transport saw in a success. It holds what the library would
// lose: unknown reasons, thinking tokens, the model's version.
type answer struct {
	read        bool
	candidates  int
	finish      string // "" if missing
	blockReason string // "" if not blocked
	usage       llm.Usage
	model       string
	content     json.RawMessage // of the first candidate, as it came
}

type answerKey struct{}

// withAnswer makes the transport store the answer of this context's call in a.
func withAnswer(ctx context.Context, a *answer) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}

type part struct {
	Text    *string       `json:"text,omitempty"`
	Thought bool          `json:"thought,omitempty"`
	Call    *functionCall `json:"functionCall,omitempty"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts,omitempty"`
}

type candidate struct {
	Content      json.RawMessage `json:"content"`
	FinishReason reason          `json:"finishReason"`
}

type body struct {
	Candidates     []candidate `json:"candidates"`
	PromptFeedback struct {
		BlockReason reason `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata struct {
		// A float reads any number, so that a strange count does not fail the answer.
		PromptTokenCount     float64 `json:"promptTokenCount"`
		CandidatesTokenCount float64 `json:"candidatesTokenCount"`
		ThoughtsTokenCount   float64 `json:"thoughtsTokenCount"`
		CachedTokenCount     float64 `json:"cachedContentTokenCount"`
	} `json:"usageMetadata"`
	ModelVersion string `json:"modelVersion"`
}

// rewrite stores the answer for Generate and passes only the text parts for the
// reader to the library. The library fails on a part without data, panics on some
// others, and cannot tell a thought from an answer.
func rewrite(ctx context.Context, raw []byte) ([]byte, error) {
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, fmt.Errorf("not of Gemini's form: %w", err)
	}
	if seen, ok := ctx.Value(answerKey{}).(*answer); ok {
		*seen = b.answer()
	}
	type shown struct {
		Content content `json:"content"`
	}
	var out struct {
		Candidates []shown `json:"candidates,omitempty"`
	}
	for _, c := range b.Candidates {
		var said content
		if len(c.Content) > 0 {
			if err := json.Unmarshal(c.Content, &said); err != nil {
				return nil, fmt.Errorf("not of Gemini's form: %w", err)
			}
		}
		kept := content{Role: "model"}
		for _, p := range said.Parts {
			if p.Text != nil && !p.Thought {
				kept.Parts = append(kept.Parts, part{Text: p.Text})
			}
		}
		out.Candidates = append(out.Candidates, shown{kept})
	}
	return json.Marshal(out)
}

func (b body) answer() answer {
	u := b.UsageMetadata
	a := answer{
		read:        true,
		candidates:  len(b.Candidates),
		blockReason: b.PromptFeedback.BlockReason.name(blockReasons),
		usage: llm.NewUsage(u.PromptTokenCount, u.CandidatesTokenCount+u.ThoughtsTokenCount,
			u.ThoughtsTokenCount).WithCached(u.CachedTokenCount),
		model: b.ModelVersion,
	}
	if len(b.Candidates) > 0 {
		a.finish, a.content = b.Candidates[0].FinishReason.name(finishReasons), b.Candidates[0].Content
	}
	return a
}

// reason is one of Google's enums, sent as a name or as a number.
type reason string

func (r *reason) UnmarshalJSON(raw []byte) error {
	*r = reason(strings.Trim(string(raw), `"`))
	return nil
}

// name returns the reason's name, of bounded length: "" for none, "reason N" for an unknown
// number.
func (r reason) name(names []string) string {
	n, err := strconv.Atoi(string(r))
	switch {
	case err != nil && (r == "null" || strings.HasSuffix(string(r), "_UNSPECIFIED")):
		return ""
	case err != nil:
		return string(r[:min(len(r), 64)])
	case n >= 0 && n < len(names):
		return names[n]
	}
	return fmt.Sprintf("reason %d", n)
}

// The names by number; 0 is "unspecified".
var (
	finishReasons = []string{"", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
		"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL"}
	blockReasons = []string{"", "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY"}
)
