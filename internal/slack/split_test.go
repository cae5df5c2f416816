package slack

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"blank", " \n\t\n", 10, nil},
		{"short", "\n\nhello  \n", 10, []string{"hello"}},
		{"indentation stays", "\n    code", 10, []string{"    code"}},
		{"paragraphs before lines", "one two\n\nthree\nfour five six", 20, []string{"one two", "three\nfour five six"}},
		{"lines before words", "one two three\nfour five", 18, []string{"one two three", "four five"}},
		{"words", "one two three", 8, []string{"one two", "three"}},
		{"no tiny first part", "a\n\nbb cc dd ee ff gg hh", 16, []string{"a\n\nbb cc dd ee", "ff gg hh"}},
		{"one long word", "abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"runes, not bytes", "あいうえお", 5, []string{"あいうえお"}},
		{"clauses of Japanese", "今日は晴れ。明日は雨でしょう。", 8, []string{"今日は晴れ。", "明日は雨でしょ", "う。"}},
		{"closing brackets of Japanese", "彼は「はい、そうです。」と言った。", 12, []string{"彼は「はい、そうです。」", "と言った。"}},
		{"no cut before a closing bracket", "彼は「はい、そうです。」と言った。", 11, []string{"彼は「はい、", "そうです。」と言った。"}},
		{"marks that stand together", "本当に？！それは困る。", 7, []string{"本当に？！", "それは困る。"}},
		{"no cut between marks", "まず、本当に？！はい", 7, []string{"まず、", "本当に？！はい"}},
		{"emoji of several", strings.Repeat("👩‍👩‍👧", 3), 7, []string{"👩‍👩‍👧", "👩‍👩‍👧", "👩‍👩‍👧"}},
		{"tones of skin and flags", "👍🏽👍🏽👍🏽🇯🇵🇯🇵🇯🇵", 5, []string{"👍🏽👍🏽", "👍🏽🇯🇵", "🇯🇵🇯🇵"}},
		{"letters of two characters", strings.Repeat("か\u3099", 3), 3, []string{"か\u3099", "か\u3099", "か\u3099"}},
		{"carriage returns", "a\r\nb", 10, []string{"a\nb"}},
		{"fence kept whole", "intro\n```go\nfirst line\nsecond\n```\noutro", 40,
			[]string{"intro\n```go\nfirst line\nsecond\n```\noutro"}},
		{"cut before a fence that fits", "x\n```\n" + strings.Repeat("y\n", 13) + "```", 34,
			[]string{"x", "```\n" + strings.Repeat("y\n", 13) + "```"}},
		{"cut before a fence that fits, and ends beyond this part", "intro\n```\n" + strings.Repeat("y\n", 13) + "```", 34,
			[]string{"intro", "```\n" + strings.Repeat("y\n", 13) + "```"}},
		{"cut after a fence, not in a word", "```\na\n```\n" + strings.Repeat("x", 45), 50, []string{"```\na\n```", strings.Repeat("x", 45)}},
		{"lines of code before words", "```\n" + strings.Repeat("line of code\n", 4) + "```", 42,
			[]string{"```\nline of code\nline of code\n```", "```\nline of code\nline of code\n```"}},
		{"fence closed and opened again", "```go\n" + strings.Repeat("line of code\n", 6) + "```\nend", 48,
			[]string{"```go\nline of code\nline of code\nline of code\n```", "```go\nline of code\nline of code\nline of code\n```", "end"}},
		{"fence with one long line", "```\n" + strings.Repeat("word ", 8) + "word\n```", 32,
			[]string{"```\nword word word word word\n```", "```\nword word word word\n```"}},
		{"fence of a list", "1. do:\n\n    ```yaml\n" + strings.Repeat("    key: value\n", 6) + "    ```\n2. end", 80,
			[]string{"1. do:\n\n    ```yaml\n" + strings.Repeat("    key: value\n", 3) + "    ```", "    ```yaml\n" + strings.Repeat("    key: value\n", 3) + "    ```\n2. end"}},
		{"fence that an item begins with", "- ```go\n" + strings.Repeat("  line of code\n", 6) + "  ```\n- end", 58,
			[]string{"- ```go\n" + strings.Repeat("  line of code\n", 3) + "  ```", "  ```go\n" + strings.Repeat("  line of code\n", 3) + "  ```", "- end"}},
		{"fence of a quote", "> see:\n> ```\n" + strings.Repeat("> line of code\n", 5) + "> ```\n> end", 64,
			[]string{"> see:\n> ```\n" + strings.Repeat("> line of code\n", 3) + "> ```", "> ```\n" + strings.Repeat("> line of code\n", 2) + "> ```\n> end"}},
		{"fence of a quote with one long line", "> ```\n> " + strings.Repeat("word ", 8) + "word\n> ```", 40,
			[]string{"> ```\n> word word word word word\n> ```", "> ```\n> word word word word\n> ```"}},
		{"fence of a quote with one long word", "> ```\n> " + strings.Repeat("x", 40) + "\n> ```", 40,
			[]string{"> ```\n> " + strings.Repeat("x", 26) + "\n> ```", "> ```\n> " + strings.Repeat("x", 14) + "\n> ```"}},
		{"a more indented marker closes no fence", "```md\n- a:\n\n    ```\n> ```\n> c\n" + strings.Repeat("line\n", 8) + "```\nend", 60,
			[]string{"```md\n- a:\n\n    ```\n> ```\n> c\n" + strings.Repeat("line\n", 5) + "```", "```md\n" + strings.Repeat("line\n", 3) + "```\nend"}},
		{"nor does what is shorter, of the other kind, or no marker alone", "````md\n```go\n- ````\n~~~~~\n```\n````x\n" + strings.Repeat("line\n", 4) + "````\nend of it all", 50,
			[]string{"````md\n```go\n- ````\n~~~~~\n```\n````x\nline\nline\n````", "````md\nline\nline\n````\nend of it all"}},
		{"a table goes on below its header", "Intro:\n\n| a | b |\n|---|:-:|\n" + strings.Repeat("| 1 | 2 |\n", 6) + "\nend", 56,
			[]string{"Intro:\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n| 1 | 2 |", "| a | b |\n|---|:-:|\n| 1 | 2 |\n| 1 | 2 |\n| 1 | 2 |", "| a | b |\n|---|:-:|\n| 1 | 2 |\n\nend"}},
		{"a table of a quote, without pipes at its sides", "> a | b\n> -- | --\n" + strings.Repeat("> 1 | 2\n", 4), 40,
			[]string{"> a | b\n> -- | --\n> 1 | 2\n> 1 | 2", "> a | b\n> -- | --\n> 1 | 2\n> 1 | 2"}},
		{"no table", "a | b\n" + strings.Repeat("1 | 2\n", 6) + "--|--|--\nx", 24,
			[]string{"a | b\n1 | 2\n1 | 2", "1 | 2\n1 | 2\n1 | 2", "1 | 2\n--|--|--\nx"}},
		{"a table in code", "```\n| a |\n|---|\n" + strings.Repeat("| 1 |\n", 4) + "```", 32,
			[]string{"```\n| a |\n|---|\n| 1 |\n| 1 |\n```", "```\n| 1 |\n| 1 |\n```"}},
		{"a long row", "| a |\n|---|\n| 1 |\n| " + strings.Repeat("x ", 12) + "|\n| 2 |", 40,
			[]string{"| a |\n|---|\n| 1 |", "| a |\n|---|\n| " + strings.Repeat("x ", 12) + "|", "| a |\n|---|\n| 2 |"}},
		{"one table a part", "| a |\n|---|\n| 1 |\nnote\n\n## B\n\n| b |\n|---|\n| 2 |\nend", 400,
			[]string{"| a |\n|---|\n| 1 |\nnote", "## B\n\n| b |\n|---|\n| 2 |\nend"}},
		{"numbers of a list", "1. one\n1. two\n   more\n\n1. three\n1. four\n", 18, []string{"1. one\n1. two", "   more", "3. three\n1. four"}},
		{"numbers of lists in a list", "3) one\n3) two\n   1. a\n   1. b\n3) three\n\ntext\n\n3) three", 22, []string{"3) one\n3) two", "   1. a\n   1. b", "5) three\n\ntext", "3) three"}},
		{"numbers that count", "9. one\n10. two\n12. x", 16, []string{"9. one\n10. two", "12. x"}},
		{"a quote with one long line", "> " + strings.Repeat("word ", 6) + "word\n> end", 20, []string{"> word word word", "> word word word", "> word\n> end"}},
		{"inline code is no fence", "```a``` b\n" + strings.Repeat("c ", 20), 32,
			[]string{"```a``` b", strings.TrimSpace(strings.Repeat("c ", 16)), "c c c c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := Split(tc.text, tc.limit); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
	// Slack takes tables of up to 100 rows.
	rows := strings.Repeat("| x |\n", 120)
	if got, want := Split("| a |\n|---|\n"+rows, 0), []string{"| a |\n|---|\n" + rows[:99*6-1], "| a |\n|---|\n" + rows[:21*6-1]}; !reflect.DeepEqual(got, want) {
		t.Errorf("a table of 120 rows: %q", got)
	}
	if got := Split(strings.Repeat("| a |\n|---|\n\n", 100), 0); len(got) != 1+maxApart {
		t.Errorf("many tables: %d parts", len(got))
	}
	if got := Split(strings.Repeat("word ", 2000), 0); len(got) != 3 {
		t.Errorf("default limit: %d parts", len(got))
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"one two\n\nthree", "```go\na\nb\n```\nc", "~~~\nx\n~~~~", "   \n    code\n```", "> - ```x\n>   y\n>   ```\nz", "1. a\n\n    ~~~\n    b c\n    ~~~\n", "a```b\n```\n" + strings.Repeat("x", 80), "。。 、x", "「。」」！？", "👍🏽🇯🇵🇯🇵か\u3099👩‍👩‍👧",
		"```golang\na b c d\ne f g h\n```", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n| 7 | 8 |\n\n|x|\n|-|", "1. a\n1. b\n   1) c\n   1) d\n1. e f g h i j", "> a b c d e f g h i\n> j", "1. 0\n1.\n"} {
		f.Add(seed, 24)
		f.Add(seed, 3)
		f.Add(seed, 60)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1 || limit > 200 || !utf8.ValidString(text) {
			t.Skip()
		}
		parts := Split(text, limit)
		for _, p := range parts {
			if strings.TrimSpace(p) == "" || utf8.RuneCountInString(p) > limit {
				t.Fatalf("part %q of %q at %d", p, text, limit)
			}
		}
		solid := func(drop string) func(rune) rune {
			return func(r rune) rune {
				if unicode.IsSpace(r) || strings.ContainsRune(drop, r) {
					return -1
				}
				return r
			}
		}
		joined := strings.Join(parts, "")
		if !strings.Contains(text, "```") && !strings.ContainsAny(text, "~|>.)") {
			if got, want := strings.Map(solid(""), joined), strings.Map(solid(""), text); got != want {
				t.Fatalf("%q at %d lost something: %q", text, limit, parts)
			}
			return
		}
		// Fences are closed and opened again, the heads of tables and quotes repeated, and items numbered; everything
		// else is kept.
		rest := []rune(strings.Map(solid("`~0123456789"), joined))
		for _, r := range strings.Map(solid("`~0123456789"), text) {
			for len(rest) > 0 && rest[0] != r {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				t.Fatalf("%q at %d lost %q: %q", text, limit, r, parts)
			}
			rest = rest[1:]
		}
	})
}
