package eval

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	texttemplate "text/template"

	"myao/internal/evaluate/chart"
	"myao/internal/evaluate/stats"
)

// report is what both templates are given.
type report struct {
	Head Header
	Figures
	Finished bool
	Wrong    []Row // missed and false ones, with what the model was asked
	Rules    []ruleCount
	Broke    []ruleCount
	Curve    chart.Rates
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
	for _, link := range slices.Sorted(maps.Keys(out.BrokeAt)) {
		out.Broke = append(out.Broke, ruleCount{string(link), out.BrokeAt[link]})
	}
	out.Curve, out.Diagram = newRates(r.Header, out.Thresholds), newDiagram(out.Reliability)
	return out
}

// newRates is both error rates over the threshold.
func newRates(h Header, points []Point) chart.Rates {
	r := chart.Rates{ID: "rates", Title: h.Model, Marks: []chart.Mark{{Name: "this run", Threshold: h.MinConfidence}}}
	for _, p := range points {
		r.Points = append(r.Points, chart.Point{Threshold: p.MinConfidence, Missed: p.MissedRate, False: p.FalseRate})
	}
	return r
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
		at = append(at, chart.Place(b.Score, *b.Speak.Value))
		d.Dots = append(d.Dots, dot{
			chart.X(b.Score), chart.Y(*b.Speak.Value), chart.Y(*b.Speak.Low), chart.Y(*b.Speak.High),
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
	htmlReport     = chart.Page("report", htmlSource, functions)
	markdownReport = texttemplate.Must(texttemplate.New("report").Funcs(functions).Parse(markdownSource))
)

// WriteHTML writes a run's report as one page that needs nothing else.
func WriteHTML(w io.Writer, r Run) error { return htmlReport.Execute(w, newReport(r)) }

// WriteMarkdown writes a run's report for a terminal or a pull request, without prompts.
func WriteMarkdown(w io.Writer, r Run) error { return markdownReport.Execute(w, newReport(r)) }
