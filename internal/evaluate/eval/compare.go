package eval

import (
	"cmp"
	"slices"

	"myao/internal/evaluate/stats"
)

// Comparison is of two runs over the same cases, answer by answer.
type Comparison struct {
	// Compared is set where both runs have the same cases and repeats; else nothing else but Why is.
	Compared bool   `json:"compared"`
	Why      string `json:"reason,omitempty"`

	Answers int `json:"answers"`
	// OnlyA and OnlyB are the scored answers that one run alone has right.
	OnlyA int `json:"only_a"`
	OnlyB int `json:"only_b"`
	// P is the exact two-sided McNemar test of these.
	P float64 `json:"p"`
	// Difference is the balanced accuracy of B less that of A, with a paired bootstrap over clusters.
	Difference *float64        `json:"difference"`
	Interval   *stats.Interval `json:"interval"`
	// Categories have their own test, adjusted by Holm for how many there are.
	Categories []CategoryComparison `json:"categories"`
	Flipped    []Flip               `json:"flipped"`
}

// CategoryComparison is a Comparison of one category.
type CategoryComparison struct {
	Name     string  `json:"name"`
	OnlyA    int     `json:"only_a"`
	OnlyB    int     `json:"only_b"`
	P        float64 `json:"p"`
	Adjusted float64 `json:"adjusted"`
}

// Flip is an answer in which the runs differ.
type Flip struct {
	Case   string `json:"case"`
	Repeat int    `json:"repeat"`
	Target Target `json:"target"`
	SpokeA bool   `json:"spoke_a"`
	SpokeB bool   `json:"spoke_b"`
}

// Compare compares run B with run A.
func Compare(a, b Run) Comparison {
	switch {
	case a.Header.Cases != b.Header.Cases:
		return Comparison{Why: "the runs are of different cases"}
	case a.Header.Repeat != b.Header.Repeat:
		return Comparison{Why: "the runs ask a different number of times"}
	case len(a.Rows) != a.Header.Answers || len(b.Rows) != b.Header.Answers:
		return Comparison{Why: "a run is not finished"}
	}
	type key struct {
		id     string
		repeat int
	}
	others := map[key]Row{}
	for _, r := range b.Rows {
		others[key{r.Case, r.Repeat}] = r
	}
	c := Comparison{Compared: true, Answers: len(a.Rows), Categories: []CategoryComparison{}, Flipped: []Flip{}}
	type pair [2]counts
	clusters, categories := map[string]pair{}, map[string]*CategoryComparison{}
	var whole pair
	for _, ra := range a.Rows {
		rb := others[key{ra.Case, ra.Repeat}]
		both := pair{ra.counts(), rb.counts()}
		sum := clusters[ra.Cluster]
		clusters[ra.Cluster] = pair{sum[0].plus(both[0]), sum[1].plus(both[1])}
		whole = pair{whole[0].plus(both[0]), whole[1].plus(both[1])}
		if ra.Spoke == rb.Spoke {
			continue
		}
		c.Flipped = append(c.Flipped, Flip{ra.Case, ra.Repeat, ra.Target, ra.Spoke, rb.Spoke})
		if ra.Target == Either {
			continue
		}
		category := categories[ra.Category]
		if category == nil {
			category = &CategoryComparison{Name: ra.Category}
			categories[ra.Category] = category
		}
		if ra.Spoke == (ra.Target == Speak) {
			c.OnlyA, category.OnlyA = c.OnlyA+1, category.OnlyA+1
		} else {
			c.OnlyB, category.OnlyB = c.OnlyB+1, category.OnlyB+1
		}
	}
	c.P = stats.McNemar(c.OnlyA, c.OnlyB)
	difference := func(p pair) (float64, bool) {
		before, okA := p[0].balanced()
		after, okB := p[1].balanced()
		return after - before, okA && okB
	}
	if d, ok := difference(whole); ok {
		c.Difference = &d
	}
	names := make([]string, 0, len(clusters))
	for name := range clusters {
		names = append(names, name)
	}
	slices.Sort(names)
	pairs := make([]pair, 0, len(names))
	for _, name := range names {
		pairs = append(pairs, clusters[name])
	}
	plus := func(p, q pair) pair { return pair{p[0].plus(q[0]), p[1].plus(q[1])} }
	c.Interval = stats.Bootstrap(pairs, plus, difference)
	var ps []float64
	for _, category := range categories {
		category.P = stats.McNemar(category.OnlyA, category.OnlyB)
		c.Categories = append(c.Categories, *category)
	}
	slices.SortFunc(c.Categories, func(x, y CategoryComparison) int { return cmp.Compare(x.Name, y.Name) })
	for _, category := range c.Categories {
		ps = append(ps, category.P)
	}
	for i, p := range stats.Holm(ps) {
		c.Categories[i].Adjusted = p
	}
	return c
}
