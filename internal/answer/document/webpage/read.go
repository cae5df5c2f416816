package webpage

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"myao/internal/answer/document/charset"
	"myao/internal/answer/document/decoding"
	"myao/internal/answer/document/pdf"
)

// read makes a page of what a site has sent. The content decides together with its claimed type: what is
// no text is not read as text, whatever it is called.
func (f *Fetcher) read(
	ctx context.Context, at *url.URL, contentType string, body []byte, cut bool,
) (page Page, err error) {
	defer recovered(&page, &err)
	claimed, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		claimed, params = "", nil
	}
	found, _, _ := strings.Cut(http.DetectContentType(body), ";")
	html := claimed == "text/html" || claimed == "application/xhtml+xml" || untyped(claimed) && found == "text/html"
	switch {
	case found == "application/pdf" && cut:
		return Page{}, refused("The PDF is larger than %d MiB.", maxBytes>>20)
	case found == "application/pdf":
	case !html && !textual(claimed) && !untyped(claimed):
		return Page{}, unread(found, claimed)
	}
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	release, err := f.memory.Scratch(bounded, decoding.MaxScratch)
	if err != nil {
		return Page{}, bounded.Err()
	}
	defer release()
	if found == "application/pdf" {
		return f.readPDF(ctx, bounded, body)
	}
	text, ok := charset.Read(body, params["charset"], cut)
	if !ok && !strings.HasPrefix(found, "text/") {
		return Page{}, unread(found, claimed)
	}
	page = Page{Text: text.Text}
	if html {
		page, err = readHTML(text.Text, at)
	}
	page.Guess = text.Guess
	return page, err
}

var errBroken = refused("The page cannot be read: it is broken.")

// recovered ends a panic of a library that a hostile page has outwitted. The page is refused then.
func recovered(page *Page, err *error) {
	if recover() != nil {
		*page, *err = Page{}, errBroken
	}
}

// unread refuses a page by the type that says more. What is no text has neither type of one.
func unread(found, claimed string) error {
	if (found == "application/octet-stream" || strings.HasPrefix(found, "text/")) && claimed != "" {
		found = claimed
	}
	return refused("The page is of type %q, which is not read.", found)
}

func untyped(claimed string) bool { return claimed == "" || claimed == "application/octet-stream" }

// textual reports whether a type is of text that a reader of text can make use of.
func textual(claimed string) bool {
	return strings.HasPrefix(claimed, "text/") || strings.HasSuffix(claimed, "+json") ||
		strings.HasSuffix(claimed, "+xml") ||
		slices.Contains([]string{"application/json", "application/xml", "application/yaml", "application/x-yaml",
			"application/toml", "application/javascript"}, claimed)
}

// readPDF reads a PDF until bounded ends, which ends with ctx.
func (f *Fetcher) readPDF(ctx, bounded context.Context, body []byte) (Page, error) {
	text, err := f.pdf.Text(bounded, body)
	switch {
	case ctx.Err() != nil:
		return Page{}, ctx.Err()
	case errors.Is(err, pdf.ErrUnreadable):
		return Page{}, refused("The PDF cannot be read: it is damaged or needs a password.")
	case err != nil || text == "":
		return Page{PDF: body}, nil // a model may see more
	}
	return Page{Text: text}, nil
}
