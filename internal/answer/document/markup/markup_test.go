package markup

import (
	"errors"
	"runtime/metrics"
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"a &amp; b<p>c  <b> d</b>.<p>e":                                 "a & b\n\nc **d**.\n\ne",
		"<h1>One <i>more</i></h1>two<br>three<h3>four":                  "# One *more*\n\ntwo\nthree\n\n### four",
		"<ul><li>a<li><p>b<p>c<ul><li>d</ul><li>e</ul>f":                "- a\n- b\n\n  c\n\n  - d\n- e\n\nf",
		"<ol><li>a</li> <li>b</li></ol>":                                "1. a\n2. b",
		"a<blockquote>b<p>c<blockquote>d</blockquote></blockquote>e":    "a\n\n> b\n>\n> c\n>\n> > d\n\ne",
		"<table><tr><th>a<td>b<tr><td>c<td>d</table>e":                  "| a | b |\n| c | d |\n\ne",
		"<pre><code>a\n  b ``` c\n</code></pre>d":                       "````\na\n  b ``` c\n````\n\nd",
		"a <code>b ` c</code>":                                          "a ``b ` c``",
		"<a href=x> b <b>c</b> </a> <a name=y>d</a>":                    "[b c](x) d",
		"<a href=x><h2>a</h2><p>b</a>c":                                 "## [a b](x)\n\nc",
		"<b>a<p>b<br>c</p></b>d":                                        "**a**\n\n**b**\n**c**\n\nd",
		"<b>a<strong>b</b>c</strong>d":                                  "**ab**cd",
		"a<hr>b<img alt=c>":                                             "a\n\n* * *\n\nbc",
		"<svg><title>a</title><script/></svg>b<button>c</button>d":      "bd",
		"<select><option>a<option>b</select><p hidden>c<p>d":            "d",
		"<div style='display: none'>a<div>b</div>c</div>d<!--e-->":      "d",
		"<p>a</div>b</span></td>c":                                      "abc",
		"<script>a<p>b</script>c<textarea><p>d</textarea>e":             "ce",
		"<dl><dt>a<dd>b<dt>c<dd>d</dl>":                                 "a\nb\nc\nd",
		"<table><tr><td><table><tr><td>a</table><p>b</td><td>c</table>": "|\n\n| a |\n\nb | c |",
		"": "",
		strings.Repeat("<div>", 300) + "a<p>b<p>c": "abc",
	} {
		document, err := Parse(source)
		if err != nil {
			t.Errorf("%.100s: %v", source, err)
		} else if got := Markdown(document.Body, 1<<20); got != want {
			t.Errorf("%.100s:\n%q, want\n%q", source, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	document, err := Parse("<title>a &amp; b</title><body><p id=x onclick=y style='color: red'>c<title>d</title>")
	if err != nil || document.Title != "a & b" || document.Cut || document.Elements != 1 {
		t.Errorf("%+v, %v", document, err)
	}
	if p := document.Body.FirstChild; len(p.Attr) != 1 || Attribute(p, "id") != "x" || Text(document.Body) != "c" {
		t.Errorf("%+v", p)
	}
	if document, err = Parse(strings.Repeat("<p>a", maxTags+1)); err != nil || !document.Cut || document.Elements != maxTags {
		t.Errorf("%d elements, cut: %v, %v", document.Elements, document.Cut, err)
	}
	if _, err = Parse(strings.Repeat("<div>", 2*maxOpen)); !errors.Is(err, ErrBroken) {
		t.Errorf("%v, want that it is broken", err)
	}
	document, _ = Parse("a<p>b")
	if text := Markdown(document.Body, 1); text != "a" {
		t.Errorf("%q, want that it ends at the limit", text)
	}
}

// allocated is how many bytes the process has allocated since it began.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Whatever a page is, it makes no more nodes than it has tags and texts, and takes memory in proportion to its size.
func FuzzParse(f *testing.F) {
	for _, source := range []string{
		"<p><b a=1 b=2><i><u><a href=x>" + strings.Repeat("x<p>", 20), strings.Repeat("<table>x<tr>y<td><b>", 20), strings.Repeat("<a><div><b><p></a>x</b>", 20),
		"<select><option>x<svg><path/><title>x</svg><math><mi>", "<title>x<textarea>y</textarea><plaintext><p>", strings.Repeat("<ol><li><blockquote><pre>\n\n", 20),
		"&NotEqualTilde;&#0;&lt;\x00<!doctype x><!--x--><?x?></p></br><br/>", strings.Repeat("<dl><dt>x<h1>y<dd>", 9),
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		before := allocated()
		document, err := Parse(source)
		if err != nil {
			return
		}
		nodes := 0
		for range document.Root.Descendants() {
			nodes++
		}
		if nodes > 4+2*strings.Count(source, "<") {
			t.Errorf("%d nodes", nodes)
		}
		if text := Markdown(document.Body, 4*len(source)); len(text) > 8*len(source) {
			t.Errorf("%d bytes of %d", len(text), len(source))
		}
		if took := allocated() - before; took > 1<<20+uint64(len(source))*1000 {
			t.Errorf("%d bytes of memory for %d", took, len(source))
		}
	})
}
