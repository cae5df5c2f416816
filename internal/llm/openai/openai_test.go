package openai

import (
	"errors"
	"fmt"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

func setup(t *testing.T, handler llmtest.Handler) (*Model, *llmtest.Running) {
	t.Helper()
	s := llmtest.New(t, handler)
	m, err := New(Config{APIKey: "sk-secret\n", BaseURL: s.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, s
}

func request() llm.Request {
	return llm.Request{Purpose: llm.PurposeJudgment, Model: "gpt-x", System: "Context.", Prompt: "Judge."}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	with := func(message, finish string) string {
		return fmt.Sprintf(`{"id":"1","object":"chat.completion","model":"gpt-x-001",
			"choices":[{"index":0,"message":%s,"finish_reason":%s}],
			"usage":{"prompt_tokens":5,"completion_tokens":55,"total_tokens":60}}`, message, finish)
	}
	hello := `{"role":"assistant","content":"hello"}`
	says := func(text string) string {
		return fmt.Sprintf(`{"role":"assistant","content":%q}`, text)
	}
	parts := func(list string) string { return fmt.Sprintf(`{"role":"assistant","content":%s}`, list) }
	m, s := setup(t, nil)
	llmtest.Answers(t, m, s, llm.Usage{Input: 5, Output: 55}, "gpt-x-001", []llmtest.RawAnswer{
		{"stop", with(hello, `"stop"`), nil, "hello"},
		{"no finish reason", with(hello, `null`), nil, "hello"},
		{"unknown fields", with(`{"role":"assistant","content":"hello","reasoning_content":"hm"}`, `"stop"`), nil, "hello"},
		{"length", with(hello, `"length"`), llm.ErrCut, "hello"},
		{"length without text", with(`{"role":"assistant","content":null}`, `"length"`), llm.ErrCut, ""},
		{"thoughts before the answer", with(says("<think>\nhm\n</think>\n\nhello\n\nyou"), `"stop"`), nil, "hello\n\nyou"},
		{"blanks before the thoughts", with(says("\n <think>hm</think>hello"), `"stop"`), nil, "hello"},
		{"no thoughts between the tags", with(says("<think>\n\n</think>\n\nhello"), `"stop"`), nil, "hello"},
		{"opening tag in the prompt", with(says("hm, hm\n</think>\n\nhello"), `"stop"`), nil, "hello"},
		{"opening tag in the prompt, one line", with(says("hm</think>hello"), `"stop"`), nil, "hello"},
		{"thoughts before a verdict", with(says(`<think>{"a":1}?</think>{"should_respond":true}`), `"stop"`), nil, `{"should_respond":true}`},
		{"thoughts and nothing else", with(says("<think>hm</think>\n"), `"stop"`), llm.ErrEmpty, ""},
		{"thoughts without an end", with(says("<think>hm"), `"stop"`), llm.ErrEmpty, ""},
		{"cut in the thoughts", with(says("<think>hm, hello"), `"length"`), llm.ErrCut, ""},
		{"cut in the closing tag", with(says("<think>hm</thi"), `"length"`), llm.ErrCut, ""},
		{"cut after the thoughts", with(says("<think>hm</think>hel"), `"length"`), llm.ErrCut, "hel"},
		{"an answer about the tags", with(says("It thinks between <think> and </think>."), `"stop"`), nil, "It thinks between <think> and </think>."},
		{"an answer about the closing tag", with(says("Cut at `</think>`."), `"stop"`), nil, "Cut at `</think>`."},
		{"a verdict about the closing tag", with(says(`{"reason":"what is </think>?"}`), `"stop"`), nil, `{"reason":"what is </think>?"}`},
		{"Mistral's thoughts", with(says("[THINK]hm\n[/THINK]hello"), `"stop"`), nil, "hello"},
		{"Mistral's thoughts without an end", with(says("[THINK]hm"), `"length"`), llm.ErrCut, ""},
		{"Gemma's thoughts", with(says("<|channel>thought\nhm\n<channel|>\nhello"), `"stop"`), nil, "hello"},
		{"Gemma's thoughts, without a name", with(says("<|channel>\nThe user asks.\n<channel|>\n4"), `"stop"`), nil, "4"},
		{"Gemma's answer in its thoughts", with(says("<|channel>thought\nhello<channel|>"), `"stop"`), llm.ErrEmpty, ""},
		{"gpt-oss's thoughts", with(says("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>hello<|return|>"), `"stop"`), nil, "hello"},
		{"gpt-oss's thoughts in parts", with(says("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>hello"), `"stop"`), nil, "hello"},
		{"gpt-oss without thoughts", with(says("<|channel|>final<|message|>hello"), `"stop"`), nil, "hello"},
		{"gpt-oss's verdict", with(says("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{\"a\":1}"), `"stop"`), nil, `{"a":1}`},
		{"gpt-oss's thoughts without an end", with(says("<|channel|>analysis<|message|>hm"), `"length"`), llm.ErrCut, ""},
		{"gpt-oss's thoughts without marks", with(says("analysisWe need to answer. And nothing else.assistantfinalfour"), `"stop"`), nil, "four"},
		{"an analysis", with(says("analysis is what an assistant does"), `"stop"`), nil, "analysis is what an assistant does"},
		{"an answer about other tags", with(says("It is [THINK] to [/THINK], or <|channel|>final<|message|>."), `"stop"`), nil, "It is [THINK] to [/THINK], or <|channel|>final<|message|>."},
		{"a verdict about other tags", with(says(`{"reason":"what is [/THINK]?"}`), `"stop"`), nil, `{"reason":"what is [/THINK]?"}`},
		{"thoughts, and no text", with(`{"role":"assistant","content":null,"reasoning_content":"{\"a\":1}"}`, `"stop"`), llm.ErrEmpty, ""},
		{"parts", with(parts(`[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hel"},{"type":"text","text":"lo"}]`), `"stop"`), nil, "hello"},
		{"parts, one of them strange", with(parts(`[{"type":"text","text":{"value":"hm"}},7,{"type":"text","text":"hello"}]`), `"stop"`), nil, "hello"},
		{"thoughts in a part of text", with(parts(`[{"type":"text","text":"<think>hm</think>hello"}]`), `"stop"`), nil, "hello"},
		{"parts without text", with(parts(`[{"type":"thinking","text":"hm"}]`), `"stop"`), llm.ErrEmpty, ""},
		{"no parts", with(parts(`[]`), `"stop"`), llm.ErrEmpty, ""},
		{"cut in the part of thoughts", with(parts(`[{"type":"thinking","text":"hm"}]`), `"length"`), llm.ErrCut, ""},
		{"text that looks like parts", with(says(`[{"type":"text","text":"hello"}]`), `"stop"`), nil, `[{"type":"text","text":"hello"}]`},
		{"neither text nor parts", with(parts(`{"type":"text","text":"hello"}`), `"stop"`), llm.ErrEmpty, ""},
		{"filter", with(hello, `"content_filter"`), llm.ErrBlocked, ""},
		{"refusal", with(`{"role":"assistant","content":null,"refusal":"I can't"}`, `"stop"`), llm.ErrBlocked, ""},
		{"tool call", with(`{"role":"assistant","content":null,"tool_calls":[]}`, `"tool_calls"`), llm.ErrEmpty, ""},
		{"aborted", with(hello, `"abort"`), llm.ErrEmpty, ""},
		{"Together's end", with(hello, `"eos"`), nil, "hello"},
		{"watsonx's end", with(hello, `"eos_token"`), nil, "hello"},
		{"Anthropic's end", with(hello, `"end_turn"`), nil, "hello"},
		{"Google's end", with(hello, `"STOP"`), nil, "hello"},
		{"Mistral's window is full", with(hello, `"model_length"`), llm.ErrCut, "hello"},
		{"Google's limit", with(hello, `"MAX_TOKENS"`), llm.ErrCut, "hello"},
		{"DeepSeek has no room", with(hello, `"insufficient_system_resource"`), llm.ErrEmpty, ""},
		{"an end, and no text", with(says(" "), `"eos"`), llm.ErrEmpty, ""},
		{"no content", with(`{"role":"assistant","content":null}`, `"stop"`), llm.ErrEmpty, ""},
		{"no choices", `{"choices":[]}`, llm.ErrEmpty, ""},
		{"nothing", `{}`, llm.ErrEmpty, ""},
		{"error with 200", `{"error":{"message":"overloaded"}}`, llm.ErrUnavailable, ""},
	})
}

// If a request asks for JSON, a JSON object in the place of thoughts is the answer.
func TestVerdictInThoughts(t *testing.T) {
	t.Parallel()
	var message string
	m, _ := setup(t, func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Raw: `{"choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`}
	})
	r := request()
	r.Schema = llm.VerdictSchema(600)
	const verdict = `{"should_respond":false}`
	for said, want := range map[string]string{
		fmt.Sprintf(`{"role":"assistant","content":null,"reasoning_content":%q}`, verdict):                verdict,
		fmt.Sprintf(`{"role":"assistant","content":"","reasoning":%q,"reasoning_content":null}`, verdict): verdict,
		fmt.Sprintf(`{"role":"assistant","content":%q,"reasoning_content":"{}"}`, verdict):                verdict,
		`{"role":"assistant","content":null,"reasoning_content":"hm, {}"}`:                                "",
		`{"role":"assistant","content":null,"reasoning_content":"{\"a\":"}`:                               "",
		`{"role":"assistant","content":null,"reasoning_content":{"a":1}}`:                                 "",
	} {
		message = said
		res, err := m.Generate(t.Context(), r)
		if res.Text != want || errors.Is(err, llm.ErrEmpty) != (want == "") {
			t.Errorf("%s: got %q, %v, want %q", said, res.Text, err, want)
		}
	}
}
