// Package demo is a model made of a few rules, for trying the system without a
// provider. It uses no network and gives the same answer to the same question. Asked in plain words
// to look something up, to open a link, to remember something, to forget a note, to find or open a
// ticket, to say something in another place, or to come back to something at a time, it calls the tool for it.
// To bare thanks it reacts, where it may.
// Of files it says what it was shown. Every text says that it comes from the demo model, so that nobody takes it for
// a language model's.
package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"hash/fnv"
	"regexp"
	"strings"

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
	var turn *llm.Turn
	lines := material(r.System)
	messages := messagesIn(topLevel(lastSection(lines)))
	if len(r.Said) > 0 {
		messages = spoken(r.Said)
	}
	switch {
	case r.Schema != nil || r.Purpose == llm.PurposeJudgment:
		v, ok := due(r.System, messages)
		if !ok {
			v = decide(messages, botName(r.Prompt))
		}
		text = v.answer(r.Schema)
	case r.Purpose == llm.PurposeMemory:
		text = remember(lastSection(lines))
	default:
		text, turn = respond(r, messages)
	}
	model := r.Model
	if model == "" {
		model = provider
	}
	usage := llm.Usage{Input: tokens(r.System) + tokens(r.Prompt), Output: tokens(text)}
	for _, s := range r.Said {
		usage.Input += tokens(s.Text)
	}
	for _, t := range r.Turns {
		for _, result := range t.Results {
			usage.Input += tokens(result.Text)
		}
	}
	if turn != nil {
		usage.Output += tokens(turn.Calls[0].Name) + tokens(string(turn.Calls[0].Input))
	}
	return llm.Response{Text: text, Turn: turn, Usage: usage, Model: model}, nil
}

// respond returns a reply to the newest message, or the call that it asks for.
func respond(r llm.Request, messages []message) (string, *llm.Turn) {
	if text := cmp.Or(acted(r.System), kept(r.System)); text != "" {
		return text, nil
	}
	newest := ""
	if len(messages) > 0 {
		newest = messages[len(messages)-1].text
		if bareThanks.MatchString(newest) && strings.Contains(r.System, "`react: ") {
			return "react: +1", nil
		}
		a := askedFor(newest, r.Tools)
		if turn := call(r, a); turn != nil {
			return "", turn
		}
		if text := told(r, a, japanese(newest)); text != "" {
			return text + shown(r, japanese(newest)), nil
		}
	}
	return reply(messages) + shown(r, japanese(newest)), nil
}

func tokens(s string) int { return (len(s) + 3) / 4 }

// namePattern matches the bot's name in the question of a judgment.
var namePattern = regexp.MustCompile(`(?m)^(?:Should (.+?) speak |判定対象の会話について、(.+?)が発言す)`)

// botName returns the name by which the question of a judgment calls the bot, or "".
func botName(question string) string {
	m := namePattern.FindStringSubmatch(question)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// verdict is the judgment of the newest message by the rules.
type verdict struct {
	addressee  string
	gist       string
	reason     string
	respond    bool
	confidence float64
	delay      int // seconds
}

func decide(messages []message, name string) verdict {
	if len(messages) == 0 {
		return verdict{addressee: chat.AddresseeNobody, reason: "demo rule: there is no message to answer",
			confidence: 1}
	}
	text := messages[len(messages)-1].text
	v := verdict{addressee: chat.AddresseeEveryone, gist: "the demo model's notice that it arrived", respond: true,
		confidence: 0.9, delay: delay(text)}
	if japanese(text) {
		v.gist = "デモモデルによる受け取りの返事"
	}
	var en, ja string
	switch {
	case isDemoReply(text): // it quotes a question but asks none
		v = verdict{addressee: chat.AddresseeNobody, confidence: 1}
		en, ja = "is my own", "自分のもの"
	case chat.AsksQuestion(text):
		en, ja = "ends with a question mark", "質問で終わっている"
	case asksForHelp(text):
		en, ja = "asks for help", "助けを求めている"
	default:
		v = verdict{addressee: chat.AddresseeNobody, confidence: 0.8}
		en, ja = "asks nothing", "何も尋ねていない"
	}
	if name != "" && !isDemoReply(text) && strings.Contains(strings.ToLower(text), strings.ToLower(name)) {
		v.addressee = chat.AddresseeMe
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

// answer returns the verdict as JSON of the schema, in its order. Unknown properties get placeholders.
func (v verdict) answer(s *llm.Schema) string {
	if s == nil {
		s = llm.VerdictSchema(maxDelay)
	}
	var object bytes.Buffer
	object.WriteByte('{')
	for i, p := range s.Properties {
		if i > 0 {
			object.WriteByte(',')
		}
		object.Write(encode(p.Name))
		object.WriteByte(':')
		object.Write(encode(v.field(p)))
	}
	object.WriteByte('}')
	return object.String()
}

// encode encodes a string, number or boolean, or nil, which cannot fail.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}

// field returns the value of a property, or a placeholder for an unknown one.
func (v verdict) field(p llm.Property) any {
	switch p.Name {
	case "addressee":
		return v.addressee
	case "gist":
		return v.gist
	case "reason":
		return v.reason
	case "should_respond", "post": // the latter of a second look
		return v.respond
	case "confidence":
		return v.confidence
	case "delay_seconds":
		switch {
		case !v.respond && p.Nullable:
			return nil
		case p.Maximum != nil:
			return min(v.delay, *p.Maximum)
		}
		return v.delay
	}
	return placeholder(p)
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
