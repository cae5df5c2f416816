package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/conversation/label"
	"myao/internal/evaluate/chart"
	"myao/internal/evaluate/stats"
	"myao/internal/evaluate/tune"
	"myao/internal/operate/timeline"
	"myao/internal/slack/channels"
)

// tuneCommand finds the threshold of least expected cost.
type tuneCommand struct {
	Channel    string  `placeholder:"CHANNEL" help:"Tell of this channel alone: its id, or its name with or without #."`
	Since      instant `default:"30d" placeholder:"WHEN" help:"Take the decisions since then (${default})."`
	CostFalse  float64 `default:"2" placeholder:"COST" help:"What a false interruption costs (${default})."`
	CostMissed float64 `default:"1" placeholder:"COST" help:"What a missed intervention costs (${default})."`
	HTML       string  `placeholder:"FILE" help:"Also write a web page of both error rates over the threshold, by channel and by week."`
	teamFlag
	output
}

// Help implements kong's Help.
func (tuneCommand) Help() string {
	return `It takes the decisions of the model whose truth is known, by people's labels or by what followed, and finds the
min_confidence by which the errors would have cost least. It prints YAML and changes nothing. How it reckons, and
what it cannot know, is in docs/judgment.md.

  starter tune
  starter tune --since 14d --cost-false 3 --html tune.html
  starter tune --channel '#general' --json | jq '.channels[0].best'`
}

// Validate implements kong's Validate.
func (c *tuneCommand) Validate() error {
	if !(c.CostFalse > 0 && c.CostFalse < 1e6 && c.CostMissed > 0 && c.CostMissed < 1e6) {
		return errors.New("--cost-false and --cost-missed: want numbers above 0")
	}
	return nil
}

// tuneReport is what the labels say of thresholds.
type tuneReport struct {
	Since      time.Time `json:"since"`
	CostMissed float64   `json:"cost_missed"`
	CostFalse  float64   `json:"cost_false"`
	// Wait, Either and Unsaid count decisions that are left out: silence and speaking were both no error, or the labels
	// say nothing.
	Wait   int `json:"wait"`
	Either int `json:"either"`
	Unsaid int `json:"unlabelled"`
	// Ignored are kinds of evidence that count for nothing.
	Ignored  []label.Kind    `json:"ignored"`
	Warnings []string        `json:"warnings"`
	Whole    tune.Advice     `json:"overall"`
	Channels []channelAdvice `json:"channels"`
	// YAML is what to paste into the configuration; empty if there is nothing to change.
	YAML string `json:"yaml"`
}

// channelAdvice is what the labels say of a channel.
type channelAdvice struct {
	Channel string `json:"channel"` // id
	Name    string `json:"channel_name"`
	tune.Advice
}

func (c *tuneCommand) run(ctx context.Context, p *program) error {
	prompts, err := agents.Prompts(p.Config)
	if err != nil {
		return err
	}
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	since, err := c.Since.time(time.Now(), p.Config.Location())
	if err != nil {
		return err
	}
	l, err := readLabelled(ctx, p, db, scope.Team, since)
	if err != nil {
		return err
	}
	r := c.report(l, since, scope.Channel, prompts.JudgmentFingerprint())
	if c.HTML != "" {
		if err := writeFile(c.HTML, r.page(l, scope.Channel).WriteHTML); err != nil {
			return err
		}
	}
	return c.print(p.stdout, r, func(w io.Writer) error { return r.text(w, p.Config.Location()) })
}

// report tells of all channels, or of one. prompt is the fingerprint of today's prompt.
func (c *tuneCommand) report(l labelled, since time.Time, only, prompt string) tuneReport {
	r := tuneReport{
		Since: since, CostMissed: c.CostMissed, CostFalse: c.CostFalse, Wait: l.wait, Either: l.either,
		Unsaid:  l.unsaid,
		Ignored: []label.Kind{}, Warnings: []string{}, Channels: []channelAdvice{},
	}
	for _, k := range label.Kinds {
		if l.precisions[k].Ignored(k) {
			r.Ignored = append(r.Ignored, k)
		}
	}
	if warning := l.otherPrompts(prompt); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	var of map[string]tune.Advice
	r.Whole, of = tune.Threshold(l.tuned, tune.Costs{Missed: c.CostMissed, False: c.CostFalse}, l.today())
	for _, id := range l.channelIDs() {
		if only == "" || id == only {
			r.Channels = append(r.Channels, channelAdvice{id, l.name(id), of[id]})
		}
	}
	r.YAML = r.yaml(l, only)
	return r
}

