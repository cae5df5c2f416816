package tools

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
)

// An address counts as written only byte for byte, and as a whole.
func TestWrittenInATextOfTheWeb(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, address string
		want          bool
	}{
		{"see https://x.example/a for more", "https://x.example/a", true},
		{"https://x.example/a", "https://x.example/a", true},
		{"See https://x.example/a.", "https://x.example/a", true},
		{"(https://en.example/wiki/Foo_(bar)).", "https://en.example/wiki/Foo_(bar)", true},
		{"[plan](https://x.example/a)", "https://x.example/a", true},
		{`[plan](https://x.example/a "title")`, "https://x.example/a", true},
		{"[https://y.example](https://x.example/a)", "https://y.example", true},
		{"<https://x.example/a>", "https://x.example/a", true},
		{`{"url":"https://x.example/a?b=1","n":2}`, "https://x.example/a?b=1", true},
		{`"https://x.example/a\n"`, "https://x.example/a", true},
		{"**https://x.example/a**", "https://x.example/a", true},
		{"_https://x.example/a_.", "https://x.example/a", true},
		{"資料はhttps://x.example/aです。", "https://x.example/aです", true},
		{"資料（https://x.example/a）です。", "https://x.example/a", true},
		{"HTTPS://X.example/A", "HTTPS://X.example/A", true},
		{"url=https://x.example/a", "https://x.example/a", true},
		{"http://[2001:db8::1]/a", "http://[2001:db8::1]/a", true},

		{"see https://x.example/a for more", "https://x.example/a?q=secret", false},
		{"see https://x.example/a for more", "https://x.example/A", false},
		{"see https://x.example/a for more", "https://X.example/a", false},
		{"see https://x.example/a for more", "http://x.example/a", false},
		{"see https://x.example/a for more", "https://x.example/%61", false},
		{"see https://x.example/a for more", "https://x.example/a/", false},
		{"see https://x.example/a for more", "https://x.example/a#b", false},
		{"see https://x.example/a for more", "https://x.example/a.", false},
		{"see https://x.example/a for more", "https://x.example./a", false},
		{"see https://x.example/a for more", "https://me@x.example/a", false},
		{"see https://x.example/a for more", "https://x.example:443/a", false},
		{"see https://x.example/a for more", "https://x.example/", false},
		{"see https://x.example/a for more", "https://x.example", false},
		{"see https://x.example/a for more", "https://x.exampl", false},
		{"see https://x.example/a for more", "x.example/a", false},
		{"see https://x.example/a for more", "//x.example/a", false},
		{"see https://x.example/a for more", "", false},
		{"see https://x.example/a_ for more", "https://x.example/a", false},
		{"see https://x.example/very… and", "https://x.example/very", false},
		{"see https://x.example/very... and", "https://x.example/very", false},
		{"see https://x.example/a\u200bb for more", "https://x.example/a", false},
		{"see https://x.example/a\u200bb for more", "https://x.example/ab", false},
		{"see https://例え.example/a for more", "https://xn--r8jz45g.example/a", false},
		{"see https://xn--r8jz45g.example/a", "https://例え.example/a", false},
		{"see https://x.еxample/a", "https://x.example/a", false}, // with a Cyrillic е
		{"see https://x.example/?u=https://y.example/b", "https://y.example/b", false},
		{"see xhttps://x.example/a", "https://x.example/a", false},
		{"see x.example/a for more", "https://x.example/a", false},
		{"資料はhttps://x.example/aです。", "https://x.example/a", false},
		{"https://x.example/ a", "https://x.example/ a", false},
		{"https://x.example/a&amp;b", "https://x.example/a&b", false},
		{"javascript:alert(1)", "javascript:alert(1)", false},
	} {
		if got := inText(c.text, c.address); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.address, c.text, got, c.want)
		}
	}
}

