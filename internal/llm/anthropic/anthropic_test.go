package anthropic

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

func setup(t *testing.T, handler llmtest.Handler) (*Model, *llmtest.Running) {
	t.Helper()
	s := llmtest.New(t, handler)
	m, err := New(Config{APIKey: "sk-secret\n", BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, s
}

func request() llm.Request {
	return llm.Request{Purpose: llm.PurposeJudgment, Model: "claude-x", System: "Context.", Prompt: "Judge."}
}

// The API requires a limit of tokens, and the library wants to stream for a high one.
func TestLimitsOfTokens(t *testing.T) {
	t.Parallel()
	m, s := setup(t, nil)
	for asked, want := range map[int]int{0: defaultMaxTokens, 1: 1, 200_000: 200_000} {
		s.Reset()
		r := request()
		r.MaxOutputTokens = asked
		if _, err := m.Generate(t.Context(), r); err != nil {
			t.Errorf("%d: %v", asked, err)
		} else if got := s.Calls()[0].MaxTokens; got == nil || *got != want {
			t.Errorf("%d: got %v, want %d", asked, got, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	with := func(content, stop string) string {
		return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-x-001","content":[%s],"stop_reason":%s,
			"usage":{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":55,"output_tokens_details":{"thinking_tokens":50}}}`, content, stop)
	}
	const hello = `{"type":"text","text":"hello"}`
	m, s := setup(t, nil)
	llmtest.Answers(t, m, s, llm.Usage{Input: 325, Cached: 300, Output: 55, Thoughts: 50}, "claude-x-001", []llmtest.RawAnswer{
		{"whole", with(hello, `"end_turn"`), nil, "hello"},
		{"a stop sequence", with(hello, `"stop_sequence"`), nil, "hello"},
		{"no stop reason", with(hello, `null`), nil, "hello"},
		{"blocks are joined", with(`{"type":"text","text":"hel"},{"type":"text","text":"lo"}`, `"end_turn"`), nil, "hello"},
		{"thoughts", with(`{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"x"},`+hello, `"end_turn"`), nil, "hello"},
		{"a block of the future", with(`{"type":"future","text":"hm"},`+hello, `"end_turn"`), nil, "hello"},
		{"thoughts only", with(`{"type":"thinking","thinking":"hm","signature":"c2ln"}`, `"end_turn"`), llm.ErrEmpty, ""},
		{"cut", with(hello, `"max_tokens"`), llm.ErrCut, "hello"},
		{"cut in the thoughts", with(`{"type":"thinking","thinking":"hm"}`, `"max_tokens"`), llm.ErrCut, ""},
		{"the window is full", with(hello, `"model_context_window_exceeded"`), llm.ErrCut, "hello"},
		{"refused", with(hello, `"refusal"`), llm.ErrBlocked, ""},
		{"a tool", with(`{"type":"tool_use","id":"1","name":"f","input":{}}`, `"tool_use"`), llm.ErrEmpty, ""},
		{"paused", with(hello, `"pause_turn"`), llm.ErrEmpty, ""},
		{"an unknown reason", with(hello, `"bad_hair_day"`), llm.ErrEmpty, ""},
		{"blank", with(`{"type":"text","text":" \n"}`, `"end_turn"`), llm.ErrEmpty, ""},
		{"no content", with(``, `"end_turn"`), llm.ErrEmpty, ""},
		{"nothing", `{}`, llm.ErrEmpty, ""},
		{"error with 200", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrUnavailable, ""},
	})
}

// The explanation of a refusal may quote the prompt.
func TestARefusalNamesItsCategoryOnly(t *testing.T) {
	t.Parallel()
	m, _ := setup(t, func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Raw: `{"content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":"It says zebrafish."}}`}
	})
	_, err := m.Generate(t.Context(), request())
	if !errors.Is(err, llm.ErrBlocked) || !strings.Contains(err.Error(), "bio") || strings.Contains(err.Error(), "zebrafish") {
		t.Errorf("got %v", err)
	}
}
