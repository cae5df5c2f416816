package llm_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

// The contract of tools, tested for every network adapter. The server refuses what the providers
// refuse: a call without its result, a thought that did not come back.

var tools = []llm.Tool{
	{Name: "search_messages", Description: "Searches messages.", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"channel":{"type":"string"}},"required":["query"]}`)},
	{Name: "forget_note", Description: "Forgets a note.", Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}`)},
	{Name: "now", Schema: json.RawMessage(`{"type":"object"}`)},
}

func asking() llm.Request {
	r := request()
	r.Tools = tools
	return r
}

// answered returns the turn with a result for each call, as a database gives it back: with the
// fields of objects in another order.
func answered(t *testing.T, turn *llm.Turn) llm.Turn {
	t.Helper()
	if turn == nil {
		t.Fatal("the answer has no turn")
	}
	stored := *turn
	var plain any
	if err := json.Unmarshal(turn.Opaque, &plain); err != nil {
		t.Fatalf("the turn is not JSON: %v: %s", err, turn.Opaque)
	}
	stored.Opaque, _ = json.MarshalIndent(plain, "", " ")
	for i, c := range turn.Calls {
		stored.Results = append(stored.Results, llm.ToolResult{CallID: c.ID, Name: c.Name, Text: "result of " + c.Name, Failed: i == 1})
	}
	return stored
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// A question with two rounds of tools, then its answer.
func TestToolRounds(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(llmtest.Script(
			llmtest.Reply{Text: "I look.", InputTokens: 50, OutputTokens: 7, ThoughtTokens: 30, Calls: []llm.Call{
				llmtest.ToolCall("search_messages", `{"query":"<lunch> & 昼"}`), llmtest.ToolCall("forget_note", `{"id":3}`), llmtest.ToolCall("search_messages", `{"query":"b","channel":"c"}`)}},
			llmtest.Reply{Calls: []llm.Call{llmtest.ToolCall("now", `{}`)}},
			llmtest.Text("At noon."),
		))
		r := asking()
		first, err := m.Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if first.Text != "" || first.Usage != (llm.Usage{Input: 50, Output: 37, Thoughts: 30}) || first.Model != "m-1" || first.Turn.Text != "I look." {
			t.Errorf("got %+v", first)
		}
		inputs := []string{`{"query":"<lunch> & 昼"}`, `{"id":3}`, `{"query":"b","channel":"c"}`}
		for i, name := range []string{"search_messages", "forget_note", "search_messages"} {
			if c := first.Turn.Calls[i]; c.Name != name || c.ID == "" || !sameJSON(c.Input, []byte(inputs[i])) {
				t.Errorf("call %d: got %s %s %s", i, c.ID, c.Name, c.Input)
			}
		}
		r.Turns = append(r.Turns, answered(t, first.Turn))
		second, err := m.Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.Turns = append(r.Turns, answered(t, second.Turn))
		last, err := m.Generate(t.Context(), r)
		if err != nil || last.Text != "At noon." || last.Turn != nil || last.WithoutTools {
			t.Fatalf("got %+v, %v", last, err)
		}
		c := s.Calls()[2]
		if c.User != "Answer now." || len(c.Tools) != 3 || len(c.Turns) != 2 {
			t.Fatalf("on the wire: %q, %d tools, %d turns: %s", c.User, len(c.Tools), len(c.Turns), c.Body)
		}
		for i, turn := range c.Turns {
			want := r.Turns[i]
			if turn.Text != want.Text || len(turn.Results) != len(want.Results) {
				t.Fatalf("turn %d on the wire: %+v", i, turn)
			}
			for k, got := range turn.Results {
				want := want.Results[k]
				if c.Provider == "openai" { // has no mark for failures
					want.Failed = false
				}
				if !reflect.DeepEqual(got, want) || turn.Calls[k].ID != want.CallID {
					t.Errorf("result %d of turn %d: got %+v, want %+v", k, i, got, want)
				}
			}
		}
	})
}

