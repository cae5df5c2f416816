package gemini

import (
	"fmt"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

func setup(t *testing.T, handler llmtest.Handler) (*Model, *llmtest.Running) {
	t.Helper()
	s := llmtest.New(t, handler)
	m, err := New(t.Context(), Config{APIKey: "AIza-secret\n", Endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, s
}

func request() llm.Request {
	return llm.Request{Purpose: llm.PurposeJudgment, Model: "gemini-x", System: "Context.", Prompt: "Judge."}
}

// Google may send enums as names or as numbers.
func TestAnswers(t *testing.T) {
	t.Parallel()
	with := func(parts, finish string) string {
		return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":%s,"index":0}],
			"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"totalTokenCount":60,"thoughtsTokenCount":53},
			"modelVersion":"gemini-x-001"}`, parts, finish)
	}
	hello := `{"text":"hello"}`
	m, s := setup(t, nil)
	llmtest.Answers(t, m, s, llm.Usage{Input: 5, Output: 55, Thoughts: 53}, "gemini-x-001", []llmtest.RawAnswer{
		{"by name", with(hello, `"STOP"`), nil, "hello"},
		{"by number", with(hello, `1`), nil, "hello"},
		{"parts are joined", with(`{"text":"he"},{"text":"llo"}`, `"STOP"`), nil, "hello"},
		{"signature alone", with(hello+`,{"thoughtSignature":"c2ln"}`, `"STOP"`), nil, "hello"},
		{"signature and text", with(`{"text":"hello","thoughtSignature":"c2ln"}`, `"STOP"`), nil, "hello"},
		{"thought", with(`{"text":"let me think","thought":true},`+hello, `"STOP"`), nil, "hello"},
		{"empty part", with(`{},`+hello, `"STOP"`), nil, "hello"},
		{"other parts", with(`{"functionCall":{"name":"f"}},{"functionResponse":{"name":"f"}},{"futureThing":1},`+hello, `"STOP"`), nil, "hello"},
		{"no finish reason", `{"candidates":[{"content":{"parts":[{"text":"hello"}]}}]}`, nil, "hello"},
		{"two candidates", `{"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":1},{"finishReason":3}]}`, nil, "hello"},
		{"thoughts only", with(`{"text":"hm","thought":true}`, `"STOP"`), llm.ErrEmpty, ""},
		{"no parts", with(``, `"STOP"`), llm.ErrEmpty, ""},
		{"cut", with(hello, `"MAX_TOKENS"`), llm.ErrCut, "hello"},
		{"cut by number", with(hello, `2`), llm.ErrCut, "hello"},
		{"cut without parts", with(``, `2`), llm.ErrCut, ""},
		{"cut without content", `{"candidates":[{"finishReason":"MAX_TOKENS"}]}`, llm.ErrCut, ""},
		{"safety", with(hello, `"SAFETY"`), llm.ErrBlocked, ""},
		{"recitation by number", with(hello, `4`), llm.ErrBlocked, ""},
		{"prohibited by name", with(hello, `"PROHIBITED_CONTENT"`), llm.ErrBlocked, ""},
		{"prohibited by number", with(hello, `8`), llm.ErrBlocked, ""},
		{"unknown name", with(hello, `"BAD_HAIR_DAY"`), llm.ErrBlocked, ""},
		{"unknown number", with(hello, `99`), llm.ErrBlocked, ""},
		{"malformed call", with(``, `"MALFORMED_FUNCTION_CALL"`), llm.ErrEmpty, ""},
		{"malformed call by number", with(``, `10`), llm.ErrEmpty, ""},
		{"malformed answer", with(``, `"MALFORMED_RESPONSE"`), llm.ErrEmpty, ""},
		{"calls of tools", with(``, `"TOO_MANY_TOOL_CALLS"`), llm.ErrEmpty, ""},
		{"prompt blocked", `{"promptFeedback":{"blockReason":"SAFETY"}}`, llm.ErrBlocked, ""},
		{"prompt blocked by number", `{"promptFeedback":{"blockReason":2}}`, llm.ErrBlocked, ""},
		{"prompt blocked for an unknown reason", `{"promptFeedback":{"blockReason":"BAD_HAIR_DAY"}}`, llm.ErrBlocked, ""},
		{"prompt not blocked", `{"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED"},"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":1}]}`, nil, "hello"},
		{"no candidates", `{"candidates":[]}`, llm.ErrEmpty, ""},
		{"nothing", `{}`, llm.ErrEmpty, ""},
		{"wrong form", `{"candidates":"none"}`, llm.ErrUnavailable, ""},
	})
}
