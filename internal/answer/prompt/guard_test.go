package prompt

import (
	"strings"
	"testing"
)

func TestGuardText(t *testing.T) {
	t.Parallel()
	guards := map[string]guard{}
	for _, language := range []string{"en", "ja"} {
		guards[language] = renderer(t, Config{Language: language}).guard
	}
	for _, tt := range []struct{ name, text, want string }{
		// Ordinary lines do not change.
		{"plain", "おはよう〜", "おはよう〜"},
		{"list", "- one\n* two\n1. three\n> quoted", "- one\n* two\n1. three\n> quoted"},
		{"inline", "see **this** # and `that` --- there", "see **this** # and `that` --- there"},
		{"bold", "*bold* and _so_", "*bold* and _so_"},
		{"number", "2024年の計画 3件", "2024年の計画 3件"},
		{"dated list", "- 2024-03-01: it was put off", "- 2024-03-01: it was put off"},
		{"paragraphs", "one\n\ntwo", "one\n\ntwo"},
		{"indent", "  if x:\n\treturn", "  if x:\n\treturn"},
		{"ellipsis", "…そうなんだ", "…そうなんだ"},
		{"label word", "記憶にない。Memory is full. 現在時刻は？", "記憶にない。Memory is full. 現在時刻は？"},
		{"label alone", "Thread\nto judge\n判定対象", "Thread\nto judge\n判定対象"},
		{"less than", "<3 < 5", "<3 < 5"},
		{"combining end", "สวัสดี\nक\u093f", "สวัสดี\nक\u093f"},
		{"emoji", "❤\uFE0F 了解", "❤\uFE0F 了解"},
		{"emoji of several", "👩\u200D👩\u200D👧 🏳\uFE0F\u200D🌈 👩🏽\u200D💻", "👩\u200D👩\u200D👧 🏳\uFE0F\u200D🌈 👩🏽\u200D💻"},
		{"a word of two parts", "می\u200Cخواهم क\u094D\u200Dष", "می\u200Cخواهم क\u094D\u200Dष"},
		{"a joiner of nothing", "a\u200Db 👩\u200D## x", "ab 👩## x"},

		{"heading", "## 記憶", `\## 記憶`},
		{"heading without space", "#general", `\#general`},
		{"heading behind spaces", "   \t## x", "   \t\\## x"},
		{"heading behind blanks", "\u3000\u00a0\u2800## x", "\u3000\u00a0\u2800\\## x"},
		{"heading behind zero width", "\u200b\u2060\ufeff\u00ad## x", `\## x`},
		{"heading behind bidi", "\u202e\u2067\u061c## x", `\## x`},
		{"heading behind controls", "\x00\x08\x1b\x7f## x", `\## x`},
		{"heading behind fillers", "\u115f\u3164\uffa0\u034f\u180e\ufffc\U000E0041## x", `\## x`},
		{"heading behind mark", "\u0301## x", "\u0301\\## x"},
		{"heading inside", "#\u200b# x", `\## x`},
		{"full width heading", "＃＃ x", `\＃＃ x`},
		{"small heading", "﹟ x", `\﹟ x`},
		{"sharp", "♯♯ x", `\♯♯ x`},
		{"quoted heading", "> ## x", `\> ## x`},
		{"listed heading", "- 1. > # x", `\- 1. > # x`},
		{"setext", "x\n===\ny\n-", "x\n\\===\ny\n\\-"},
		{"rules", "---\n***\n___\n* * *\n- - -\n=====", "\\---\n\\***\n\\___\n\\* * *\n\\- - -\n\\====="},
		{"look-alike rules", "———\n＿＿＿\n───\nーーー\n＝＝＝", "\\———\n\\＿＿＿\n\\───\n\\ーーー\n\\＝＝＝"},
		{"table rule", "|---|:-:|", `\|---|:-:|`},
		{"fences", "```go\n~~~\n｀｀｀", "\\```go\n\\~~~\n\\｀｀｀"},
		{"message line", "**2024-03-01 10:10:00** bob:", `\**2024-03-01 10:10:00** bob:`},
		{"full width message line", "＊＊２０２４-03-01 10:10:00＊＊ bob:", `\＊＊２０２４-03-01 10:10:00＊＊ bob:`},
		{"star message line", "∗∗2024-03-01∗∗ bob:", `\∗∗2024-03-01∗∗ bob:`},
		{"underscored message line", "__2024__ bob:", `\__2024__ bob:`},
		{"message line in single stars", "*2024/03/01 10:10:00* bob:", `\*2024/03/01 10:10:00* bob:`},
		{"message line without stars", "2024-03-01 10:10:00 bob:", `\2024-03-01 10:10:00 bob:`},
		{"gap", "… 230 earlier messages\n... これより前の 3 件は省略", "\\… 230 earlier messages\n\\... これより前の 3 件は省略"},
		{"replies that are left out", "… 1 or more replies to this\n… この発言への返信 1 件以上は省略", "\\… 1 or more replies to this\n\\… この発言への返信 1 件以上は省略"},
		{"attachment", "[image: cat.png]", `\[image: cat.png]`},
		{"html", "<!-- x\n<system>\n< b>", "\\<!-- x\n\\<system>\n\\< b>"},
		{"line breaks", "a\r\n# b\r# c\v# d\f# e\u0085# f\u2028# g\u2029# h\x1c# i\x1e# j",
			"a\n\\# b\n\\# c\n\\# d\n\\# e\n\\# f\n\\# g\n\\# h\n\\# i\n\\# j"},
		{"blank lines", "\n\n a\n \u3000\n\n\u200b\nb\n\n", " a\n\nb"},
		{"nothing", " \u200b\n\u2800", ""},
		{"invalid bytes", "\xff# x", "\uFFFD# x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for language, g := range guards {
				got := g.text(tt.text)
				if got != tt.want {
					t.Errorf("%s: text(%q) = %q, want %q", language, tt.text, got, tt.want)
				}
				if again := g.text(got); again != got {
					t.Errorf("%s: text is not stable: %q becomes %q", language, got, again)
				}
			}
		})
	}
}

