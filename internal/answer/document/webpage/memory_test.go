package webpage

import (
	"fmt"
	"net/url"
	"runtime/metrics"
	"strings"
	"testing"

	"myao/test/peak"
)

// filled repeats a text as far as a page is read.
func filled(s string) string { return strings.Repeat(s, maxBytes/len(s)) }

// attributes are n attributes.
func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d", i)
	}
	return b.String()
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// hostilePages make parsers and writers take far more than their own size.
func hostilePages() map[string]string {
	long := strings.Repeat("word ", 200_000)
	return map[string]string{
		"formatting made anew":       "<p>" + numbered(400, "<b id=%d"+attributes(100)+">") + strings.Repeat("x<p>", 300),
		"formatting, more of it":     "<p>" + numbered(400, "<b id=%d"+attributes(100)+">") + filled("x<p>")[:1_400_000],
		"formatting of many kinds":   filled("<p><b><i><u><s><a href=x><code><em><font><nobr>x"),
		"links that never end":       filled("<a href=x>x<p>"),
		"misnested":                  filled("<b><p></b><i></p></i>x"),
		"adoption":                   filled("<a><div><b><p></a>x</b>"),
		"foster parents":             filled("<table>x<tr>y<td>"),
		"tables in tables":           strings.Repeat("<table><tr><td>", 170) + filled("<table><td>x</table>"),
		"rows":                       filled("<tr><td>x"),
		"selects":                    filled("<select><option>x<select>"),
		"SVG":                        filled("<svg><path/><title>x</title><foreignObject><p>x</svg>"),
		"MathML":                     filled("<math><mi>x<annotation-xml encoding='text/html'><p>x</math>"),
		"entities":                   filled("&NotEqualTilde;"),
		"one text":                   filled("word "),
		"one word":                   filled("x"),
		"one tag":                    "<p" + attributes(300_000) + ">x",
		"attributes that are read":   filled("<p id=1 class=1 role=1 rel=1 name=1 lang=1 alt=1 itemprop=1 property=1 content=1>x"),
		"links with addresses":       filled("<a href='" + strings.Repeat("y", 3000) + "'>x</a>"),
		"empty elements":             filled("<p>"),
		"many tags":                  filled("<i>x</i>"),
		"items":                      filled("<li>x"),
		"items in numbered lists":    strings.Repeat("<ol><li>", 80) + filled("<li>x<p>y"),
		"quotations":                 strings.Repeat("<blockquote>", 90) + filled("<p>x"),
		"lines of code":              strings.Repeat("<ol><li><blockquote>", 30) + "<pre>" + filled("\n"),
		"lines of code with text":    strings.Repeat("<ol><li><blockquote>", 30) + "<pre>" + filled("x\n"),
		"backticks":                  "<code>" + filled("`"),
		"breaks in bold":             strings.Repeat("<b><i>", 40) + filled("x<br>"),
		"bold in italics":            filled("<b><i>x</i></b>"),
		"headings":                   filled("<h1>x"),
		"deep":                       strings.Repeat("<div>", 400) + long + filled("<p>x"),
		"deep at the end":            filled("<p>x")[:1_000_000] + strings.Repeat("<div>", 500) + long,
		"deep and wide":              filled(strings.Repeat("<div>", 95) + "x" + strings.Repeat("</div>", 95)),
		"an article":                 "<article>" + strings.Repeat("<p>"+strings.Repeat("word, ", 30)+"</p>", 9000),
		"articles in articles":       strings.Repeat(strings.Repeat("<article class=content><p>Some words, which are enough, for a score.", 90)+"</article></article>", 50) + long,
		"a deep article":             strings.Repeat("<div class=article>", 95) + strings.Repeat("<p>"+strings.Repeat("word, ", 30)+"</p>", 9000),
		"a deep article of texts":    strings.Repeat("<div class=article>x, x", 95) + filled("word, <br><br> ")[:1_000_000],
		"an article of links":        "<article>" + strings.Repeat("<p>"+strings.Repeat("word, ", 30)+"<a href=x>"+strings.Repeat("link, ", 10)+"</a></p>", 4900),
		"spans":                      filled("<span class=x>x</span>"),
		"colspan":                    filled("<table><tr><td colspan=1000000 rowspan=1000000>x</table>"),
		"titles":                     filled("<title>x</title>"),
		"one title":                  "<title>" + filled("x "),
		"meta":                       filled("<meta property=og:title content='x'>"),
		"comments":                   filled("<!--x-->"),
		"a comment":                  "<!--" + filled("x"),
		"doctypes":                   filled("<!doctype x>"),
		"end tags":                   filled("</p>"),
		"tags of unknown names":      filled("<a-b>x"),
		"frames":                     filled("<frameset><frame>"),
		"templates":                  filled("<template><p>x"),
		"hidden":                     filled("<p hidden>x"),
		"plaintext":                  "<plaintext>" + filled("<p>x"),
		"noscript":                   filled("<noscript><img src=x></noscript><img>"),
		"definitions":                filled("<dl><dt>x<dd>y"),
		"blanks":                     filled("<p> </p>\n"),
		"null bytes":                 filled("\x00<p>"),
		"less than":                  filled("<"),
		"fonts":                      filled("<font>x"),
		"a script that never ends":   "<script>" + filled("x"),
		"pictures":                   filled("<img alt=x>"),
		"an article of divs":         strings.Repeat("<div><div>"+strings.Repeat("word, ", 30)+"</div></div>", 4900),
		"an article of brs":          "<div>" + strings.Repeat("word, word, word<br><br>", 4900) + "</div>",
		"an article of few elements": "<article><p>" + filled("word, ")[:2_000_000],
	}
}

// No page takes much memory, whatever stands in it.
func TestMemoryOfPages(t *testing.T) {
	peak.Of(t, func() map[string]func() {
		at, _ := url.Parse("https://x.example/")
		cases := map[string]func(){}
		for name, source := range hostilePages() {
			cases[name] = func() { _, _ = readHTML(source, at) }
		}
		f := New(Options{})
		for charset, source := range map[string]string{
			"windows-1252": "\xe9", "shift_jis": "\x82\xa0", "utf-16": "\x42\x30", "utf-8": "\xff",
		} {
			cases[charset] = func() {
				_, _ = f.read(t.Context(), at, "text/html; charset="+charset, []byte(filled(source)), true)
			}
		}
		return cases
	})
}

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// What is allocated for a page is in proportion to its size.
func FuzzMemoryOfPages(f *testing.F) {
	for _, source := range hostilePages() {
		f.Add(source[:min(len(source), 2000)])
	}
	at, _ := url.Parse("https://x.example/")
	_, _ = readHTML("<p>x", at)
	f.Fuzz(func(t *testing.T, source string) {
		before := allocated()
		_, _ = readHTML(source, at)
		if took := allocated() - before; took > 8<<20+uint64(len(source))*5000 {
			t.Errorf("%d bytes for %d", took, len(source))
		}
	})
}
