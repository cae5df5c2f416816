package eval

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	texttemplate "text/template"

	"myao/internal/stats"
)

// report is what both templates are given.
type report struct {
	Head Header
	Figures
	Finished bool
	Wrong    []Row // missed and false ones, with what the model was asked
	Rules    []ruleCount
	Curve    curve
	Diagram  diagram
}

type ruleCount struct {
	Name string
	N    int
}

// Share is a rate for people: "12.5 %", or "–" without one.
func Share(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100**v)
}

// span is an interval for people, in percent.
func span(i *stats.Interval) string {
	if i == nil {
		return "too few cases for an interval"
	}
	return fmt.Sprintf("95 %%: %.1f to %.1f", 100*i.Low, 100*i.High)
}

func newReport(r Run) report {
	out := report{Head: r.Header, Figures: r.Figures(), Finished: r.Finished()}
	for _, row := range r.Rows {
		if c := row.counts(); c.missed+c.false > 0 {
			out.Wrong = append(out.Wrong, row)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out.Figures.Rules)) {
		out.Rules = append(out.Rules, ruleCount{name, out.Figures.Rules[name]})
	}
	out.Curve, out.Diagram = newCurve(out.Thresholds), newDiagram(out.Reliability)
	return out
}

// Both pictures are drawn in a square of this many units; the axes go from 0 to 1.
const side = 240.0

func place(x, y float64) string { return fmt.Sprintf("%.1f,%.1f", x*side, (1-y)*side) }

// curve is both error rates over the threshold, as points of SVG polylines.
type curve struct{ Missed, False string }

func newCurve(points []Point) curve {
	line := func(rate func(Point) *float64) string {
		var at []string
		for _, p := range points {
			if v := rate(p); v != nil {
				at = append(at, place(p.MinConfidence, *v))
			}
		}
		return strings.Join(at, " ")
	}
	return curve{line(func(p Point) *float64 { return p.MissedRate }), line(func(p Point) *float64 { return p.FalseRate })}
}

// diagram is the reliability: how often speaking was right, over how sure the judge was.
type diagram struct {
	Line string
	Dots []dot
}

// dot is a bin with its interval, in the units of the picture.
type dot struct {
	X, Y, Low, High float64
	Title           string
}

func newDiagram(all []Bin) (d diagram) {
	var at []string
	for _, b := range all {
		at = append(at, place(b.Score, *b.Speak.Value))
		d.Dots = append(d.Dots, dot{
			b.Score * side, (1 - *b.Speak.Value) * side, (1 - *b.Speak.Low) * side, (1 - *b.Speak.High) * side,
			fmt.Sprintf("score %.2f: speaking was right in %d of %d", b.Score, b.Speak.K, b.Speak.N),
		})
	}
	d.Line = strings.Join(at, " ")
	return d
}

var (
	//go:embed report.html.tmpl
	htmlSource string
	//go:embed report.md.tmpl
	markdownSource string
)

var functions = map[string]any{
	"share": Share, "span": span,
	"rate": func(r stats.Rate) string { return Share(r.Value) },
	"of":   func(r stats.Rate) string { return fmt.Sprintf("%d of %d", r.K, r.N) },
	"number": func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf("%.3f", *v)
	},
	"percent": func(r stats.Rate) string { // for a bar's width
		if r.Value == nil {
			return "0"
		}
		return fmt.Sprintf("%.1f", 100**r.Value)
	},
	"cell": func(s string) string { // in a Markdown table
		return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
	},
}

var (
	htmlReport     = template.Must(template.New("report").Funcs(functions).Parse(htmlSource))
	markdownReport = texttemplate.Must(texttemplate.New("report").Funcs(functions).Parse(markdownSource))
)

// WriteHTML writes a run's report as one page that needs nothing else.
func WriteHTML(w io.Writer, r Run) error { return htmlReport.Execute(w, newReport(r)) }

// WriteMarkdown writes a run's report for a terminal or a pull request, without prompts.
func WriteMarkdown(w io.Writer, r Run) error { return markdownReport.Execute(w, newReport(r)) }
