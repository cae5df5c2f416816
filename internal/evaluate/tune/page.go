package tune

import (
	_ "embed"
	"fmt"
	"io"

	"myao/internal/evaluate/chart"
)

// Page is error rates over the threshold as a web page.
type Page struct {
	Title    string
	About    []string // paragraphs
	Sections []Section
}

// Section is charts of the same kind, such as one a channel.
type Section struct {
	Name   string
	Charts []Chart
}

// Chart is both error rates of some decisions.
type Chart struct {
	Name      string
	Decisions []Decision
	Marks     []chart.Mark
}

//go:embed page.html.tmpl
var pageSource string

var page = chart.Page("page", pageSource, map[string]any{
	"rates": func(section, i int, c Chart) chart.Rates {
		g := newGroup(c.Decisions, 0)
		return chart.Rates{
			ID: fmt.Sprintf("rates-%d-%d", section, i), Title: c.Name, Note: fmt.Sprintf("%d to speak, %d to be silent",
				g.speak, g.silent),
			Points: Points(c.Decisions), Marks: c.Marks,
		}
	},
})

// WriteHTML writes the page. It needs nothing else.
func (p Page) WriteHTML(w io.Writer) error { return page.Execute(w, p) }
