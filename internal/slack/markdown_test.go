package slack

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMarkdownAndMrkdwn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, block, plain string }{
		{"plain", "plain", "plain"},
		{"a < b & c > d", "a < b & c > d", "a &lt; b &amp; c &gt; d"},
		{"<!channel> <!here|x> <!everyone> <!subteam^S1>", "&lt;!channel> &lt;!here|x> &lt;!everyone> &lt;!subteam^S1>", "&lt;!channel&gt; &lt;!here|x&gt; &lt;!everyone&gt; &lt;!subteam^S1&gt;"},
		{"**bold** and *it*", "**bold** and *it*", "*bold* and *it*"},
		{"2 ** 3 ** 4", "2 ** 3 ** 4", "2 ** 3 ** 4"},
		{"# Title\ntext", "# Title\ntext", "*Title*\ntext"},
		{"## **Title**", "## **Title**", "*Title*"},
		{"see [docs](https://e.org/?a=1&b=2)", "see [docs](https://e.org/?a=1&b=2)", "see docs (<https://e.org/?a=1&amp;b=2>)"},
		{"[x](javascript:y)", "[x](javascript:y)", "[x](javascript:y)"},
		{"`**a**` **b**", "`**a**` **b**", "`**a**` *b*"},
		{"```\n# no **x**\n```\n# yes", "```\n# no **x**\n```\n# yes", "```\n# no **x**\n```\n*yes*"},
		{"```\n<!DOCTYPE html><!-- x --><!Here>\n```", "```\n<!DOCTYPE html><!-- x -->&lt;!Here>\n```", "```\n&lt;!DOCTYPE html&gt;&lt;!-- x --&gt;&lt;!Here&gt;\n```"},
		{"```\n<https://e.org/?q=S|the docs> a<b:c>d | e\n```", "```\n&lt;https://e.org/?q=S|the docs> a<b:c>d | e\n```", "```\n&lt;https://e.org/?q=S|the docs&gt; a&lt;b:c&gt;d | e\n```"},
		{"```\n<!date^1^docs^https://e.org/?q=S|x>\n```", "```\n&lt;!date^1^docs^https://e.org/?q=S|x>\n```", "```\n&lt;!date^1^docs^https://e.org/?q=S|x&gt;\n```"},
		{"<HTTPS://e.org|a < b> <https://e.org|<mailto:a@e.org|b>>", "&lt;HTTPS://e.org|a < b> &lt;https://e.org|&lt;mailto:a@e.org|b>>",
			"&lt;HTTPS://e.org|a &lt; b&gt; &lt;https://e.org|&lt;mailto:a@e.org|b&gt;&gt;"},
		{"< https://e.org|a> if a < b: c | d <https://e.org/> | <@U1|bob>", "&lt; https://e.org|a> if a < b: c | d <https://e.org/> | <@U1|bob>",
			"&lt; https://e.org|a&gt; if a &lt; b: c | d &lt;https://e.org/&gt; | &lt;@U1|bob&gt;"},
		{"`<xs:a|b>` <xs:a|b>", "`<xs:a|b>` &lt;xs:a|b>", "`&lt;xs:a|b&gt;` &lt;xs:a|b&gt;"},
		{"`<MAILTO:a@e.org|b>`", "`&lt;MAILTO:a@e.org|b>`", "`&lt;MAILTO:a@e.org|b&gt;`"},
		{"~~~\nは**x**は\n~~~", "~~~\nは**x**は\n~~~", "~~~\nは**x**は\n~~~"},
	} {
		if got := markdown(tc.text); got != tc.block {
			t.Errorf("markdown(%q) = %q, want %q", tc.text, got, tc.block)
		}
		if got := mrkdwn(tc.text); got != tc.plain {
			t.Errorf("mrkdwn(%q) = %q, want %q", tc.text, got, tc.plain)
		}
	}
}

