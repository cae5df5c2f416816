package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"myao/internal/config"
	"myao/internal/conversation/label"
	"myao/internal/evaluate/evidence"
	"myao/internal/evaluate/shadow"
	"myao/internal/evaluate/tune"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// shadowCommand compares the judges of shadow with the first one.
type shadowCommand struct {
	Channel string  `placeholder:"CHANNEL" help:"Only judgments of this channel and its threads: its id, or its name with or without #."`
	Since   instant `default:"7d" placeholder:"WHEN" help:"The opinions since then (${default})."`
	Limit   int     `default:"20" placeholder:"N" help:"Show the newest N disagreements (${default}); --json has all."`
	HTML    string  `placeholder:"FILE" help:"Also write a web page of each judge's error rates over the threshold, by channel and by week."`
	teamFlag
	output
}

// Help implements kong's Help.
func (shadowCommand) Help() string {
	return `For each judge of shadow.judges: how often it agrees with agents.judgment, where it does not and why, how often
each is right as far as labels tell, and what it costs. What the figures mean is in docs/judgment-format.md.

  starter shadow
  starter shadow --since 30d --channel '#general'
  starter shadow --since 30d --html shadow.html
  starter shadow --json | jq '.judges[] | {judge, kappa}'`
}

// Validate implements kong's Validate.
func (c *shadowCommand) Validate() error { return checkLimit(c.Limit, maxListed) }

// shadowReport is the output of the command.
type shadowReport struct {
	Since time.Time `json:"since"`
	// CallsToday is how many calls the judges have made today, of DailyCalls (0: any number). Waiting is about
	// how many judgments they have yet to be asked.
	CallsToday int              `json:"calls_today"`
	DailyCalls int              `json:"daily_calls"`
	Waiting    int              `json:"waiting"`
	Judges     []shadow.Figures `json:"judges"`
	// Disagreements have the newest first.
	Disagreements []disagreement `json:"disagreements"`
}

// disagreement is a judgment that another judge sees otherwise.
type disagreement struct {
	Channel string    `json:"channel"` // id
	Name    string    `json:"channel_name"`
	TS      string    `json:"ts"` // of the newest message that was judged
	At      time.Time `json:"at"`
	shadow.Case
}

func (c *shadowCommand) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	r := shadowReport{DailyCalls: p.Config.Shadow.DailyCalls, Judges: []shadow.Figures{},
		Disagreements: []disagreement{}}
	now := time.Now()
	if r.Since, err = c.Since.time(now, p.Config.Location()); err != nil {
		return err
	}
	compared, err := db.ComparedOpinions(ctx, store.OpinionFilter{Team: scope.Team, Channel: scope.Channel,
		Since: r.Since})
	if err != nil {
		return err
	}
	spent, err := db.SpentOnShadow(ctx, p.Config.StartOfDay(now))
	if err != nil {
		return err
	}
	r.CallsToday = spent.Calls
	if r.Waiting, err = db.CountSnapshots(ctx, scope.Team); err != nil {
		return err
	}
	cases, err := shadowCases(ctx, db, scope.Team, compared, p.Config.LLM.Prices)
	if err != nil {
		return err
	}
	r.Judges = append(r.Judges, shadow.Compare(cases)...)
	known, err := db.Channels(ctx, scope.Team, channelsCompared(compared))
	if err != nil {
		return err
	}
	r.addDisagreements(known, compared, cases)
	if c.HTML != "" {
		if err := writeFile(c.HTML, r.page(known, compared, cases, p.Config.Location()).WriteHTML); err != nil {
			return err
		}
	}
	return c.print(p.stdout, r, func(w io.Writer) error { return r.text(w, p.Config.Location(), c.Limit) })
}

