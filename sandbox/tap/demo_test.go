package tap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/llm/demo"
)

// delayed is a message for which the demo model asks its longest delay.
const delayed = "Who has <the> plan & its draft?"

// requests returns every kind of request that the bot makes, with its real prompts.
func requests(t *testing.T, language string) []llm.Request {
	t.Helper()
	prompts, err := prompt.New(prompt.Config{Language: language})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2024, 3, 1, 10, 11, 0, 0, time.UTC)
	c := chat.Context{
		Persona: chat.Persona{Name: "myao", SystemPrompt: "You are myao."},
		Conversation: chat.NewChannelMessages("C1", "general", []chat.Message{
			{TS: chat.TS(now.Add(-2 * time.Minute)), UserID: "U1", Name: "alice", Text: "The plan is in the wiki."},
			{TS: chat.TS(now.Add(-time.Minute)), UserID: "U2", Name: "bob", Text: delayed},
		}),
		WorkspaceLongTerm: "- 2024-02-28: the team moved house",
		Channels:          []chat.ChannelMemory{{ChannelID: "C1", ChannelName: "general", LongTerm: "- 2024-02-01: alice leads", ShortTerm: "- 2024-02-29: bob is away"}},
	}
	o := prompt.Options{Now: now, MaxDelaySeconds: 600, MaxTokens: 300, WindowHours: 24}
	var all []llm.Request
	add := func(purpose string, s *llm.Schema) func(system, user string, err error) {
		return func(system, user string, err error) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, llm.Request{Purpose: purpose, Model: "demo", System: system, Prompt: user, Schema: s, MaxOutputTokens: 500})
		}
	}
	add(llm.PurposeResponse, nil)(prompts.Response(c, o))
	for _, most := range []int{0, 1, 600} {
		add(llm.PurposeJudgment, llm.VerdictSchema(most))(prompts.Judgment(c, o))
	}
	for _, kind := range []prompt.MemoryKind{prompt.ThreadSummary, prompt.ChannelShort, prompt.ChannelLong, prompt.WorkspaceShort, prompt.WorkspaceLong} {
		add(llm.PurposeMemory, nil)(prompts.Memory(kind, c, o))
	}
	o.BareMention, o.Fault = true, "no JSON"
	add(llm.PurposeResponse, nil)(prompts.Response(c, o))
	add(llm.PurposeJudgment, llm.VerdictSchema(600))(prompts.Judgment(c, o))
	return all
}

// The tap answers every request as the demo model does.
func TestDemoModelOverHTTP(t *testing.T) {
	t.Parallel()
	tap := Demo()
	bot := adapter(t, "openai", serve(t, tap))
	for _, language := range []string{"en", "ja"} {
		for i, r := range requests(t, language) {
			r.ClientRequestID = language + "/" + r.Purpose + "/" + string(rune('a'+i))
			want, err := demo.New().Generate(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			got, err := bot.Generate(t.Context(), r)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, %v\nwant %+v", r.ClientRequestID, got, err, want)
			}
			x := one(t, tap, r.ClientRequestID)
			if x.At.Before(began) || x.At.After(time.Now()) {
				t.Errorf("%s is dated %s, but began at %s", r.ClientRequestID, x.At, began)
			}
			x.At = time.Time{}
			if want := (Exchange{Purpose: r.Purpose, Model: "demo", System: r.System, Prompt: r.Prompt, Answer: want.Text}); x != want {
				t.Errorf("%s: kept %+v\nwant %+v", r.ClientRequestID, x, want)
			}
			if r.Schema != nil {
				if most := *r.Schema.Properties[5].Maximum; !strings.Contains(got.Text, fmt.Sprintf(`"delay_seconds":%d}`, min(most, 5))) {
					t.Errorf("%s: at most %d seconds: %s", r.ClientRequestID, most, got.Text)
				}
				if _, err := chat.ParseVerdict(got.Text, *r.Schema.Properties[5].Maximum); err != nil {
					t.Errorf("%s: %v", r.ClientRequestID, err)
				}
			}
		}
	}
	noKey(t, tap)
}

