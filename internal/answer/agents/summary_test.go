package agents

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	cut := func(text string) error { return &llm.Error{Kind: llm.ErrCut, Text: text} }
	down := &llm.Error{Kind: llm.ErrUnavailable}
	line := "- " + strings.Repeat("x", 10)
	for name, c := range map[string]struct {
		text   string
		err    error
		tokens int
		want   string
		kind   error
	}{
		"plain":                      {text: "\n- a\n- b\n\n", tokens: 100, want: "- a\n- b"},
		"with zero bytes":            {text: "- a\x00b", tokens: 100, want: "- ab"},
		"failed":                     {err: down, tokens: 100, kind: llm.ErrUnavailable},
		"blank":                      {text: " \n", tokens: 100, kind: llm.ErrEmpty},
		"without a word":             {text: "- …\n---", tokens: 100, kind: llm.ErrEmpty},
		"a number":                   {text: "- 42", tokens: 100, want: "- 42"},
		"cut":                        {err: cut("- a\n- b\n- half of"), tokens: 100, want: "- a\n- b"},
		"cut at the end of a line":   {err: cut("- a\n- b\n"), tokens: 100, want: "- a"},
		"cut with zero bytes":        {err: cut("- a\x00\n- b"), tokens: 100, want: "- a"},
		"cut in the only line":       {err: cut("- half of"), tokens: 100, want: "- half of …"},
		"cut before the first":       {err: cut(""), tokens: 100, kind: llm.ErrCut},
		"cut after what is no word":  {err: cut("---\n- half of"), tokens: 100, kind: llm.ErrEmpty},
		"not too long":               {text: line + "\n" + line, tokens: 5, want: line + "\n" + line},
		"too long":                   {text: line + "\n\n" + line + "\n" + line, tokens: 5, want: line + "\n" + line},
		"too long, oldest first":     {text: "- old 7890\n" + line + "\n- new 7890", tokens: 5, want: line + "\n- new 7890"},
		"cut and too long":           {err: cut("- old 7890\n" + line + "\n- new 7890\n- half"), tokens: 5, want: line + "\n- new 7890"},
		"too long in the last line":  {text: line + "\n" + strings.Repeat("x", 100), tokens: 5, want: line},
		"too long in the only line":  {text: strings.Repeat("x", 100), tokens: 5, want: strings.Repeat("x", 30)},
		"too long in another script": {text: strings.Repeat("記", 100), tokens: 6, want: strings.Repeat("記", 12)},
		"calls beside it":            {err: &llm.Error{Kind: llm.ErrEmpty, Text: "- a", Fault: "it calls f"}, tokens: 100, want: "- a"},
		"calls alone":                {err: &llm.Error{Kind: llm.ErrEmpty, Text: "- ", Fault: "it calls f"}, tokens: 100, kind: llm.ErrEmpty},
		"too long inside of a rune":  {text: "x" + strings.Repeat("記", 100), tokens: 6, want: "x" + strings.Repeat("記", 11)},
	} {
		got, err := summary(c.text, c.err, c.tokens)
		if got != c.want || !errors.Is(err, c.kind) || !utf8.ValidString(got) {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, err, c.want, c.kind)
		}
	}
}

// A model that is told "about 2000 tokens" may write more without being cut.
func TestMemoryTokenLimits(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.Memory.LongTermSummaryMaxTokens, b.Memory.ShortTermSummaryMaxTokens = 2000, 100
	b.ByUse.Memory.SystemPrompt = "You write for lawyers."
	b.addChannels(public("C1", "general"))
	b.say("C1", time.Hour, "hello")
	asked, err := b.MemoryQuestions(b.Context(), channel("C1"), b.now)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, q := range asked {
		got = append(got, q.MaxOutputTokens)
	}
	if want := []int{400, 3000}; !slices.Equal(got, want) { // the first is the agent's own limit
		t.Fatalf("got %d, want %d", got, want)
	}
	b.WantWords("short", asked[0].System, "at most about 100 tokens", "in the last 24 hours", "for lawyers", "!0001-01-01")
	b.WantWords("long", asked[1].System, "at most about 2000 tokens", "for lawyers", "!0001-01-01")
}

func TestCutMemoryEndsWithAWholeLine(t *testing.T) {
	t.Parallel()
	for _, provider := range []config.Provider{config.ProviderOpenAI, config.ProviderGemini} {
		t.Run(string(provider), func(t *testing.T) {
			t.Parallel()
			b := setup(t, "")
			b.useProvider(provider)
			b.addChannels(public("C1", "general"))
			b.say("C1", time.Hour, "hello")
			b.Model.Handle(func(c llmtest.Call) llmtest.Reply {
				if kindOf(c) == channelShort {
					return llmtest.Reply{Text: "- 2026-03-01: whole\n- 2026-03-02: ha", Cut: true, InputTokens: 7, OutputTokens: 5}
				}
				return llmtest.Text(strings.Repeat("- 2026-03-01: a line of some length\n", 200))
			})
			calls := b.remember(channel("C1"), 0)
			b.wantKinds("cut", calls, channelShort, channelLong)
			long, short := b.currentMemories(channel("C1"))
			if short.Text != "- 2026-03-01: whole" || short.TokensOut != 5 || short.Model != "keeper" {
				t.Errorf("the cut one is %+v", short)
			}
			if most := b.Memory.LongTermSummaryMaxTokens * 6; len(long.Text) > most || len(long.Text) < most-100 || !strings.HasSuffix(long.Text, "length") {
				t.Errorf("the long one has %d bytes of %d: …%q", len(long.Text), most, long.Text[len(long.Text)-50:])
			}
		})
	}
}