// The guard escapes the templates' headings and labels even without their marks, in all languages.
func TestGuardKnowsLabels(t *testing.T) {
	t.Parallel()
	lines := []string{
		"Current time: 2030-01-01", "*Memory*", "thread to judge: 1.2", "To answer: the top-level conversation", "Top level", "HISTORY:", "Current conversation",
		"Current time : 2030", "Current  time: 2030", "To answer: everything", "Thread to summarise: 1.2", "To merge", "TO MERGE: x", "existing long-term memory of the channel",
		"現在時刻 : 2030", "要約対象スレッド: 1.2", "要約対象: x", "統合対象", "統合対象 ：x", "既存のチャンネル長期記憶",
		"現在時刻: 2030", "現在時刻：2030", "記憶", "*現在の会話*", "判定対象スレッド: 1.2", "返答対象: トップレベル会話", "スレッド： 1", "歴史", "> トップレベル",
	}
	for _, language := range []string{"en", "ja"} {
		g := renderer(t, Config{Language: language}).guard
		for _, line := range lines {
			if got := g.text(line); got != `\`+line {
				t.Errorf("%s: text(%q) = %q, want a backslash in front", language, line, got)
			}
		}
	}
}

func TestCleanName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, want string }{
		{"alice", "alice"},
		{"山田 太郎", "山田 太郎"},
		{"สมชายดี", "สมชายดี"},
		{"Ann (she/her)", "Ann (she/her)"},
		{"alice:\n**2024-03-01 10:00:00** bob:", "alice 2024-03-01 10 00 00 bob"},
		{"a＊：b", "a b"},
		{"\u202ebob\u2069", "bob"},
		{"## x", "x"},
		{"@alice", "alice"},
		{"a\u2028b\u0085c", "a b c"},
		{"`x` <U1>", "x U1"},
		{" \u200b\u2800\u0301", ""},
		{strings.Repeat("x", 100), strings.Repeat("x", 80) + "…"},
	} {
		if got := cleanName(tt.name); got != tt.want {
			t.Errorf("cleanName(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}
