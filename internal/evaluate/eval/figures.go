package eval

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"myao/internal/answer/prompt"
	"myao/internal/evaluate/stats"
)

// Costs of the two errors, and the share of pauses in which a word is wanted, by which the expected cost is
// told. A false interruption counts twice a missed intervention: people leave bots that butt in.
const (
	costMissed = 1.0
	costFalse  = 2.0
)

// Figures are what a run came to. A figure that has no cases behind it is null.
type Figures struct {
	Cases   int `json:"cases"`   // that were read
	Answers int `json:"answers"` // cases × repeats
	// Speak, Silent and Either are answers by target; the last are not scored.
	Speak  int `json:"speak"`
	Silent int `json:"silent"`
	Either int `json:"either"`
	Missed int `json:"missed"` // of Speak
	False  int `json:"false"`  // of Silent

	MissedRate *float64 `json:"missed_rate"`
	FalseRate  *float64 `json:"false_rate"`
	// BalancedAccuracy is 1 less the mean of the two rates.
	BalancedAccuracy *float64 `json:"balanced_accuracy"`
	// ExpectedCost of an answer: 1 for one that is missed, 2 for a false one, at the cases' own share of Speak.
	ExpectedCost *float64 `json:"expected_cost"`
	// OverallCost is the mean cost of a scored answer: of both errors, and of right answers that come too early or too
	// late.
	OverallCost *float64 `json:"overall_cost"`
	// Brier is the mean squared distance between score and target, of readable verdicts.
	Brier *float64 `json:"brier"`

	// Intervals are 95 %: Wilson's of the rates, of balanced accuracy by a bootstrap over clusters.
	MissedInterval   *stats.Interval `json:"missed_interval"`
	FalseInterval    *stats.Interval `json:"false_interval"`
	BalancedInterval *stats.Interval `json:"balanced_interval"`

	Timings struct {
		Early  int `json:"early"`
		InTime int `json:"in_time"`
		Late   int `json:"late"`
	} `json:"timings"`
	Rules      map[string]int `json:"rules"`      // answers that a rule decided, by rule
	Unreadable int            `json:"unreadable"` // answers without a verdict
	Flips      int            `json:"flips"`      // cases whose repeats disagree

	Calls    int `json:"calls"`
	TokensIn int `json:"tokens_in"`
	// TokensCached is the part of TokensIn that the provider had read before.
	TokensCached int `json:"tokens_cached"`
	TokensOut    int `json:"tokens_out"`
	// Cost is of all calls, recorded answers included, in the currency of llm.prices.
	Cost  *float64 `json:"cost"`
	P50MS int64    `json:"p50_ms"` // latency of answers that a model gave
	P95MS int64    `json:"p95_ms"`
	// RepeatedShare is how much of the prompts, in characters, begins the prompt of the case before, too: what a
	// provider may find in its cache. Nil with fewer than two prompts.
	RepeatedShare *float64 `json:"repeated_share"`

	// BrokeAt counts the wrong answers by the link that broke, and Wrong lists them.
	BrokeAt map[Link]int `json:"broke_at"`
	Wrong   []Wrong      `json:"wrong"`

	Categories  []Group `json:"categories"`
	Languages   []Group `json:"languages"`
	Reliability []Bin   `json:"reliability"`
	Thresholds  []Point `json:"thresholds"`
}

// Wrong is an answer that was missed or false.
type Wrong struct {
	Case    string `json:"case"`
	Repeat  int    `json:"repeat"`
	Target  Target `json:"target"`
	BrokeAt Link   `json:"broke_at"`
}

// Group is the answers of one category or language.
type Group struct {
	Name   string     `json:"name"`
	Missed stats.Rate `json:"missed"`
	False  stats.Rate `json:"false"`
}

// Bin is the verdicts with scores next to each other.
type Bin struct {
	Score float64    `json:"score"` // their mean
	Speak stats.Rate `json:"speak"` // of those, the share with target speak
}

// Point is what both rates would be with another min_confidence.
type Point struct {
	MinConfidence float64  `json:"min_confidence"`
	MissedRate    *float64 `json:"missed_rate"`
	FalseRate     *float64 `json:"false_rate"`
}

// bins is how many bins of equal count a reliability diagram has at most.
const bins = 10

// Figure computes the figures of a run's rows.
func Figure(rows []Row) Figures {
	f := Figures{Answers: len(rows), Rules: map[string]int{}}
	outcomes := map[string]map[bool]bool{} // case → spoke
	var latencies []float64
	for _, r := range rows {
		if outcomes[r.Case] == nil {
			outcomes[r.Case] = map[bool]bool{}
		}
		outcomes[r.Case][r.Spoke] = true
		switch r.Timing {
		case Early:
			f.Timings.Early++
		case InTime:
			f.Timings.InTime++
		case Late:
			f.Timings.Late++
		}
		if r.Rule != "" {
			f.Rules[r.Rule]++
		}
		if r.Error != "" {
			f.Unreadable++
		}
		f.Calls += r.Calls
		f.TokensIn += r.TokensIn
		f.TokensCached += r.TokensCached
		f.TokensOut += r.TokensOut
		if r.Calls > 0 {
			latencies = append(latencies, float64(r.LatencyMS))
		}
	}
	f.Cases = len(outcomes)
	for _, spoke := range outcomes {
		if len(spoke) == 2 {
			f.Flips++
		}
	}
	slices.Sort(latencies)
	f.P50MS, f.P95MS = int64(stats.Quantile(latencies, 0.5)), int64(stats.Quantile(latencies, 0.95))
	f.errors(rows)
	f.RepeatedShare = repeatedShare(rows)
	f.Categories = groups(rows, func(r Row) string { return r.Category })
	f.Languages = groups(rows, func(r Row) string { return r.Lang })
	f.calibration(rows)
	return f
}

