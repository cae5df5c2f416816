package tune

import (
	"myao/internal/evaluate/chart"
	"myao/internal/evaluate/stats"
)

// steps is how many thresholds are tried above 0.
const steps = 100

func threshold(i int) float64 { return float64(i) / steps }

// curve is a cost for each threshold.
type curve [steps + 1]float64

// towards is the curve, drawn to another one as far as own is below 1.
func (c curve) towards(other curve, own float64) curve {
	for i := range c {
		c[i] = own*c[i] + (1-own)*other[i]
	}
	return c
}

// same is a difference of cost that only rounding makes.
const same = 1e-9

// lowest is the first threshold of least cost.
func (c curve) lowest() (best int) {
	for i, cost := range c {
		if cost < c[best]-same {
			best = i
		}
	}
	return best
}

// item is a decision, as far as thresholds need it.
type item struct {
	// spoken is how many of the thresholds it speaks with: the lowest ones.
	spoken int
	// today is set if it speaks with today's threshold.
	today  bool
	speak  bool // was right
	weight float64
}

// group is decisions by cluster, in the order in which clusters first occur.
type group struct {
	speak, silent int
	today         float64
	clusters      [][]item
}

func newGroup(decisions []Decision, today float64) group {
	g := group{today: today}
	at := map[string]int{}
	for _, d := range decisions {
		if d.Speak {
			g.speak++
		} else {
			g.silent++
		}
		i, known := at[d.Cluster]
		if !known {
			i = len(g.clusters)
			at[d.Cluster] = i
			g.clusters = append(g.clusters, nil)
		}
		one := item{today: d.speaks(today), speak: d.Speak, weight: d.Weight}
		for one.spoken <= steps && d.speaks(threshold(one.spoken)) {
			one.spoken++
		}
		g.clusters[i] = append(g.clusters[i], one)
	}
	return g
}

// tally is the weight of some decisions, and of those that are missed and false, by threshold and with today's.
type tally struct {
	speak, silent           float64
	missed, false           [steps + 1]float64
	missedToday, falseToday float64
}

// sum is the tally of all decisions.
func (g group) sum() tally {
	all := make([]int, len(g.clusters))
	for i := range all {
		all[i] = i
	}
	return g.of(all)
}

// of is the tally of some clusters.
func (g group) of(drawn []int) (t tally) {
	var speak, silent [steps + 2]float64 // weight by how many thresholds speak
	for _, i := range drawn {
		for _, one := range g.clusters[i] {
			switch {
			case one.speak:
				speak[one.spoken] += one.weight
				t.speak += one.weight
				if !one.today {
					t.missedToday += one.weight
				}
			default:
				silent[one.spoken] += one.weight
				t.silent += one.weight
				if one.today {
					t.falseToday += one.weight
				}
			}
		}
	}
	missed, wrong := 0.0, 0.0
	for i := range t.missed {
		missed += speak[i]
		t.missed[i] = missed
		wrong += silent[steps+1-i]
		t.false[steps-i] = wrong
	}
	return t
}

func (t tally) cost(c Costs) (all curve) {
	for i := range all {
		all[i] = (c.Missed*t.missed[i] + c.False*t.false[i]) / (t.speak + t.silent)
	}
	return all
}

func (t tally) costToday(c Costs) float64 {
	return (c.Missed*t.missedToday + c.False*t.falseToday) / (t.speak + t.silent)
}

// draws is the tally of each draw of a bootstrap over clusters; none for fewer than two.
func (g group) draws() (all []tally) {
	if len(g.clusters) > 1 {
		stats.Resample(len(g.clusters), func(drawn []int) { all = append(all, g.of(drawn)) })
	}
	return all
}

func costsOf(all []tally, c Costs) (costs []curve) {
	for _, t := range all {
		costs = append(costs, t.cost(c))
	}
	return costs
}

// Points are both error rates of some decisions by threshold; none without decisions.
func Points(decisions []Decision) (points []chart.Point) {
	if len(decisions) == 0 {
		return nil
	}
	t := newGroup(decisions, 0).sum()
	for i := range t.missed {
		points = append(points, chart.Point{Threshold: threshold(i), Missed: share(t.missed[i], t.speak),
			False: share(t.false[i], t.silent)})
	}
	return points
}
