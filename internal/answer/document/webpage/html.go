package webpage

import (
	"cmp"
	"net/url"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"myao/internal/answer/document/markup"
)

const (
	// maxElements is how many elements a page may have to be searched for its article, which takes
	// longer than their number grows.
	maxElements = 10_000
	// enough is how many characters an article must have if the page does not look like one.
	enough = 1000
)

// readHTML makes Markdown of the article of a page, or of the whole page if it has none.
func readHTML(source string, at *url.URL) (page Page, err error) {
	defer recovered(&page, &err)
	document, err := markup.Parse(source)
	if err != nil {
		return Page{}, errBroken
	}
	for n := range document.Root.Descendants() {
		if n.DataAtom == atom.A {
			resolve(n, at)
		}
	}
	page.Cut, page.Title = document.Cut, document.Title
	body := document.Body
	if document.Elements <= maxElements {
		parser := readability.NewParser()
		if article, err := parser.ParseDocument(document.Root, at); err == nil && article.Node != nil {
			page.Title = cmp.Or(strings.TrimSpace(article.Title()), page.Title)
			if readability.CheckDocument(document.Root) || utf8.RuneCountInString(markup.Text(article.Node)) >= enough {
				body = article.Node
			}
		}
	}
	page.Text = markup.Markdown(body, utf8.UTFMax*(maxCharacters+1))
	return page, nil
}

// resolve makes the address of a link whole. A link that leads to no page becomes its text.
func resolve(a *html.Node, at *url.URL) {
	href := strings.TrimSpace(markup.Attribute(a, "href"))
	u, err := at.Parse(href)
	if err != nil || strings.HasPrefix(href, "#") || check(u) != nil {
		a.Data, a.DataAtom, a.Attr = "span", atom.Span, nil
		return
	}
	a.Attr = []html.Attribute{{Key: "href", Val: u.String()}}
}