// A | stands for a zero-width space, which keeps Slack from showing the asterisks.
func TestEmphasisInScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, block, plain string }{
		{"詳細は**重要**です", "詳細は|**重要**|です", "詳細は重要です"},
		{"**重要**です", "**重要**|です", "重要です"},
		{"詳細は **重要** です", "詳細は **重要** です", "詳細は *重要* です"},
		{"詳細は、**重要**。", "詳細は、|**重要**|。", "詳細は、重要。"},
		{"- **注意：**次の", "- **注意：|**|次の", "- 注意：次の"},
		{"- **注意:** 次の", "- **注意:** 次の", "- *注意:* 次の"},
		{"は**「重要」**です", "は|**|「重要」|**|です", "は「重要」です"},
		{"は**`x`**を", "は **`x`** を", "は**`x`**を"},
		{"詳細は、**外側`x`と`y`装飾**。", "詳細は、 **外側 `x` と `y` 装飾** 。", "詳細は、**外側`x`と`y`装飾**。"},
		{"設定(**画面 (`x.ts`)**)と", "設定(**画面 (`x.ts`)**)と", "設定(**画面 (`x.ts`)**)と"},
		{"React**`x`**の", "React **`x`** の", "React**`x`**の"},
		{"see **the `x`** and a**`y`**b", "see **the `x`** and a**`y`**b", "see **the `x`** and a**`y`**b"},
		{"*外側**`x`**です*", "*外側 **`x`** です*", "*外側**`x`**です*"},
		{"値は`x`です。`y`、z", "値は|`x`|です。|`y`|、z", "値は`x`です。`y`、z"},
		{"a`x`b ``あ`い`` は ```う```", "a`x`b ``あ`い`` は ```う```", "a`x`b ``あ`い`` は ```う```"},
		{"は\n```\nx\n```\nを", "は\n```\nx\n```\nを", "は\n```\nx\n```\nを"},
		{"は**[x](https://e.org/a)**を", "は|**|[x](https://e.org/a)|**|を", "はx (<https://e.org/a>)を"},
		{"は*強調*と~~削除~~と***両方***を", "は|*強調*|と|~~削除~~|と|***両方***|を", "は*強調*と~~削除~~と*両方*を"},
		{"は**太字の*中*も**を", "は|**太字の|*中*|も**|を", "は**太字の*中*も**を"},
		{"React**入門**の", "React|**入門**|の", "React入門の"},
		{"2**10は1024、2**20は", "2**10は1024、2**20は", "2**10は1024、2**20は"},
		{"a**b**c", "a**b**c", "a**b**c"},
		{"* 一つ\n* 二つ**目**", "* 一つ\n* 二つ|**目**", "* 一つ\n* 二つ目"},
		{"閉じない**印\nと**太字**と", "閉じない**印\nと|**太字**|と", "閉じない**印\nと太字と"},
		{`x\**y\**z`, `x\**y\**z`, `x\**y\**z`},
		{"`は**x**は`は**x**", "`は**x**は`|は|**x**", "`は**x**は`はx"},
	} {
		if got := strings.ReplaceAll(markdown(tc.text), zeroWidth, "|"); got != tc.block {
			t.Errorf("markdown(%q) = %q, want %q", tc.text, got, tc.block)
		}
		if got := mrkdwn(tc.text); got != tc.plain {
			t.Errorf("mrkdwn(%q) = %q, want %q", tc.text, got, tc.plain)
		}
	}
}

func TestAddressesInScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://e.org/a を見て":                    "https://e.org/a を見て",
		"https://e.org/aを見て":                     "<https://e.org/a>を見て",
		"（https://e.org/?a=1&b=2）です":             "（<https://e.org/?a=1&b=2>）です",
		"(https://e.org/a_(b))を":                 "(<https://e.org/a_(b)>)を",
		"https://e.org/。":                        "<https://e.org/>。",
		"https://ja.example.org/wiki/日本":         "https://ja.example.org/wiki/日本",
		"https://例え.example.org/":                "https://例え.example.org/",
		"[x](https://e.org/a)を":                  "[x](https://e.org/a)を",
		"<https://e.org/a>を":                     "<https://e.org/a>を",
		"`https://e.org/aを`":                     "`https://e.org/aを`",
		"[x](https://e.org/**「a」**/b)を":          "[x](https://e.org/**「a」**/b)を",
		"**https://e.org/a**を":                   "**<https://e.org/a>|**|を",
		"https://e.org/a.":                       "https://e.org/a.",
		"https://e.org/a\u3000次":                 "https://e.org/a\u3000次",
		"http://e.org/a、https://e.org/bとftp://x": "<http://e.org/a>、<https://e.org/b>とftp://x",
	} {
		if got := strings.ReplaceAll(markdown(text), zeroWidth, "|"); got != want {
			t.Errorf("markdown(%q) = %q, want %q", text, got, want)
		}
	}
}

// maskedPattern matches a link in Slack's markup that hides its address behind a text.
var maskedPattern = regexp.MustCompile(`(?i)<\s*(?:[a-z][a-z0-9+.-]*://|mailto:|tel:)[^>|]*\|`)

func FuzzMarkdown(f *testing.F) {
	for _, text := range []string{
		"は**「重要」**です", "**a** *b* ~~c~~ ***d***", "(https://e.org/a_(b)))を、https://e.org/**", "`a` ~~~\n**b**", "```\n<!here>", "<!channel> \\**x**",
		"```\n<https://e.org/|x>\n```", "<<https://e.org/aを|x y>", "<a:<b:c|d", "[a|b](https://e.org/) <HTTPS://e.org/\n|x", "<`https://e.org/`|は**x**は>",
	} {
		f.Add(text)
	}
	bare := strings.NewReplacer(zeroWidth, "", " ", "")
	f.Fuzz(func(t *testing.T, text string) {
		if got := separateEmphasis(text); bare.Replace(got) != bare.Replace(text) {
			t.Errorf("emphasised(%q) = %q", text, got)
		}
		if got := markdown(text); callPattern.MatchString(got) || maskedPattern.MatchString(got) || utf8.ValidString(text) != utf8.ValidString(got) {
			t.Errorf("markdown(%q) = %q", text, got)
		}
		if got := mrkdwn(text); callPattern.MatchString(got) || maskedPattern.MatchString(got) {
			t.Errorf("mrkdwn(%q) = %q", text, got)
		}
	})
}
