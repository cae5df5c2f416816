// Package demo is a model made of a few rules, for trying the system without a
// provider. It uses no network and gives the same answer to the same question.
// Every text says that it comes from the demo model, so that nobody takes it for
// a language model's.
package demo

import (
	"context"
	"encoding/json"
	"hash/fnv"

	"myao/internal/chat"
	"myao/internal/llm"
)

const (
	provider = "demo"
	// quoteLimit bounds a quote from a message, in characters.
	quoteLimit = 200
	// maxDelay is the longest delay of a verdict, in seconds.
	maxDelay = 5
)

// Model is the demo model. Its zero value works.
type Model struct{}

var _ llm.Model = Model{}

// New returns a demo model.
func New() Model { return Model{} }

// Generate answers by rule, at once. It fails only when the context has ended.
// Usage is an estimate of four bytes a token.
func (Model) Generate(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, &llm.Error{Kind: llm.ErrUnavailable, Provider: provider, Err: err}
	}
	var text string
	lines := material(r.System)
	messages := messagesIn(topLevel(lastSection(lines)))
	switch {
	case r.Schema != nil || r.Purpose == llm.PurposeJudgment:
		text = judge(r.Schema, messages)
	case r.Purpose == llm.PurposeMemory:
		text = remember(lastSection(lines))
	default:
		text = reply(messages)
	}
	model := r.Model
	if model == "" {
		model = provider
	}
	usage := llm.Usage{Input: tokens(r.System) + tokens(r.Prompt), Output: tokens(text)}
	return llm.Response{Text: text, Usage: usage, Model: model}, nil
}

func tokens(s string) int { return (len(s) + 3) / 4 }

// verdict is the judgment of the newest message by the rules.
type verdict struct {
	respond    bool
	reason     string
	confidence float64
	delay      int // seconds
}

func decide(messages []message) verdict {
	if len(messages) == 0 {
		return verdict{reason: "demo rule: there is no message to answer", confidence: 1}
	}
	text := messages[len(messages)-1].text
	v := verdict{respond: true, confidence: 0.9, delay: delay(text)}
	var en, ja string
	switch {
	case isDemoReply(text): // it quotes a question but asks none
		v = verdict{confidence: 1}
		en, ja = "is my own", "自分のもの"
	case chat.AsksQuestion(text):
		en, ja = "ends with a question mark", "質問で終わっている"
	case asksForHelp(text):
		en, ja = "asks for help", "助けを求めている"
	default:
		v = verdict{confidence: 0.8}
		en, ja = "asks nothing", "何も尋ねていない"
	}
	v.reason = "demo rule: the last message " + en
	if japanese(text) {
		v.reason = "デモの規則: 最後の発言が" + ja
	}
	return v
}

// delay depends on the text alone.
func delay(text string) int {
	h := fnv.New32a()
	h.Write([]byte(text))
	return int(h.Sum32() % (maxDelay + 1))
}

// judge returns the verdict as JSON of the schema. Unknown properties get placeholders.
func judge(s *llm.Schema, messages []message) string {
	v := decide(messages)
	if s == nil {
		s = llm.VerdictSchema(maxDelay)
	}
	fields := map[string]any{}
	for _, p := range s.Properties {
		switch p.Name {
		case "should_respond":
			fields[p.Name] = v.respond
		case "reason":
			fields[p.Name] = v.reason
		case "confidence":
			fields[p.Name] = v.confidence
		case "delay_seconds":
			switch {
			case !v.respond && p.Nullable:
				fields[p.Name] = nil
			case p.Maximum != nil:
				fields[p.Name] = min(v.delay, *p.Maximum)
			default:
				fields[p.Name] = v.delay
			}
		default:
			fields[p.Name] = placeholder(p)
		}
	}
	b, err := json.Marshal(fields)
	if err != nil { // strings, numbers and booleans only
		return "{}"
	}
	return string(b)
}

func placeholder(p llm.Property) any {
	switch {
	case p.Nullable:
		return nil
	case len(p.Enum) > 0:
		return p.Enum[0]
	case p.Type == llm.Boolean:
		return false
	case p.Type == llm.String:
		return "demo"
	}
	return 0
}
