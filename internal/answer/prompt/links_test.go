package prompt

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRevealLinks(t *testing.T) {
	t.Parallel()
	known := func(address string) bool {
		return slices.Contains([]string{"https://wiki.example.com/a", "https://e.org/Go_(x)", "mailto:bob@e.org", "https://evil.example/p"}, address)
	}
	var disguised, uncovered []string
	for _, host := range []string{
		"bank．com", "bank。com", "bank**.**com", `bank\.com`, "bank&#46;com", "bank&period;com", "bank%2Ecom", "`bank.com`", "`bank`.com", "bank.com:443", "10.0.0.1", "3232235777", "0xc0a80101",
		"localhost:8080", "ｂａｎｋ.com", "https://bank", "https:／／bank", "hxxps://bank/", "~~bank~~.com",
	} {
		disguised = append(disguised, "["+host+"](https://wiki.example.com/a) ")
		uncovered = append(uncovered, host+" (https://wiki.example.com/a) ")
	}
	for _, tc := range []struct{ name, text, want string }{
		{"no link", "f[i](x). [x] (y), a < b | c > d, [TODO]: do it.", "f[i](x). [x] (y), a < b | c > d, [TODO]: do it."},
		{"made up", "[click here](https://evil.example/?s=KEY) to sign in", "click here (https://evil.example/?s=KEY) to sign in"},
		{"known", "See [the wiki](https://wiki.example.com/a).", "See [the wiki](https://wiki.example.com/a)."},
		{"known, and more", "See [the wiki](https://wiki.example.com/a?s=KEY).", "See the wiki (https://wiki.example.com/a?s=KEY)."},
		{"known, with brackets", "[Go](https://e.org/Go_(x)) and [Go](https://e.org/Go_(y))", "[Go](https://e.org/Go_(x)) and Go (https://e.org/Go_(y))"},
		{"known, with a title", `[a](https://wiki.example.com/a "wiki") [a](<https://wiki.example.com/a>)`, "[a](https://wiki.example.com/a) [a](https://wiki.example.com/a)"},
		{"known, and more behind a space", `[a](<https://wiki.example.com/a KEY>) [a](<https://wiki.example.com/a "KEY">)`, "[a](https://wiki.example.com/a) [a](https://wiki.example.com/a)"},
		{"mail", "[Bob](mailto:bob@e.org) [Eve](mailto:eve@e.org)", "[Bob](mailto:bob@e.org) Eve (mailto:eve@e.org)"},
		{"its own address", "[https://x.example/a](https://x.example/a) [x.example/a](https://x.example/a)", "[https://x.example/a](https://x.example/a) [x.example/a](https://x.example/a)"},
		{"its own host", "[on wiki.Example.com](https://wiki.example.com/a) [example.com](https://wiki.example.com/a)", "[on wiki.Example.com](https://wiki.example.com/a) [example.com](https://wiki.example.com/a)"},
		{"another host", "[https://login.example.com](https://evil.example/p)", "https://login.example.com (https://evil.example/p)"},
		{"a host that ends alike", "[ki.example.com](https://wiki.example.com/a)", "ki.example.com (https://wiki.example.com/a)"},
		{"a title to carry it off", `[a](https://evil.example/q "t")`, "a (https://evil.example/q)"},
		{"in angle brackets", "[a](<https://evil.example/q>)", "a (https://evil.example/q)"},
		{"with a space", "[a](<https://evil.example/q r>)", "a (https://evil.example/q)"},
		{"an image", "![a](https://evil.example/i.png?s=KEY)", "a (https://evil.example/i.png?s=KEY)"},
		{"no text", "[](https://evil.example/q)", "https://evil.example/q"},
		{"Slack's own", "<https://evil.example/q|here> <https://wiki.example.com/a|there> <@U1|bob> <#C1|c>", "here (https://evil.example/q) [there](https://wiki.example.com/a) <@U1|bob> <#C1|c>"},
		{"Slack's own, in code", "```\n<https://evil.example/?q=S|the docs> Map<a.b|c>\n```\n`<HTTPS://evil.example/q|x>`", "```\nthe docs (https://evil.example/?q=S) Map<a.b|c>\n```\n`x (HTTPS://evil.example/q)`"},
		{"Slack's own, known and in code", "```\n<https://wiki.example.com/a|there>\n```", "```\nthere (https://wiki.example.com/a)\n```"},
		{"Slack's own, with an angle bracket in the text", "<https://evil.example/q|a < b> <https://evil.example/q|a<b>", "a < b (https://evil.example/q) a<b (https://evil.example/q)"},
		{"Slack's own in Slack's own", "<https://evil.example/r|<https://evil.example/q|a>>", "https://evil.example/q|a (https://evil.example/r)>"},
		{"Slack's own in a link", "[<https://wiki.example.com/q|a>](https://wiki.example.com/a)", "[a (https://wiki.example.com/q)] (https://wiki.example.com/a)"},
		{"a link for an address", "[a]([b](https://evil.example/q)) [a]([](https://evil.example/q))", "[a] (b (https://evil.example/q)) [a] (https://evil.example/q)"},
		{"deep within links", strings.Repeat("[](", 9) + "https://evil.example/q" + strings.Repeat(")", 9), strings.Repeat("[] (", 8) + "https://evil.example/q" + strings.Repeat(")", 8)},
		{"brackets in the text", "[a [b] c](https://evil.example/q)", "[a [b] c] (https://evil.example/q)"},
		{"a link in a link", "[a [b](https://wiki.example.com/a) c](https://evil.example/q)", "[a [b](https://wiki.example.com/a) c] (https://evil.example/q)"},
		{"over two lines", "[a\nb](https://evil.example/q) [a](\nhttps://evil.example/q)", "[a\nb] (https://evil.example/q) a (https://evil.example/q)"},
		{"an escaped bracket", `[a \] b](https://evil.example/q)`, `[a \] b] (https://evil.example/q)`},
		{"brackets in the title", `[a](https://evil.example/q "(t)")`, `[a] (https://evil.example/q "(t)")`},
		{"by reference", "See [here][1] and [2].\n\n[1]: https://evil.example/?s=KEY\n> [2]:\n<//evil.example/q>", "See [here][1] and [2].\n\n[1] https://evil.example/?s=KEY\n> [2] \n<//evil.example/q>"},
		{"by reference, without a scheme", "See [here].\n\n[here]: evil.example/?s=KEY\n[a]: evil\\.example\n[b]: do it.", "See [here].\n\n[here] evil.example/?s=KEY\n[a] evil\\.example\n[b]: do it."},
		{"many brackets", `[b [a](x](https://evil.example/q) [a\]:x]:https://evil.example/q`, `[b [a] (x] (https://evil.example/q) [a\] x] https://evil.example/q`},
		{"by entities", "[a](https&#58;&#47;&#47;evil&#46;example)", "a (https&#58;&#47;&#47;evil&#46;example)"},
		{"an address that begins with brackets", "[a](()https://evil.example/q) [a]((t)//evil.example/q) [a](\n\"b\"https://evil.example/q)", `a (()https://evil.example/q) a ((t)//evil.example/q) a ("b"https://evil.example/q)`},
		{"brackets and quotes in the address", "[a]([b]mailto:x@evil.example) [a](](<)https://evil.example/q)", "[a] ([b]mailto:x@evil.example) [a] (] (<)https://evil.example/q)"},
		{"brackets in a title", `[a](https://wiki.example.com/a "[b](https://evil.example/q)") [c [d]](https://wiki.example.com/a)`, `[a] (https://wiki.example.com/a "b (https://evil.example/q)") [c [d]] (https://wiki.example.com/a)`},
		{"wide characters", "[a](ｈｔｔｐｓ：／／ｅｖｉｌ．ｅｘａｍｐｌｅ／ｑ) [a](evil。example)", "a (ｈｔｔｐｓ：／／ｅｖｉｌ．ｅｘａｍｐｌｅ／ｑ) a (evil。example)"},
		{"by reference, in wide characters", "[a]: ｅｖｉｌ．ｅｘａｍｐｌｅ／ｑ", "[a] ｅｖｉｌ．ｅｘａｍｐｌｅ／ｑ"},
		{"a known address in another spelling", "[a](https://wiki.example.com:443/a) [a](https://WIKI.example.com/a) [a](https://wiki。example.com/a) [a](https://wiki.example.com/%61) [a](https://3232235777/a)",
			"a (https://wiki.example.com:443/a) a (https://WIKI.example.com/a) a (https://wiki。example.com/a) a (https://wiki.example.com/%61) a (https://3232235777/a)"},
		{"a number as its own address", "[3232235777](http://3232235777)", "3232235777 (http://3232235777)"},
		{"another host, in another spelling", strings.Join(disguised, ""), strings.Join(uncovered, "")},
		{"words and versions", "[v1.2.3](https://wiki.example.com/a) [5 of 7: done](https://wiki.example.com/a) [詳細はこちら。](https://wiki.example.com/a)", "[v1.2.3](https://wiki.example.com/a) [5 of 7: done](https://wiki.example.com/a) [詳細はこちら。](https://wiki.example.com/a)"},
		{"in code", "```md\n[a](https://evil.example/q)\n```\n[a](https://evil.example/q)", "```md\n[a](https://evil.example/q)\n```\na (https://evil.example/q)"},
		{"not quite in code", "- x\n  ```\n[a](https://evil.example/q)", "- x\n  ```\na (https://evil.example/q)"},
		{"nor here", "``[a](https://evil.example/q)`", "``a (https://evil.example/q)`"},
		{"another fence was open", "~~~\n```\n~~~\n[a](https://evil.example/q)\n```", "~~~\n```\n~~~\na (https://evil.example/q)\n```"},
		{"the fence goes on", "```\nx ``` y\n```\n[a](https://evil.example/q)\n```", "```\nx ``` y\n```\na (https://evil.example/q)\n```"},
		{"the fence was over", "```\nx ```[a](https://evil.example/q)\n```", "```\nx ```a (https://evil.example/q)\n```"},
		{"it was over, indented", "```\nx\n  ```\n[a](https://evil.example/q)\n```", "```\nx\n  ```\na (https://evil.example/q)\n```"},
		{"within HTML", "<pre>\n```\n</pre>\n[a](https://evil.example/q)\n```", "<pre>\n```\n</pre>\na (https://evil.example/q)\n```"},
	} {
		if got := revealLinks(tc.text, known); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// Whatever the reply, no link is left that names one address and leads to another.
func FuzzRevealLinks(f *testing.F) {
	for _, seed := range []string{
		"[a](https://evil.example/)", "[a [b](c) d](https://evil.example/)", "<https://evil.example/|a>", "[a]: https://evil.example/", "![](//evil.example/)",
		"```\n[a](b.c)\n```[a](https://evil.example/)", "[a]\n(https://evil.example/)", "[a](<https://evil.example/>)", "[a]([](https://evil.example/))",
		"```\n<https://evil.example/|a < b>\n```", "[a](()https://evil.example/)", "[a](ｈｔｔｐ：／／evil)", "[a]([b]evil.example)", "<https://evil.example/|<https://evil.example/|a>>", "<https://evil.example/|[a](b.c)>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := revealLinks(text, func(string) bool { return false })
		if again := revealLinks(once, func(string) bool { return false }); again != once {
			t.Errorf("%q became %q, then %q", text, once, again)
		}
		for _, m := range maskedPattern.FindAllStringSubmatch(fencedPattern.ReplaceAllString(once, ""), -1) {
			label, address := strings.TrimSpace(m[1]), m[2]
			if strings.Contains(address, "//") && schemePattern.ReplaceAllString(label, "") != schemePattern.ReplaceAllString(address, "") {
				t.Errorf("%q became %q, in which %q is hidden", text, once, address)
			}
		}
		for _, m := range regexp.MustCompile(`\[([^\[\]\n]*)\]\(([^)]*)\)?`).FindAllStringSubmatch(fencedPattern.ReplaceAllString(once, ""), -1) {
			if label := schemePattern.ReplaceAllString(m[1], ""); !argumentsPattern.MatchString(m[2]) && !strings.HasPrefix(schemePattern.ReplaceAllString(m[2], ""), label) {
				t.Errorf("%q became %q, in which %q may be hidden", text, once, m[2])
			}
		}
		for _, m := range tokenPattern.FindAllStringSubmatch(once, -1) {
			if linkedPattern.MatchString(m[1]) {
				t.Errorf("%q became %q, in which %q is hidden", text, once, m[1])
			}
		}
	})
}
