package document

import (
	"unicode/utf8"

	"myao/internal/answer/document/markup"
)

// canvas is the text of a canvas, which Slack serves as HTML. One that cannot be read as such stays HTML.
func canvas(html string) (text string, cut bool) {
	document, err := markup.Parse(html)
	if err != nil {
		return html, false
	}
	text = markup.Markdown(document.Body, utf8.UTFMax*(maxCharacters+1))
	return text, document.Cut
}