// shadowCases are the opinions, in their order, with what is true of each judgment by its labels.
func shadowCases(ctx context.Context, db *store.Store, team string, compared []store.Compared,
	prices map[string]config.Price) ([]shadow.Case, error) {
	checked, err := db.CheckedLabels(ctx, team)
	if err != nil {
		return nil, err
	}
	labels := map[string][]label.Label{}
	for chunk := range slices.Chunk(compared, 500) {
		about := map[string]bool{}
		for _, c := range chunk {
			about[c.Decision] = labels[c.Decision] == nil
		}
		maps.DeleteFunc(about, func(_ string, unread bool) bool { return !unread })
		found, err := db.LabelsOf(ctx, slices.Collect(maps.Keys(about)))
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			labels[l.Decision] = append(labels[l.Decision], l.Evidence())
		}
	}
	precisions, cases := evidence.Measure(checked), make([]shadow.Case, len(compared))
	for i, c := range compared {
		d := c.About
		cases[i] = shadow.Case{
			Decision: c.Decision, Judge: c.Judge, Failed: c.Error, Truth: precisions.Find(labels[c.Decision]).Truth,
			First: priced(shadow.Verdict{Speaks: d.ShouldRespond, Wanted: d.Wanted, Reason: d.Reason, Model: d.Model,
				TokensIn: d.TokensIn, TokensOut: d.TokensOut}, d.Confidence, prices),
			Second: priced(shadow.Verdict{Speaks: c.ShouldRespond, Wanted: c.Wanted, Reason: c.Reason, Model: c.Model,
				TokensIn: c.TokensIn, TokensOut: c.TokensOut}, c.Confidence, prices),
		}
	}
	return cases, nil
}

// priced is a verdict with its confidence, if it has one, and its cost.
func priced(v shadow.Verdict, confidence *float64, prices map[string]config.Price) shadow.Verdict {
	if confidence != nil {
		v.Confidence = *confidence
	}
	if v.Cost = timeline.Cost(prices, v.Model, v.TokensIn, 0, v.TokensOut); v.TokensIn+v.TokensOut == 0 {
		v.Cost = new(float64) // whatever the model is
	}
	return v
}

