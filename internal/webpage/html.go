package webpage

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxElements is how many elements a page may have to be searched for its article, which takes
	// longer than their number grows.
	maxElements = 10_000
	// maxTags is how many tags of a page are read. Each takes about a thousand bytes of memory.
	maxTags = 100_000
	// maxNesting is how deep lists and quotations stay within each other. Each level indents all
	// that is in it.
	maxNesting = 6
	// enough is how many characters an article must have if the page does not look like one.
	enough = 1000
)

// readHTML makes Markdown of the article of a page, or of the whole page if it has none.
func readHTML(source string, at *url.URL) (page Page, err error) {
	broken := refused("The page cannot be read: its HTML is broken.")
	defer func() {
		if recover() != nil { // of a library that a hostile page has outwitted
			page, err = Page{}, broken
		}
	}()
	source, page.Cut = withinTags(source)
	document, err := html.Parse(strings.NewReader(source))
	if err != nil { // such as elements within each other without end
		return Page{}, broken
	}
	prepare(document, at, 0)
	page.Title = title(document)
	body := document
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxElements
	if article, err := parser.ParseDocument(document, at); err == nil && article.Node != nil {
		page.Title = cmp.Or(strings.TrimSpace(article.Title()), page.Title)
		if readability.CheckDocument(document) || utf8.RuneCountInString(text(article.Node)) >= enough {
			body = article.Node
		}
	}
	if page.Text, err = markdown(body); err != nil {
		return Page{}, broken
	}
	return page, nil
}

// withinTags is the beginning of a page that has at most maxTags tags.
func withinTags(source string) (beginning string, cut bool) {
	at := 0
	for range maxTags {
		next := strings.IndexByte(source[at:], '<')
		if next < 0 {
			return source, false
		}
		at += next + 1
	}
	return source[:at-1], true
}

// unread are elements without text for a reader.
var unread = []atom.Atom{atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Object, atom.Embed, atom.Select, atom.Button,
	atom.Input, atom.Textarea, atom.Video, atom.Audio, atom.Canvas}

// prepare makes all addresses whole, puts the descriptions of pictures in their place, and removes what
// nobody sees. nested is how many lists and quotations are around n.
func prepare(n *html.Node, at *url.URL, nested int) {
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Blockquote, atom.Li:
		if nested++; nested > 2*maxNesting { // a list and its item are two
			n.Data, n.DataAtom = "div", atom.Div
		}
	}
	for c, next := n.FirstChild, (*html.Node)(nil); c != nil; c = next {
		next = c.NextSibling
		switch {
		case c.Type == html.CommentNode, slices.Contains(unread, c.DataAtom) && c.Type == html.ElementNode, hidden(c):
			n.RemoveChild(c)
		case c.Type == html.ElementNode && c.DataAtom == atom.Img:
			n.InsertBefore(&html.Node{Type: html.TextNode, Data: attribute(c, "alt")}, c)
			n.RemoveChild(c)
		default:
			if c.DataAtom == atom.A {
				resolve(c, at)
			}
			prepare(c, at, nested)
		}
	}
}

func hidden(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	style := strings.ToLower(strings.Join(strings.Fields(attribute(n, "style")), ""))
	return has(n, "hidden") || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

// resolve makes the address of a link whole. A link that leads to no page becomes its text.
func resolve(a *html.Node, at *url.URL) {
	href := strings.TrimSpace(attribute(a, "href"))
	u, err := at.Parse(href)
	if err != nil || strings.HasPrefix(href, "#") || check(u) != nil {
		a.Data, a.DataAtom, a.Attr = "span", atom.Span, nil
		return
	}
	a.Attr = []html.Attribute{{Key: "href", Val: u.String()}}
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

// title is the text of the first title.
func title(document *html.Node) string {
	for n := range document.Descendants() {
		if n.DataAtom == atom.Title {
			return text(n)
		}
	}
	return ""
}

// text is all text in an element.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// markdown writes an element as Markdown. Characters are not escaped: a model reads it.
func markdown(n *html.Node) (string, error) {
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin()), converter.WithEscapeMode(converter.EscapeModeDisabled))
	// A link keeps its address as the page has it; a row of a table is a line.
	c.Register.RendererFor("a", converter.TagTypeInline, func(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
		label := strings.Join(strings.Fields(text(n)), " ")
		if label == "" {
			return converter.RenderSuccess
		}
		_, _ = w.WriteString("[" + label + "](" + attribute(n, "href") + ")")
		return converter.RenderSuccess
	}, converter.PriorityEarly)
	c.Register.RendererFor("tr", converter.TagTypeBlock, func(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
		_, _ = w.WriteString("\n\n| ")
		ctx.RenderChildNodes(ctx, w, n)
		_, _ = w.WriteString("\n\n")
		return converter.RenderSuccess
	}, converter.PriorityEarly)
	for _, cell := range []string{"td", "th"} {
		c.Register.RendererFor(cell, converter.TagTypeInline, func(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
			ctx.RenderChildNodes(ctx, w, n)
			_, _ = w.WriteString(" | ")
			return converter.RenderSuccess
		}, converter.PriorityEarly)
	}
	out, err := c.ConvertNode(n)
	return strings.TrimSpace(string(out)), err
}
