// Package shadow compares the judges of config.Shadow with the first one, agents.judgment.
package shadow

import (
	"maps"
	"slices"

	"myao/internal/conversation/label"
	"myao/internal/evaluate/stats"
)

// Verdict is what one judge says of a judgment.
type Verdict struct {
	// Speaks is its verdict, after its own min_confidence. Wanted is the model's yes.
	Speaks     bool    `json:"should_respond"`
	Wanted     bool    `json:"wanted"`
	Confidence float64 `json:"confidence"` // 0 to 1
	Reason     string  `json:"reason"`
	Model      string  `json:"model"`
	TokensIn   int     `json:"tokens_in"`
	TokensOut  int     `json:"tokens_out"`
	// Cost is what the tokens cost; nil if the model's price is unknown.
	Cost *float64 `json:"cost,omitempty"`
}

// Case is one judgment, and what another judge says of it.
type Case struct {
	Decision string  `json:"decision"` // key
	Judge    string  `json:"judge"`
	First    Verdict `json:"first"` // of agents.judgment
	// Second is the other judge's. If it has given none, Failed is the kind of error.
	Second Verdict `json:"second"`
	Failed string  `json:"error,omitempty"`
	// Truth is what would have been right; empty if nobody knows.
	Truth label.Truth `json:"truth,omitempty"`
}

// Differs reports whether the judges disagree.
func (c Case) Differs() bool { return c.Failed == "" && c.First.Speaks != c.Second.Speaks }

// Figures compare one judge with the first one.
type Figures struct {
	Judge string `json:"judge"`
	// Opinions is how many verdicts it has given. Failed counts those that it has not, by the kind of error.
	Opinions int            `json:"opinions"`
	Failed   map[string]int `json:"failed"`
	// The four outcomes of Opinions.
	BothSpeak  int        `json:"both_speak"`
	BothSilent int        `json:"both_silent"`
	OnlyFirst  int        `json:"only_first"`  // the first judge speaks, this one is silent
	OnlySecond int        `json:"only_second"` // this one speaks
	Agreement  stats.Rate `json:"agreement"`
	// Kappa is Cohen's: agreement beyond chance, from -1 to 1; nil if both always say the same one thing.
	Kappa *float64 `json:"kappa"`
	// Right is how often this judge is right where it is known whether to speak, FirstRight the first one.
	Right      stats.Rate `json:"right"`
	FirstRight stats.Rate `json:"first_right"`
	// Models are those that have answered; more than one if the configuration has changed.
	Models []string `json:"models"`
	// Spent is what this judge took, failures included, FirstSpent the first one for the same judgments.
	Spent      Spent `json:"spent"`
	FirstSpent Spent `json:"first_spent"`
}

// Spent sums up tokens. Cost is nil if a price is unknown.
type Spent struct {
	TokensIn  int      `json:"tokens_in"`
	TokensOut int      `json:"tokens_out"`
	Cost      *float64 `json:"cost"`
}

// plus adds what a verdict took.
func (s Spent) plus(v Verdict) Spent {
	sum := Spent{TokensIn: s.TokensIn + v.TokensIn, TokensOut: s.TokensOut + v.TokensOut}
	if s.Cost != nil && v.Cost != nil {
		cost := *s.Cost + *v.Cost
		sum.Cost = &cost
	}
	return sum
}

// Compare returns the figures of each judge, by name.
func Compare(cases []Case) []Figures {
	of := map[string]*Figures{}
	right, firstRight, known := map[string]int{}, map[string]int{}, map[string]int{}
	for _, c := range cases {
		f := of[c.Judge]
		if f == nil {
			f = &Figures{Judge: c.Judge, Failed: map[string]int{}, Models: []string{}, Spent: Spent{Cost: new(float64)},
				FirstSpent: Spent{Cost: new(float64)}}
			of[c.Judge] = f
		}
		f.Spent, f.FirstSpent = f.Spent.plus(c.Second), f.FirstSpent.plus(c.First)
		if m := c.Second.Model; m != "" && !slices.Contains(f.Models, m) {
			f.Models = append(f.Models, m)
		}
		if c.Failed != "" {
			f.Failed[c.Failed]++
			continue
		}
		f.Opinions++
		switch {
		case c.First.Speaks && c.Second.Speaks:
			f.BothSpeak++
		case c.First.Speaks:
			f.OnlyFirst++
		case c.Second.Speaks:
			f.OnlySecond++
		default:
			f.BothSilent++
		}
		if !c.Truth.Scored() {
			continue
		}
		known[c.Judge]++
		if c.Second.Speaks == (c.Truth == label.Speak) {
			right[c.Judge]++
		}
		if c.First.Speaks == (c.Truth == label.Speak) {
			firstRight[c.Judge]++
		}
	}
	var all []Figures
	for _, name := range slices.Sorted(maps.Keys(of)) {
		f := of[name]
		f.Agreement = stats.NewRate(f.BothSpeak+f.BothSilent, f.Opinions)
		f.Kappa = Kappa(f.BothSpeak, f.OnlyFirst, f.OnlySecond, f.BothSilent)
		f.Right, f.FirstRight = stats.NewRate(right[name], known[name]), stats.NewRate(firstRight[name], known[name])
		all = append(all, *f)
	}
	return all
}

// Kappa is Cohen's kappa (Cohen, 1960) of two judges: (observed - expected) / (1 - expected) agreement. It is
// nil where chance alone makes them agree, or without any case.
func Kappa(bothSpeak, onlyFirst, onlySecond, bothSilent int) *float64 {
	a, b, c, d := float64(bothSpeak), float64(onlyFirst), float64(onlySecond), float64(bothSilent)
	n := a + b + c + d
	if n == 0 {
		return nil
	}
	observed, expected := (a+d)/n, ((a+b)*(a+c)+(c+d)*(b+d))/(n*n)
	if expected == 1 {
		return nil
	}
	kappa := (observed - expected) / (1 - expected)
	return &kappa
}
