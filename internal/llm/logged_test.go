package llm

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"
)

type modelFunc func(context.Context, Request) (Response, error)

func (f modelFunc) Generate(ctx context.Context, r Request) (Response, error) { return f(ctx, r) }

func TestLoggedWritesOneLineWithoutText(t *testing.T) {
	tests := []struct {
		name string
		res  Response
		err  error
		want string
	}{
		{"success", Response{Text: "PRIVATE", Usage: Usage{Input: 10, Output: 3}, Model: "m-2"}, nil,
			"level=INFO msg=\"model call\" purpose=judgment provider=gemini model=m-2 input_tokens=10 output_tokens=3 duration=1.5s\n"},
		{"refused", Response{}, &Error{Kind: ErrRateLimited, Status: 429, Message: "PRIVATE"},
			"level=WARN msg=\"model call\" purpose=judgment provider=gemini model=m-1 input_tokens=0 output_tokens=0 duration=1.5s error_kind=rate_limited status=429\n"},
		{"refused by name", Response{}, &Error{Kind: ErrInvalid, Status: 400, Code: "context_length_exceeded", Message: "PRIVATE"},
			"level=WARN msg=\"model call\" purpose=judgment provider=gemini model=m-1 input_tokens=0 output_tokens=0 duration=1.5s error_kind=invalid status=400 code=context_length_exceeded\n"},
		{"cut", Response{Text: "PRIVATE", Usage: Usage{Input: 10, Output: 3}}, &Error{Kind: ErrCut, Text: "PRIVATE"},
			"level=WARN msg=\"model call\" purpose=judgment provider=gemini model=m-1 input_tokens=10 output_tokens=3 duration=1.5s error_kind=cut\n"},
		{"with tools", Response{Turn: &Turn{Text: "PRIVATE", Calls: []Call{{Name: "PRIVATE"}, {}}}, Model: "m-2"}, nil,
			"level=INFO msg=\"model call\" purpose=judgment provider=gemini model=m-2 input_tokens=0 output_tokens=0 duration=1.5s round=1 tool_calls=2\n"},
		{"foreign", Response{}, errors.New("PRIVATE"),
			"level=WARN msg=\"model call\" purpose=judgment provider=gemini model=m-1 input_tokens=0 output_tokens=0 duration=1.5s error_kind=other\n"},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		}))
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := func() time.Time { now = now.Add(1500 * time.Millisecond); return now }
		inner := modelFunc(func(context.Context, Request) (Response, error) { return tt.res, tt.err })
		request := Request{Purpose: PurposeJudgment, Model: "m-1", System: "PRIVATE", Prompt: "PRIVATE"}
		if tt.res.Turn != nil {
			request.Tools, request.Turns = []Tool{{Name: "PRIVATE"}}, []Turn{{}}
		}
		res, err := Logged(inner, "gemini", logger, clock).Generate(t.Context(),
			request)
		if !reflect.DeepEqual(res, tt.res) || err != tt.err {
			t.Errorf("%s: got %v, %v: the call was changed", tt.name, res, err)
		}
		if got := out.String(); got != tt.want {
			t.Errorf("%s: got  %swant %s", tt.name, got, tt.want)
		}
	}
}

// Each call of a model without tools or files says so; the log does so once a model.
func TestLoggedTellsOnceWhatAModelTakesNot(t *testing.T) {
	var out bytes.Buffer
	inner := modelFunc(func(context.Context, Request) (Response, error) {
		return Response{Text: "ok", WithoutTools: true, WithoutFiles: []string{"PRIVATE.png"}}, nil
	})
	m := Logged(inner, "openai", slog.New(slog.NewTextHandler(&out, nil)), time.Now)
	for _, model := range []string{"a", "b", "a", "b"} {
		if _, err := m.Generate(t.Context(), Request{Model: model, Tools: []Tool{{}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, model := range []string{"a", "b"} {
		if n := strings.Count(out.String(), "takes no tools: its replies are written without looking anything up\" provider=openai model="+model); n != 1 {
			t.Errorf("%s: told %d times: %s", model, n, out.String())
		}
		if n := strings.Count(out.String(), "written without seeing them\" provider=openai model="+model); n != 1 || strings.Contains(out.String(), "PRIVATE") {
			t.Errorf("%s: told %d times: %s", model, n, out.String())
		}
	}
}