// channelsCompared is the ids of the channels of some opinions.
func channelsCompared(compared []store.Compared) []string {
	var ids []string
	for _, c := range compared {
		ids = append(ids, c.ChannelID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// addDisagreements adds the cases in which the judges differ.
func (r *shadowReport) addDisagreements(known map[string]store.Channel, compared []store.Compared,
	cases []shadow.Case) {
	for i, c := range cases {
		if c.Differs() {
			of := compared[i]
			r.Disagreements = append(r.Disagreements, disagreement{
				Channel: of.ChannelID, Name: known[of.ChannelID].Name, TS: of.About.TriggerTS, At: of.About.Decided(),
				Case: c,
			})
		}
	}
}

// page is the error rates of each judge and, for the same judgments, of the first one.
func (r shadowReport) page(known map[string]store.Channel, compared []store.Compared, cases []shadow.Case,
	zone *time.Location) tune.Page {
	page := tune.Page{Title: "Judges in shadow", About: []string{
		"Judgments since " + formatTime(r.Since, zone) +
			" of which labels tell whether to speak. Each chart has how often a judge would have missed an " +
			"intervention, and how often it would have interrupted, by the min_confidence that its yes must reach.",
	}}
	for _, f := range r.Judges {
		groups := map[string]map[string][]tune.Decision{"": {}, " by channel": {}, " by week": {}}
		for i, c := range cases {
			if c.Judge != f.Judge || c.Failed != "" || c.Truth != label.Speak && c.Truth != label.Silent {
				continue
			}
			of := compared[i]
			add := func(group, name string, v shadow.Verdict) {
				groups[group][name] = append(groups[group][name], tune.Decision{
					Channel: of.ChannelID, Cluster: of.Decision, Wanted: v.Wanted, Confidence: v.Confidence,
					Speak: c.Truth == label.Speak, Weight: 1,
				})
			}
			add("", f.Judge, c.Second)
			add("", "the first judge, on the same", c.First)
			name := of.ChannelID
			if n := known[name].Name; n != "" {
				name = "#" + n
			}
			add(" by channel", name, c.Second)
			add(" by week", "week of "+monday(of.About.Decided().In(zone)), c.Second)
		}
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			section := tune.Section{Name: f.Judge + group}
			for _, name := range slices.Sorted(maps.Keys(groups[group])) {
				section.Charts = append(section.Charts, tune.Chart{Name: name, Decisions: groups[group][name]})
			}
			page.Sections = append(page.Sections, section)
		}
	}
	return page
}

func (r shadowReport) text(w io.Writer, zone *time.Location, limit int) error {
	of := ""
	if r.DailyCalls > 0 {
		of = fmt.Sprintf(" of %d", r.DailyCalls)
	}
	head := fmt.Sprintf("since %s; calls today: %d%s; judgments waiting: %d\n", formatTime(r.Since, zone), r.CallsToday,
		of, r.Waiting)
	if len(r.Judges) == 0 {
		_, err := io.WriteString(w, head+"no opinions\n")
		return err
	}
	if _, err := io.WriteString(w, head+"\n"); err != nil {
		return err
	}
	rows := [][]string{{"JUDGE", "OPINIONS", "FAILED", "AGREES", "KAPPA", "ALONE SPEAKS", "ALONE SILENT", "RIGHT",
		"FIRST RIGHT", "TOKENS IN", "TOKENS OUT", "COST", "FIRST'S COST"}}
	for _, f := range r.Judges {
		rows = append(rows, []string{
			f.Judge, strconv.Itoa(f.Opinions), failures(f.Failed), share(f.Agreement.Value), kappa(f.Kappa),
			strconv.Itoa(f.OnlySecond), strconv.Itoa(f.OnlyFirst),
			outOf(f.Right.K, f.Right.N), outOf(f.FirstRight.K, f.FirstRight.N), strconv.Itoa(f.Spent.TokensIn),
			strconv.Itoa(f.Spent.TokensOut), money(f.Spent.Cost), money(f.FirstSpent.Cost),
		})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	shown := r.Disagreements[:min(limit, len(r.Disagreements))]
	if len(shown) > 0 {
		if _, err := fmt.Fprintf(w, "\nWhere they differ, the newest %d of %d:\n", len(shown),
			len(r.Disagreements)); err != nil {
			return err
		}
	}
	for _, d := range shown {
		where := d.Channel
		if d.Name != "" {
			where = "#" + timeline.Plain(d.Name)
		}
		if d.Truth != "" {
			where += "; " + d.Truth.Phrase()
		}
		if _, err := fmt.Fprintf(w, "\n%s  %s in %s\n", formatTime(d.At, zone), d.TS, where); err != nil {
			return err
		}
		if err := table(w, [][]string{saying("the first", d.First), saying(d.Judge, d.Second)}); err != nil {
			return err
		}
	}
	return nil
}

// saying is the row of one judge in a disagreement.
func saying(who string, v shadow.Verdict) []string {
	verdict := "silent"
	if v.Speaks {
		verdict = "speaks"
	}
	return []string{"  " + who, verdict, fmt.Sprintf("%.2f", v.Confidence), timeline.Plain(v.Reason)}
}

// failures counts the opinions that were not given, with their causes.
func failures(of map[string]int) string {
	n, causes := 0, []string{}
	for _, cause := range slices.Sorted(maps.Keys(of)) {
		n += of[cause]
		causes = append(causes, cause)
	}
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", n, timeline.Plain(strings.Join(causes, ", ")))
}

func share(of *float64) string {
	if of == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100**of)
}

func kappa(of *float64) string {
	if of == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f", *of)
}

func outOf(k, n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", k, n)
}

func money(cost *float64) string {
	if cost == nil {
		return "-"
	}
	return timeline.Money(*cost)
}