// yaml is the best thresholds where they would have cost less than those that hold, of all or of one channel.
func (r tuneReport) yaml(l labelled, only string) string {
	if r.Whole.Best == nil {
		return ""
	}
	var b strings.Builder
	inherited := r.Whole.Today.Threshold
	if only == "" && r.Whole.Better() {
		inherited = r.Whole.Best.Threshold
		fmt.Fprintf(&b, "response:\n  min_confidence: %s\n", plainNumber(inherited))
	}
	heading := "channels:\n"
	for _, c := range r.Channels {
		facts := channels.SettingsFacts(l.known[c.Channel])
		facts.ID = c.Channel
		holds := inherited
		for _, s := range l.config.Explain(facts) {
			if s.Key == "min_confidence" && strings.HasPrefix(s.From, "channels.") {
				holds = c.Today.Threshold
			}
		}
		if c.Best.Threshold == holds || holds == c.Today.Threshold && !c.Better() {
			continue
		}
		key, comment := c.Channel, " # "+timeline.Plain(c.Name)
		if set := l.config.ChannelKey(facts); set != "" && set != c.Channel {
			key, comment = strconv.Quote(set), ""
		}
		fmt.Fprintf(&b, "%s  %s:%s\n    min_confidence: %s\n", heading, key, comment, plainNumber(c.Best.Threshold))
		heading = ""
	}
	return b.String()
}

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (r tuneReport) text(w io.Writer, zone *time.Location) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.about(zone))
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	rows := [][]string{{"WHERE", "SPEAK", "SILENT", "OWN", "MIN_CONFIDENCE", "MISSED", "FALSE", "COST"}}
	add := func(name string, a tune.Advice) {
		rows = append(rows, append([]string{name, strconv.Itoa(a.Speak), strconv.Itoa(a.Silent),
			fmt.Sprintf("%.0f %%", 100*a.Own)}, settingCells("today", a.Today)...))
		if a.Best != nil {
			rows = append(rows, append([]string{"", "", "", ""}, settingCells("best", *a.Best)...))
		}
	}
	add("everywhere", r.Whole)
	for _, c := range r.Channels {
		add(timeline.Plain(c.Name), c.Advice)
	}
	fmt.Fprintln(&b)
	if err := table(&b, rows); err != nil {
		return err
	}
	switch {
	case r.Whole.Best == nil:
		fmt.Fprintf(&b, "\ntoo few labels to say which threshold is best: want %d decisions in which speaking was "+
			"right, and %d in which silence was.\n`starter label --ask 20` adds some.\n", tune.MinLabels,
			tune.MinLabels)
	case r.YAML == "":
		fmt.Fprint(&b, "\nno threshold would have cost less than those of today\n")
	default:
		fmt.Fprintf(&b, "\nnothing is changed; to paste into the configuration:\n\n%s", r.YAML)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// about says which decisions are counted, and which are not.
func (r tuneReport) about(zone *time.Location) string {
	text := fmt.Sprintf("%d decisions since %s; a false interruption costs %s, a missed intervention %s; left out: "+
		"wait %d, either %d, labels that say nothing %d",
		r.Whole.Speak+r.Whole.Silent, r.Since.In(zone).Format("2006-01-02 15:04"), plainNumber(r.CostFalse),
		plainNumber(r.CostMissed), r.Wait, r.Either, r.Unsaid)
	for i, k := range r.Ignored {
		text += []string{"; ignored evidence: ", ", "}[min(i, 1)] + string(k)
	}
	return text
}

// settingCells are those of a row that are about a threshold.
func settingCells(name string, s tune.Setting) []string {
	at, cost := name+" "+plainNumber(s.Threshold), "–"
	if s.Interval != nil {
		at += fmt.Sprintf(" (%.2f to %.2f)", s.Interval.Low, s.Interval.High)
	}
	if s.ExpectedCost != nil {
		cost = fmt.Sprintf("%.3f", *s.ExpectedCost)
	}
	return []string{at, within(s.MissedRate, s.MissedInterval), within(s.FalseRate, s.FalseInterval), cost}
}

// within is a rate with its interval, in percent.
func within(rate *float64, i *stats.Interval) string {
	switch {
	case rate == nil:
		return "–"
	case i == nil:
		return fmt.Sprintf("%.1f %%", 100**rate)
	}
	return fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100**rate, 100*i.Low, 100*i.High)
}

// page is the error rates over the threshold: of all, by channel and by week. With only, it is of one channel.
func (r tuneReport) page(l labelled, only string) tune.Page {
	page := tune.Page{Title: "How sure, and how right", About: append([]string{r.about(l.config.Location())},
		r.Warnings...)}
	page.Sections = append(page.Sections,
		tune.Section{Name: "Everywhere",
			Charts: []tune.Chart{{Name: "everywhere", Decisions: l.tuned, Marks: marks(r.Whole)}}})
	of, byChannel := l.by(func(i int) string { return l.tuned[i].Channel }), tune.Section{Name: "By channel"}
	for _, c := range r.Channels {
		byChannel.Charts = append(byChannel.Charts, tune.Chart{Name: c.Name, Decisions: of[c.Channel],
			Marks: marks(c.Advice)})
	}
	weeks, byWeek := l.by(func(i int) string {
		if only != "" && l.tuned[i].Channel != only {
			return ""
		}
		return l.week(i)
	}), tune.Section{Name: "By week"}
	today := r.Whole.Today
	if only != "" {
		today = tune.Setting{Threshold: l.today()[only]}
	}
	for _, week := range slices.Sorted(maps.Keys(weeks)) {
		byWeek.Charts = append(byWeek.Charts, tune.Chart{Name: "week of " + week, Decisions: weeks[week],
			Marks: marks(tune.Advice{Today: today})})
	}
	page.Sections = append(page.Sections, byChannel, byWeek)
	return page
}

// marks are the thresholds of an advice.
func marks(a tune.Advice) []chart.Mark {
	all := []chart.Mark{{Name: "today", Threshold: a.Today.Threshold}}
	if a.Best != nil {
		all = append(all, chart.Mark{Name: "best", Threshold: a.Best.Threshold})
	}
	return all
}
