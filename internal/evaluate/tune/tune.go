// Package tune finds the confidence that a judgment's yes should have to count, by decisions whose truth is known.
package tune

import (
	"maps"
	"slices"

	"myao/internal/evaluate/stats"
)

// Decision is a verdict of a model, and what would have been right.
type Decision struct {
	Channel string // id
	// Cluster names decisions that resemble each other. A cluster is of one channel.
	Cluster    string
	Wanted     bool
	Confidence float64 // 0–1
	Speak      bool    // would have been right; else silence
	Weight     float64 // how likely that is true: above 0, at most 1
}

// speaks reports whether the bot speaks with a threshold.
func (d Decision) speaks(threshold float64) bool { return d.Wanted && d.Confidence >= threshold }

// Costs are of the two errors, in any unit.
type Costs struct{ Missed, False float64 }

// MinLabels is how many decisions of each truth, speak and silent, a threshold needs.
const MinLabels = 30

// Advice is what the decisions of a channel, or of the whole, say about min_confidence.
type Advice struct {
	Speak  int `json:"speak"` // decisions in which speaking was right
	Silent int `json:"silent"`
	// Own is how far the cost is that of its own decisions, and not drawn to the whole, from 0 to 1.
	Own   float64 `json:"own_weight"`
	Today Setting `json:"current"`
	// Best is the threshold of least expected cost; nil if the whole has too few labels to say.
	Best *Setting `json:"best"`
}

// Better reports whether the best threshold would have cost less than today's.
func (a Advice) Better() bool {
	return a.Best != nil && *a.Best.ExpectedCost < *a.Today.ExpectedCost-same
}

// Setting is a threshold and what comes of it. Intervals are 95 %, by a bootstrap over clusters, and nil where there
// are too few. The rates of a channel are those of its own decisions; a rate is nil where no decision has it.
type Setting struct {
	Threshold      float64         `json:"min_confidence"`
	Interval       *stats.Interval `json:"interval,omitempty"` // of the threshold, if it was found
	MissedRate     *float64        `json:"missed_rate"`
	MissedInterval *stats.Interval `json:"missed_interval"`
	FalseRate      *float64        `json:"false_rate"`
	FalseInterval  *stats.Interval `json:"false_interval"`
	// ExpectedCost is that of a decision, drawn to the whole's like the channel's other costs; nil without decisions.
	ExpectedCost *float64 `json:"expected_cost"`
}

// Threshold finds the threshold of least expected cost for the whole, and for each channel that has decisions, by its
// id. today has the threshold that each of these channels has now, and under "" that of the whole. The same decisions
// give the same answer.
//
// With a threshold t the bot speaks if the model wanted to and its confidence is at least t. With the weights of the
// decisions, the expected cost of a decision is (costs.Missed · missed + costs.False · false) / all. Tried are 0, 0.01,
// …, 1; of thresholds that cost the same, the lowest is taken.
//
// A channel with n decisions in which speaking was right, and m in which silence was, has its own costs if both are
// at least MinLabels. Else they are drawn to those of the whole: for each t they are own · the channel's cost +
// (1 − own) · the whole's, with own = min(n, m, MinLabels) / MinLabels.
func Threshold(decisions []Decision, costs Costs, today map[string]float64) (whole Advice, channels map[string]Advice) {
	of, channels := map[string][]Decision{}, map[string]Advice{}
	for _, d := range decisions {
		of[d.Channel] = append(of[d.Channel], d)
	}
	all := newGroup(decisions, today[""])
	enough := min(all.speak, all.silent) >= MinLabels
	sum, drawn := all.sum(), all.draws()
	cost, drawnCost := sum.cost(costs), costsOf(drawn, costs)
	whole = all.advice(cost, sum.costToday(costs), drawn, drawnCost, enough)
	whole.Own = 1
	for _, channel := range slices.Sorted(maps.Keys(of)) {
		g := newGroup(of[channel], today[channel])
		own := float64(min(g.speak, g.silent, MinLabels)) / MinLabels
		drawn := g.draws()
		drawnOwn := costsOf(drawn, costs)
		for i := range drawnOwn {
			drawnOwn[i] = drawnOwn[i].towards(drawnCost[i], own)
		}
		now := own*g.sum().costToday(costs) + (1-own)*newGroup(decisions, today[channel]).sum().costToday(costs)
		a := g.advice(g.sum().cost(costs).towards(cost, own), now, drawn, drawnOwn, enough)
		a.Own = own
		channels[channel] = a
	}
	return whole, channels
}

// advice is what the costs of each threshold and of today's say. drawn and drawnCost are those of each draw of a
// bootstrap.
func (g group) advice(cost curve, now float64, drawn []tally, drawnCost []curve, enough bool) Advice {
	a := Advice{Speak: g.speak, Silent: g.silent, Today: Setting{Threshold: g.today}}
	if len(g.clusters) > 0 {
		a.Today.ExpectedCost = &now
	}
	a.Today.rates(g.sum(), drawn, func(t tally) (missed, wrong float64) { return t.missedToday, t.falseToday })
	if !enough {
		return a
	}
	best := cost.lowest()
	a.Best = &Setting{Threshold: threshold(best), ExpectedCost: &cost[best]}
	var found []float64
	for _, c := range drawnCost {
		found = append(found, threshold(c.lowest()))
	}
	a.Best.Interval = stats.Percentiles(found)
	a.Best.rates(g.sum(), drawn, func(t tally) (missed, wrong float64) { return t.missed[best], t.false[best] })
	return a
}

// rates sets both error rates by the weight of the errors, and their intervals.
func (s *Setting) rates(sum tally, drawn []tally, of func(tally) (missed, wrong float64)) {
	missed, wrong := of(sum)
	s.MissedRate, s.FalseRate = share(missed, sum.speak), share(wrong, sum.silent)
	var allMissed, allFalse []float64
	for _, t := range drawn {
		missed, wrong := of(t)
		if rate := share(missed, t.speak); rate != nil {
			allMissed = append(allMissed, *rate)
		}
		if rate := share(wrong, t.silent); rate != nil {
			allFalse = append(allFalse, *rate)
		}
	}
	s.MissedInterval, s.FalseInterval = stats.Percentiles(allMissed), stats.Percentiles(allFalse)
}

// share is part of whole; nil without a whole.
func share(part, whole float64) *float64 {
	if whole == 0 {
		return nil
	}
	v := part / whole
	return &v
}