// The demo model's calls and their results pass by OpenAI's protocol, and files with them. The tap keeps
// no file.
func TestDemoModelSearches(t *testing.T) {
	t.Parallel()
	tap := Demo()
	bot := adapter(t, "openai", serve(t, tap))
	r := request("x")
	r.System = "## Target\n**2024-03-01 10:10:00** alice:\nWhat did bob say about lunch?\n\n---\n"
	r.Tools = []llm.Tool{{Name: "search_messages", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"author":{"type":"string"}},"required":["query"]}`)}}
	first, err := bot.Generate(t.Context(), r)
	if err != nil || first.Turn == nil || string(first.Turn.Calls[0].Input) != `{"author":"bob","query":"lunch"}` {
		t.Fatalf("got %+v, %v", first, err)
	}
	turn := *first.Turn
	turn.Results = []llm.ToolResult{{CallID: turn.Calls[0].ID, Name: turn.Calls[0].Name, Text: "[3] 2024-02-29 12:00 #general bob: At noon."}}
	r.Turns = []llm.Turn{turn}
	data := bytes.Repeat([]byte("PICTURE"), 1000)
	r.Files = []llm.File{{Name: "menu.png", MIME: "image/png", Data: data}}
	turn.Results[0].Files = []llm.File{{Name: "plan.pdf", MIME: llm.PDF, Data: data}}
	if last, err := bot.Generate(t.Context(), r); err != nil || !strings.Contains(last.Text, "bob: At noon. [3]\nI was shown: [image: menu.png, 7 kB], [PDF: plan.pdf, 7 kB]") {
		t.Errorf("got %+v, %v", last, err)
	}
	all := tap.Exchanges("x")
	if len(all) != 2 || all[0].Answer != `→ search_messages {"author":"bob","query":"lunch"}` || !strings.HasSuffix(all[1].LookedUp, "← [3] 2024-02-29 12:00 #general bob: At noon.\n[PDF: plan.pdf, 7 kB]") ||
		all[1].Prompt != "Answer now.\n[image: menu.png, 7 kB]" {
		t.Errorf("kept %+v", all)
	}
}

func TestUnknownSchemas(t *testing.T) {
	t.Parallel()
	tap := Demo()
	bot := adapter(t, "openai", serve(t, tap))
	r := request("other")
	r.Schema = &llm.Schema{Name: "other", Properties: []llm.Property{
		{Name: "z", Type: llm.String}, {Name: "b", Type: llm.String, Enum: []string{"x", "y"}}, {Name: "c", Type: llm.Boolean},
		{Name: "d", Type: llm.Integer, Description: "from 0 to many"}, {Name: "e", Type: llm.Number, Nullable: true},
		{Name: "f", Type: llm.String, Nullable: true, Enum: []string{"x"}},
	}}
	got, err := bot.Generate(t.Context(), r)
	if want := `{"z":"demo","b":"x","c":false,"d":0,"e":null,"f":null}`; err != nil || got.Text != want {
		t.Errorf("got %s, %v, want %s", got.Text, err, want)
	}
	for _, schema := range []string{`[]`, `{"properties":{"a":{}}}`, `{"properties":{"a":{"type":7}}}`} {
		body := `{"model":"demo","messages":[{"role":"user","content":"hi"}],
			"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + schema + `}}}`
		if status, answer := post(t, serve(t, tap)+"/chat/completions", body); status != http.StatusBadRequest || !strings.Contains(answer, "read the schema") {
			t.Errorf("%s: got %d %s", schema, status, answer)
		}
	}
}

// The demo model answers only by OpenAI's protocol.
func TestDemoModelByAnotherProtocol(t *testing.T) {
	t.Parallel()
	tap := Demo()
	fails(t, adapter(t, "gemini", serve(t, tap)), request("odd"), llm.ErrInvalid, http.StatusNotFound, "OpenAI's protocol")
	if x := one(t, tap, "odd"); !strings.Contains(x.Error, "OpenAI's protocol") || x.Answer != "" {
		t.Errorf("kept %+v", x)
	}
}

// A model's failure is a retryable error in the provider's form.
func TestFailingModelInThisProcess(t *testing.T) {
	t.Parallel()
	tap := newTap(modelBackend(broken{}))
	fails(t, adapter(t, "openai", serve(t, tap)), request("x"), llm.ErrUnavailable, http.StatusServiceUnavailable, "out of rules")
	if x := one(t, tap, "x"); !strings.Contains(x.Error, "out of rules") {
		t.Errorf("kept %+v", x)
	}
}

type broken struct{ llm.Model }

func (broken) Generate(ctx context.Context, r llm.Request) (llm.Response, error) {
	return llm.Response{}, errors.New("out of rules")
}