// What a model wrote has to come back as it was. The adapters keep it, the server demands it, and
// whoever changes it learns so.
func TestChangedTurnsAreRefused(t *testing.T) {
	changes := map[string]map[string]string{ // by provider: what to replace in Opaque, by a regular expression
		"gemini":    {`,?"thoughtSignature":"[^"]*"`: "", `"thoughtSignature":"[^"]*"`: `"thoughtSignature":"c2ln"`, `"query":"a"`: `"query":"z"`},
		"anthropic": {`"signature":"[^"]*"`: `"signature":"c2ln"`, `"thinking":"Let[^"]*"`: `"thinking":"Hm."`, `{[^{}]*"type":"thinking"[^{}]*},`: ""},
		"openai":    {`,?"reasoning_content":"[^"]*"`: ""},
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(llmtest.Script(llmtest.Reply{ThoughtTokens: 9, Calls: []llm.Call{llmtest.ToolCall("search_messages", `{"query":"a"}`), llmtest.ToolCall("now", `{}`)}}))
		r := asking()
		res, err := m.Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		s.Handle(nil)
		kept := answered(t, res.Turn)
		kept.Opaque = res.Turn.Opaque
		for pattern, by := range changes[s.Calls()[0].Provider] {
			changed := kept
			changed.Opaque = regexp.MustCompile(pattern).ReplaceAll(kept.Opaque, []byte(by))
			if string(changed.Opaque) == string(kept.Opaque) {
				t.Fatalf("%s is not in %s", pattern, kept.Opaque)
			}
			r.Turns = []llm.Turn{changed}
			if _, err := m.Generate(t.Context(), r); !errors.Is(err, llm.ErrInvalid) {
				t.Errorf("%s: got %v, want ErrInvalid", changed.Opaque, err)
			}
		}
		r.Turns = []llm.Turn{kept}
		if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "ok" {
			t.Errorf("unchanged: got %v", err)
		}
	})
}

func TestUnfinishedCalls(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		calls := []llm.Call{llmtest.ToolCall("now", `{}`)}
		for name, tt := range map[string]struct {
			reply llmtest.Reply
			kind  error
		}{
			"cut":     {llmtest.Reply{Text: "I", Calls: calls, Cut: true}, llm.ErrCut},
			"blocked": {llmtest.Reply{Calls: calls, Blocked: true}, llm.ErrBlocked},
			"nothing": {llmtest.Reply{}, llm.ErrEmpty},
		} {
			s.Handle(llmtest.Script(tt.reply))
			if res, err := m.Generate(t.Context(), asking()); !errors.Is(err, tt.kind) || res.Turn != nil || res.Text != "" {
				t.Errorf("%s: got %+v, %q, %v, want %v", name, res.Turn, res.Text, err, tt.kind)
			}
		}
		// Nobody can answer the call of a tool that was not declared.
		s.Handle(llmtest.Script(llmtest.Calls(calls...)))
		if res, err := m.Generate(t.Context(), request()); !errors.Is(err, llm.ErrEmpty) || res.Turn != nil {
			t.Errorf("undeclared: got %+v, %v, want ErrEmpty", res, err)
		}
	})
}

