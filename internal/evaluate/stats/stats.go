// Package stats has the statistics of shares: intervals, paired tests and a bootstrap. Everything is deterministic.
package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// z95 is the two-sided 95 % quantile of the standard normal distribution.
const z95 = 1.959963984540054

// Rate is a share K of N with its 95 % Wilson interval (Wilson, 1927), which stays honest for
// small N and for shares of 0 and 1. Without any N there is no rate: Value, Low and High are nil.
type Rate struct {
	K     int      `json:"k"`
	N     int      `json:"n"`
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// NewRate is the rate of k in n.
func NewRate(k, n int) Rate {
	r := Rate{K: k, N: n}
	if n == 0 {
		return r
	}
	p, total := float64(k)/float64(n), float64(n)
	centre := p + z95*z95/(2*total)
	margin := z95 * math.Sqrt(p*(1-p)/total+z95*z95/(4*total*total))
	scale := 1 + z95*z95/total
	low, high := max(0, (centre-margin)/scale), min(1, (centre+margin)/scale)
	r.Value, r.Low, r.High = &p, &low, &high
	return r
}

// Interval is the rate's interval; nil without any N.
func (r Rate) Interval() *Interval {
	if r.Low == nil {
		return nil
	}
	return &Interval{*r.Low, *r.High}
}

// String is the rate for people: "62.5 % (5 of 8; 95 %: 30.6 to 86.3)", or "–" without any N.
func (r Rate) String() string {
	if r.Value == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %% (%d of %d; 95 %%: %.1f to %.1f)", 100**r.Value, r.K, r.N, 100**r.Low, 100**r.High)
}

// Interval is from Low to High, both included.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// McNemar returns the exact two-sided p value of two paired classifiers. The first alone was right
// b times, the second alone c times: a sign test on the pairs that differ (McNemar, 1947).
func McNemar(b, c int) float64 {
	n := b + c
	if n == 0 {
		return 1
	}
	sum := 0.0
	for k := range min(b, c) + 1 {
		sum += math.Exp(logChoose(n, k) - float64(n)*math.Ln2)
	}
	return min(1, 2*sum)
}

func logChoose(n, k int) float64 {
	factorial := func(n int) float64 {
		v, _ := math.Lgamma(float64(n) + 1)
		return v
	}
	return factorial(n) - factorial(k) - factorial(n-k)
}

// Holm adjusts p values for how many they are (Holm, 1979), in the order given.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ps[a] < ps[b]:
			return -1
		case ps[a] > ps[b]:
			return 1
		}
		return 0
	})
	adjusted, floor := make([]float64, len(ps)), 0.0
	for rank, i := range order {
		floor = max(floor, min(1, ps[i]*float64(len(ps)-rank)))
		adjusted[i] = floor
	}
	return adjusted
}

// resamples is how often a bootstrap draws. Its seed is fixed, so that the same answers
// have the same interval.
const resamples = 2000

// Resample draws n of n clusters with replacement, 2,000 times, and passes the index of each that is drawn. The
// slice holds until the next draw.
func Resample(n int, each func(drawn []int)) {
	random := rand.New(rand.NewPCG(1, 2))
	drawn := make([]int, n)
	for range resamples {
		for i := range drawn {
			drawn[i] = random.IntN(n)
		}
		each(drawn)
	}
}

// Percentiles is the 95 % percentile interval of a figure over the draws of a bootstrap; nil where fewer than
// half of them had the figure. It sorts the figures.
func Percentiles(figures []float64) *Interval {
	if len(figures) < resamples/2 {
		return nil
	}
	slices.Sort(figures)
	return &Interval{Quantile(figures, 0.025), Quantile(figures, 0.975)}
}

// Bootstrap is the 95 % percentile interval of a figure over resampled clusters: cases of one
// cluster resemble each other and are drawn together. Each cluster is given by the sum of what
// it holds. figure returns false where a draw has none. Bootstrap returns nil for fewer than two clusters, and
// where too few draws had a figure.
func Bootstrap[C any](clusters []C, plus func(a, b C) C, figure func(C) (float64, bool)) *Interval {
	if len(clusters) < 2 {
		return nil
	}
	var figures []float64
	Resample(len(clusters), func(drawn []int) {
		var sum C
		for _, i := range drawn {
			sum = plus(sum, clusters[i])
		}
		if v, ok := figure(sum); ok {
			figures = append(figures, v)
		}
	})
	return Percentiles(figures)
}

// Quantile interpolates between sorted values; 0 for none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