func repeatedShare(rows []Row) *float64 {
	before, repeated, all := "", 0, 0
	for _, r := range rows {
		if r.System == "" || r.Repeat > 0 {
			continue
		}
		if before != "" {
			same, long := prompt.Repeated(before, r.System)
			repeated, all = repeated+same, all+long
		}
		before = r.System
	}
	if all == 0 {
		return nil
	}
	share := float64(repeated) / float64(all)
	return &share
}

func (f *Figures) errors(rows []Row) {
	all := count(rows)
	missed, wrong := all.missedRate(), all.falseRate()
	f.Speak, f.Silent, f.Either = all.speak, all.silent, len(rows)-all.speak-all.silent
	f.Missed, f.False = all.missed, all.false
	f.MissedRate, f.FalseRate = missed.Value, wrong.Value
	f.MissedInterval, f.FalseInterval = missed.Interval(), wrong.Interval()
	if accuracy, ok := all.balanced(); ok {
		f.BalancedAccuracy = &accuracy
		share := float64(f.Speak) / float64(f.Speak+f.Silent)
		cost := costMissed**missed.Value*share + costFalse**wrong.Value*(1-share)
		f.ExpectedCost = &cost
	}
	f.BrokeAt, f.Wrong = map[Link]int{}, []Wrong{}
	sum := 0.0
	for _, r := range rows {
		sum += r.cost()
		if link := r.BrokeAt(); link != "" {
			f.BrokeAt[link]++
			f.Wrong = append(f.Wrong, Wrong{r.Case, r.Repeat, r.Target, link})
		}
	}
	if scored := f.Speak + f.Silent; scored > 0 {
		cost := sum / float64(scored)
		f.OverallCost = &cost
	}
	f.BalancedInterval = stats.Bootstrap(byCluster(rows), counts.plus, counts.balanced)
}

func groups(rows []Row, name func(Row) string) []Group {
	by := map[string][]Row{}
	for _, r := range rows {
		by[name(r)] = append(by[name(r)], r)
	}
	all := []Group{}
	for name, rows := range by {
		c := count(rows)
		all = append(all, Group{name, c.missedRate(), c.falseRate()})
	}
	slices.SortFunc(all, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// calibration is of the verdicts alone: what rules decide has no score.
func (f *Figures) calibration(rows []Row) {
	var judged []Row
	sum := 0.0
	for _, r := range rows {
		if r.Target != Either && r.Verdict != nil {
			judged = append(judged, r)
			sum += math.Pow(r.Verdict.score()-truth(r), 2)
		}
	}
	f.Reliability, f.Thresholds = []Bin{}, []Point{}
	if len(judged) == 0 {
		return
	}
	brier := sum / float64(len(judged))
	f.Brier = &brier
	slices.SortStableFunc(judged, func(a, b Row) int { return cmp.Compare(a.Verdict.score(), b.Verdict.score()) })
	n := min(bins, len(judged))
	for i := range n {
		part := judged[i*len(judged)/n : (i+1)*len(judged)/n]
		score, speak := 0.0, 0
		for _, r := range part {
			score += r.Verdict.score()
			speak += int(truth(r))
		}
		f.Reliability = append(f.Reliability, Bin{score / float64(len(part)), stats.NewRate(speak, len(part))})
	}
	for step := range 21 {
		threshold := float64(step) / 20
		at := slices.Clone(rows)
		for i, r := range at {
			if v := r.Verdict; v != nil && (r.Rule == "" || r.Rule == lowConfidence) {
				at[i].Spoke = v.ShouldRespond && v.Confidence >= threshold
			}
		}
		c := count(at)
		f.Thresholds = append(f.Thresholds, Point{threshold, c.missedRate().Value, c.falseRate().Value})
	}
}

// lowConfidence is the rule that a threshold makes: it is lifted where another one is tried.
const lowConfidence = "low_confidence"

func truth(r Row) float64 {
	if r.Target == Speak {
		return 1
	}
	return 0
}

// FigureNames are the JSON names of the figures that are one number.
func FigureNames() (names []string) {
	for name := range (Figures{}).numbers() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Number is a figure by its JSON name; nil for one that has no cases behind it, and for an unknown name.
func (f Figures) Number(name string) *float64 { return f.numbers()[name] }

func (f Figures) numbers() map[string]*float64 {
	all := map[string]*float64{}
	v := reflect.ValueOf(f)
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("json")
		switch field := v.Field(i).Interface().(type) {
		case int:
			n := float64(field)
			all[name] = &n
		case int64:
			n := float64(field)
			all[name] = &n
		case *float64:
			all[name] = field
		}
	}
	return all
}