// A model that takes no tools is asked without them, from then on at once.
func TestModelsWithoutTools(t *testing.T) {
	refusals := map[string]llmtest.Reply{
		"gemini":    {Status: 400, Message: "Function calling is not enabled for models/gemma-3-27b-it"},
		"anthropic": {Status: 400, Message: "gemma3:4b does not support tools"},
		"openai":    {Status: 400, Message: "registry.ollama.ai/library/gemma3:4b does not support tools"},
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(func(c llmtest.Call) llmtest.Reply {
			if len(c.Tools) > 0 && c.Model == "m-1" {
				return refusals[c.Provider]
			}
			return llmtest.Text("ok")
		})
		r := asking()
		r.ClientRequestID = llm.NewClientRequestID("run/1")
		for range 2 {
			if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "ok" || !res.WithoutTools {
				t.Fatalf("got %+v, %v", res, err)
			}
		}
		calls := s.Calls()
		if len(calls) != 3 || len(calls[0].Tools) != 3 || len(calls[1].Tools)+len(calls[2].Tools) != 0 {
			t.Fatalf("got %d calls", len(calls))
		}
		if a, b := calls[0].Header.Get(llm.ClientRequestIDHeader), calls[1].Header.Get(llm.ClientRequestIDHeader); a == b || llm.DecisionOf(b) != "run/1" {
			t.Errorf("two requests with the ids %q and %q", a, b)
		}
		r.Model = "able"
		if res, err := m.Generate(t.Context(), r); err != nil || res.WithoutTools || len(s.Calls()[3].Tools) != 3 {
			t.Errorf("another model: got %+v, %v", res, err)
		}
		// With turns there is no request without tools.
		s.Handle(llmtest.Script(llmtest.Calls(llmtest.ToolCall("now", `{}`)), refusals[calls[0].Provider]))
		r.Model = "changed"
		res, err := m.Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.Turns = []llm.Turn{answered(t, res.Turn)}
		if _, err := m.Generate(t.Context(), r); !errors.Is(err, llm.ErrInvalid) || len(s.Calls()) != 6 {
			t.Errorf("with turns: got %v after %d calls", err, len(s.Calls()))
		}
	})
}

func TestImpossibleToolRequests(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(llmtest.Script(llmtest.Calls(llmtest.ToolCall("now", `{}`))))
		res, err := m.Generate(t.Context(), asking())
		if err != nil {
			t.Fatal(err)
		}
		s.Reset()
		turn := answered(t, res.Turn)
		with := func(change func(*llm.Turn)) func(*llm.Request) {
			changed := turn
			changed.Results = append([]llm.ToolResult{}, turn.Results...)
			change(&changed)
			return func(r *llm.Request) { r.Turns = []llm.Turn{turn, changed} }
		}
		object := json.RawMessage(`{"type":"object"}`)
		for says, change := range map[string]func(*llm.Request){
			"tools and a schema":            func(r *llm.Request) { r.Schema = llm.VerdictSchema(1) },
			"turns but no tools":            func(r *llm.Request) { r.Turns, r.Tools = []llm.Turn{turn}, nil },
			`the tool "a b" has a name`:     func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "a b", Schema: object}} },
			`the tool "" has a name`:        func(r *llm.Request) { r.Tools = []llm.Tool{{Schema: object}} },
			`"now" is declared twice`:       func(r *llm.Request) { r.Tools = append(tools[:3:3], tools[2]) },
			`of the tool "x" is not`:        func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "x", Schema: json.RawMessage(`{"type":"string"}`)}} },
			`of the tool "y" is not`:        func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "y"}} },
			`turn 2 is by the provider "z"`: with(func(t *llm.Turn) { t.Provider = "z" }),
			"turn 2 is not as":              with(func(t *llm.Turn) { t.Opaque = json.RawMessage(`{`) }),
			"turn 2 has no calls":           with(func(t *llm.Turn) { t.Calls = nil }),
			"turn 2 has 0 results":          with(func(t *llm.Turn) { t.Results = nil }),
			`a result of "other"`:           with(func(t *llm.Turn) { t.Results[0].Name = "other" }),
			`in the place of "now"`:         with(func(t *llm.Turn) { t.Results[0].CallID = "other" }),
		} {
			r := asking()
			change(&r)
			_, err := m.Generate(t.Context(), r)
			if e := failure(t, err); e.Kind != llm.ErrInvalid || !strings.Contains(e.Message, says) {
				t.Errorf("got %v, want ErrInvalid with %q", err, says)
			}
		}
		if n := len(s.Calls()); n != 0 {
			t.Errorf("got %d calls, want none", n)
		}
	})
}
