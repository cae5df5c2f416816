package llm_test

import (
	"slices"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

func mine(text string) llm.Speech   { return llm.Speech{Own: true, Text: text} }
func others(text string) llm.Speech { return llm.Speech{Text: text} }

// Providers want others and the bot by turns, others first, and the instruction at the end.
func TestChat(t *testing.T) {
	for name, test := range map[string]struct {
		said []llm.Speech
		want []llm.Speech
	}{
		"none":              {nil, []llm.Speech{others("Answer now.")}},
		"others last":       {[]llm.Speech{others("a"), mine("b"), others("c")}, []llm.Speech{others("a"), mine("b"), others("c\n\n---\n\nAnswer now.")}},
		"the bot last":      {[]llm.Speech{others("a"), mine("b")}, []llm.Speech{others("a"), mine("b"), others("Answer now.")}},
		"the bot first":     {[]llm.Speech{mine("a"), others("b")}, []llm.Speech{others("…"), mine("a"), others("b\n\n---\n\nAnswer now.")}},
		"neighbours":        {[]llm.Speech{others("a"), others("b"), mine("c"), mine("d")}, []llm.Speech{others("a\n\nb"), mine("c\n\nd"), others("Answer now.")}},
		"nothing was said":  {[]llm.Speech{mine(" "), others("a"), mine("\n")}, []llm.Speech{others("a\n\n---\n\nAnswer now.")}},
		"the bot was alone": {[]llm.Speech{mine("a")}, []llm.Speech{others("…"), mine("a"), others("Answer now.")}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
				r := request()
				r.Said = test.said
				if _, err := m.Generate(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if c := s.Calls()[0]; !slices.Equal(c.Chat(), test.want) || c.System != r.System {
					t.Errorf("got %+v\nwant %+v\n%s", c.Chat(), test.want, c.Body)
				}
			})
		})
	}
}

// What tools have returned follows the chat, and files stand with its last turn.
func TestChatWithTools(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(llmtest.Script(llmtest.Reply{Calls: []llm.Call{llmtest.ToolCall("now", `{}`)}}, llmtest.Text("At noon.")))
		r := asking()
		r.Said = []llm.Speech{others("a"), mine("b"), others("c")}
		first, err := m.Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.Turns = append(r.Turns, answered(t, first.Turn))
		if _, err := m.Generate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		want := []llm.Speech{others("a"), mine("b"), others("c\n\n---\n\nAnswer now.")}
		c := s.Calls()[1]
		if got := c.Chat(); len(got) < 3 || !slices.Equal(got[:3], want) || len(c.Turns) != 1 || c.Turns[0].Results[0].Text != "result of now" {
			t.Errorf("got %+v with %+v\n%s", got, c.Turns, c.Body)
		}
	})
}