// In a message of Slack an address stands in markup, and without its scheme where somebody left it out.
func TestWrittenInAMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ message, address, want string }{
		{"see <https://x.example/a>", "https://x.example/a", "https://x.example/a"},
		{"see <https://x.example/a.>", "https://x.example/a.", "https://x.example/a."},
		{"<https://x.example/a?b=1&amp;c=2|the plan>", "https://x.example/a?b=1&c=2", "https://x.example/a?b=1&c=2"},
		{"<http://x.example/a|x.example/a>", "x.example/a", "http://x.example/a"},
		{"<https://x.example/a|x.example/a>", "x.example/a", "https://x.example/a"},
		{"in a bare text: https://x.example/a?b=1&amp;c=2.", "https://x.example/a?b=1&c=2", "https://x.example/a?b=1&c=2"},
		{"```https://x.example/a```", "https://x.example/a", "https://x.example/a"},

		{"<https://x.example/a.>", "https://x.example/a", ""},
		{"<https://x.example/a?b=1&amp;c=2>", "https://x.example/a?b=1&amp;c=2", ""},
		{"<https://x.example/a?b=1&amp;amp;c=2>", "https://x.example/a?b=1&c=2", ""},
		{"<https://x.example/a|y.example/a>", "y.example/a", ""},
		{"<https://x.example/a|the plan>", "the plan", ""},
		{"<https://x.example/a|x.example/a>", "http://x.example/a", ""},
		{"<https://x.example/a>", "https://x.example/", ""},
		{"x.example/a", "x.example/a", ""},
		{"https://x.example/<@U1>", "https://x.example/", ""},
		{"https://x.example/<https://y.example|y>", "https://x.example/", ""},
		{"<mailto:a@x.example|a@x.example>", "a@x.example", ""},
		{"<@U1|https://x.example/a b>", "https://x.example/a b", ""},
		{"", "", ""},
	} {
		got, found := inMessage(c.message, c.address)
		if found != (c.want != "") || found && got != c.want {
			t.Errorf("%q in %q: %q, %v; want %q", c.address, c.message, got, found, c.want)
		}
	}
}

// A cut text does not end with a part of an address, which nobody wrote.
func TestWholeAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"see https://x.example/pa": "see ", "see https://x.example/a and": "see https://x.example/a and", "https://x": "", "no address": "no address",
		"https://x.example/a https://y.exa": "https://x.example/a ",
	} {
		if got := Whole(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Whatever surrounds an address, it is found as it is, and no other spelling of it is.
func FuzzWritten(f *testing.F) {
	f.Add("see ", "https://x.example/a?b=1", " for more", "secret")
	f.Add("(", "http://x.example/(a)", ").", "?q=1")
	f.Add("資料は", "https://例え.example/", "です", ".")
	f.Add("<", "https://x.example/a&b", "|label>", "#")
	f.Add("[a](", "https://[::1]/", ")", "%61")
	f.Fuzz(func(t *testing.T, before, address, after, more string) {
		text := before + address + after
		if inText(text, address) && !strings.Contains(text, address) {
			t.Fatalf("%q was found in %q, where it does not stand", address, text)
		}
		if got, found := inMessage(text, address); found {
			decoded := slackEntities.Replace(text)
			if !strings.Contains(decoded, got) || !strings.HasSuffix(got, address) {
				t.Fatalf("%q was found as %q in %q, where it does not stand", address, got, text)
			}
		}
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsFunc(address, func(r rune) bool {
			return r > unicode.MaxASCII || unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(outside+"()[]"+sentenceEnds[:1]+",;!'&", r)
		}) || strings.ContainsAny(address[len(address)-1:], sentenceEnds+emphasis) || u.Host == "" {
			return
		}
		if surrounded := "a " + address + " b"; !inText(surrounded, address) {
			t.Fatalf("%q was not found in %q", address, surrounded)
		}
		if got, found := inMessage("<"+address+"|label>", address); !found || got != address {
			t.Fatalf("%q was not found in markup: %q", address, got)
		}
		others := []string{address + more, more + address, address + ".", address + "/", address + "?" + more, address + "#" + more, address[:len(address)-1],
			strings.ToUpper(address), strings.Replace(address, "://", "://me@", 1), url.QueryEscape(address), strings.Replace(address, "http", "Http", 1)}
		for _, other := range others {
			if other == address {
				continue
			}
			if inText("a "+address+" b", other) {
				t.Fatalf("%q was taken for %q", other, address)
			}
			if got, found := inMessage("<"+address+">", other); found {
				t.Fatalf("%q was taken for %q", other, got)
			}
		}
	})
}
