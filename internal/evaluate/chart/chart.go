// Package chart draws error rates on web pages that need nothing else: no script, no font, no network.
package chart

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

// Rates is both error rates over the threshold. The template "rates" draws it.
type Rates struct {
	ID    string // unique on its page
	Title string // what the rates are of, for whoever does not see them
	Note  string // stands under the chart; may be empty
	// Points are in order of their thresholds.
	Points []Point
	Marks  []Mark
}

// Point is both error rates, from 0 to 1, with a threshold. A rate that no case has is nil.
type Point struct {
	Threshold     float64
	Missed, False *float64
}

// Mark names a threshold.
type Mark struct {
	Name      string
	Threshold float64
}

// side is the length of both axes. They go from 0 to 1.
const side = 240.0

// X is where a value is on the horizontal axis, Y where it is on the vertical one.
func X(v float64) float64 { return v * side }

// Y is where a value is on the vertical axis.
func Y(v float64) float64 { return (1 - v) * side }

// Place is a point of an SVG polyline.
func Place(x, y float64) string { return fmt.Sprintf("%.1f,%.1f", X(x), Y(y)) }

// Missed and False are the points of the two lines.
func (r Rates) Missed() string { return r.line(func(p Point) *float64 { return p.Missed }) }

// False is the points of the line of false interruptions.
func (r Rates) False() string { return r.line(func(p Point) *float64 { return p.False }) }

func (r Rates) line(rate func(Point) *float64) string {
	var at []string
	for _, p := range r.Points {
		if v := rate(p); v != nil {
			at = append(at, Place(p.Threshold, *v))
		}
	}
	return strings.Join(at, " ")
}

// Description tells the rates in words, at five thresholds and at those that are marked.
func (r Rates) Description() string {
	if len(r.Points) == 0 {
		return "There are no rates."
	}
	var all []string
	tell := func(name string, threshold float64) {
		at := r.Points[0]
		for _, p := range r.Points {
			if p.Threshold <= threshold {
				at = p
			}
		}
		all = append(all, fmt.Sprintf("%s %.2f: missed %s, false %s.", name, threshold, percent(at.Missed),
			percent(at.False)))
	}
	for i := range 5 {
		tell("At", float64(i)/4)
	}
	for _, m := range r.Marks {
		tell(m.Name, m.Threshold)
	}
	return strings.Join(all, " ")
}

func percent(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100**v)
}

//go:embed chart.html.tmpl
var definitions string

// Page parses the template of a page, which may use the templates "style", "axes" and "rates". It panics if the
// template cannot be parsed.
func Page(name, source string, functions map[string]any) *template.Template {
	page := template.New(name).Funcs(functions).Funcs(map[string]any{
		"x": X, "y": Y,
		"axes":  func(x, y string) map[string]string { return map[string]string{"X": x, "Y": y} },
		"ticks": func() []float64 { return []float64{0, 0.25, 0.5, 0.75, 1} },
		"anchor": func(v float64) string { // keeps a name within the chart
			switch {
			case v < 0.2:
				return "start"
			case v > 0.8:
				return "end"
			}
			return "middle"
		},
		"above": func(i int) int { return -6 - 13*i }, // names of marks are stacked
		"whole": func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
	})
	return template.Must(template.Must(page.Parse(definitions)).Parse(source))
}
