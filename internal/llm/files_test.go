package llm_test

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"reflect"
	"slices"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

// The contract of files, tested for every network adapter. The server refuses what the providers
// refuse: other types, files in the wrong place, files without a name.

func picture(t *testing.T, name string) llm.File {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 6))); err != nil {
		t.Fatal(err)
	}
	return llm.File{Name: name, MIME: "image/png", Data: b.Bytes()}
}

var document = llm.File{Name: "plan.pdf", MIME: llm.PDF, Data: []byte("%PDF-1.7 …")}

// Files go with the prompt and with results, whose order and names stay.
func TestFiles(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(llmtest.Script(llmtest.Calls(llmtest.ToolCall("now", `{}`), llmtest.ToolCall("now", `{}`), llmtest.ToolCall("now", `{}`)), llmtest.Text("A cat.")))
		r := asking()
		r.Files = []llm.File{picture(t, `猫 "1".png`), document}
		res, err := m.Generate(t.Context(), r)
		if err != nil || res.WithoutFiles != nil {
			t.Fatalf("got %+v, %v", res, err)
		}
		turn := answered(t, res.Turn)
		turn.Results[0].Files = []llm.File{picture(t, "a.png")}
		turn.Results[2].Files = []llm.File{document, picture(t, "b.png")}
		turn.Results[2].Text = "" // a file may be all there is
		r.Turns = []llm.Turn{turn}
		if res, err = m.Generate(t.Context(), r); err != nil || res.Text != "A cat." || res.WithoutFiles != nil {
			t.Fatalf("got %+v, %v", res, err)
		}
		c := s.Calls()[1]
		if c.User != "Answer now." || !reflect.DeepEqual(c.Files, r.Files) {
			t.Errorf("on the wire: %q with %v", c.User, c.Files)
		}
		for i, want := range turn.Results {
			got := c.Turns[0].Results[i]
			if !slices.EqualFunc(got.Files, want.Files, func(a, b llm.File) bool { return reflect.DeepEqual(a, b) }) || got.Text != want.Text {
				t.Errorf("result %d: got %q with %v, want %q with %v", i, got.Text, got.Files, want.Text, want.Files)
			}
		}
	})
}

// A request that asks for JSON, as a judgment does, may have files.
func TestFilesOfAJudgment(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		r := request()
		r.Schema, r.Files = llm.VerdictSchema(1), []llm.File{picture(t, "a.png")}
		if _, err := m.Generate(t.Context(), r); err != nil || len(s.Calls()[0].Files) != 1 || !s.Calls()[0].Judgment() {
			t.Errorf("got %v", err)
		}
	})
}

// A model that takes no pictures is asked without them, from then on at once, and told so.
func TestModelsWithoutEyes(t *testing.T) {
	refusals := map[string]llmtest.Reply{
		"gemini":    {Status: 400, Message: "Image input modality is not enabled for models/gemma-3-1b-it"},
		"anthropic": {Status: 400, Message: "this model does not support image input"},
		"openai":    {Status: 404, Message: "No endpoints found that support image input"},
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(llmtest.Script(llmtest.Calls(llmtest.ToolCall("now", `{}`))))
		r := asking()
		res, err := m.Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		turn := answered(t, res.Turn)
		turn.Results[0].Files = []llm.File{picture(t, "b.png"), document}
		s.Reset()
		s.Handle(func(c llmtest.Call) llmtest.Reply {
			shown := c.Files
			for _, t := range c.Turns {
				shown = append(shown, t.Results[0].Files...)
			}
			if c.Model == "m-1" && slices.ContainsFunc(shown, func(f llm.File) bool { return f.MIME != llm.PDF }) {
				return refusals[c.Provider]
			}
			return llmtest.Text("ok")
		})
		r.ClientRequestID = llm.NewClientRequestID("run/1")
		r.Files, r.Turns = []llm.File{picture(t, "a.png")}, []llm.Turn{turn}
		for range 2 {
			if res, err = m.Generate(t.Context(), r); err != nil || res.Text != "ok" || !slices.Equal(res.WithoutFiles, []string{"a.png", "b.png"}) {
				t.Fatalf("got %+v, %v", res, err)
			}
		}
		calls := s.Calls()
		if len(calls) != 3 || len(calls[0].Files) != 1 {
			t.Fatalf("got %d calls", len(calls))
		}
		if a, b := calls[0].Header.Get(llm.ClientRequestIDHeader), calls[1].Header.Get(llm.ClientRequestIDHeader); a == b || llm.DecisionOf(b) != "run/1" {
			t.Errorf("two requests with the ids %q and %q", a, b)
		}
		for _, c := range calls[1:] {
			result := c.Turns[0].Results[0]
			for text, name := range map[string]string{c.User: "a.png", result.Text: "b.png"} {
				if !strings.Contains(text, `The file "`+name+`" was not shown to you: this model sees no pictures.`) {
					t.Errorf("the model is told %q", text)
				}
			}
			if len(c.Files) != 0 || len(result.Files) != 1 || result.Files[0].MIME != llm.PDF {
				t.Errorf("shown: %v and %v", c.Files, result.Files)
			}
		}
		r.Model = "able"
		if res, err := m.Generate(t.Context(), r); err != nil || res.WithoutFiles != nil || len(s.Calls()[3].Files) != 1 {
			t.Errorf("another model: got %+v, %v", res, err)
		}
		// What is no refusal of the kind is not remembered.
		s.Handle(llmtest.Script(llmtest.Reply{Status: 400, Message: "image exceeds 5 MB maximum"}))
		r.Model = "strict"
		if _, err := m.Generate(t.Context(), r); !errors.Is(err, llm.ErrInvalid) || len(s.Calls()) != 5 {
			t.Errorf("got %v after %d calls", err, len(s.Calls()))
		}
	})
}

func TestImpossibleFiles(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for says, f := range map[string]llm.File{
			`the file "a.bmp" has the type "image/bmp"`: {Name: "a.bmp", MIME: "image/bmp", Data: []byte("BM")},
			`the file "a.png" is empty`:                 {Name: "a.png", MIME: "image/png"},
		} {
			r := request()
			r.Files = []llm.File{f}
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
