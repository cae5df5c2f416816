package tune

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"myao/internal/evaluate/stats"
)

// some is n decisions with the same verdict and truth, each a cluster of its own.
func some(n int, channel string, speak, wanted bool, confidence, weight float64) (all []Decision) {
	for i := range n {
		all = append(all, Decision{channel, fmt.Sprint(channel, speak, wanted, confidence, i), wanted, confidence, speak, weight})
	}
	return all
}

func join(parts ...[]Decision) (all []Decision) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

const (
	yes, no       = true, false
	speak, silent = true, false
)

func near(got *float64, want float64) bool {
	if got == nil {
		return math.IsNaN(want)
	}
	return math.Abs(*got-want) < 1e-12
}

// Thresholds and rates that can be worked out by hand.
func TestThreshold(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	// Above 0.5, ten are missed; up to 0.5, ten are false.
	torn := func(weight float64) []Decision {
		return join(some(30, "a", speak, yes, 0.9, 1), some(10, "a", speak, yes, 0.5, 1), some(30, "a", silent, no, 0.9, 1), some(10, "a", silent, yes, 0.5, weight))
	}
	const none = -1
	for _, test := range []struct {
		name          string
		decisions     []Decision
		costs         Costs
		best          float64
		missed, wrong float64 // with the best, or today's where there is none
	}{
		{"a clean cut", join(some(40, "a", speak, yes, 0.8, 1), some(40, "a", silent, yes, 0.6, 1)), Costs{1, 2}, 0.61, 0, 0},
		{"next to each other", join(some(30, "a", speak, yes, 0.29, 1), some(30, "a", silent, yes, 0.28, 1)), Costs{1, 2}, 0.29, 0, 0},
		{"never", join(some(30, "a", speak, no, 0.9, 1), some(30, "a", silent, yes, 0.9, 1)), Costs{1, 2}, 0.91, 1, 0},
		{"nothing helps against certainty", join(some(30, "a", speak, yes, 0.9, 1), some(30, "a", silent, yes, 1, 1)), Costs{1, 2}, 0, 0, 1},
		{"a false one costs more", torn(1), Costs{1, 2}, 0.51, 0.25, 0},
		{"a missed one costs more", torn(1), Costs{2, 1}, 0, 0, 0.25},
		{"a tie takes the lowest", torn(1), Costs{1, 1}, 0, 0, 0.25},
		{"doubtful labels weigh less", torn(0.4), Costs{1, 2}, 0, 0, 4.0 / 34},
		{"a tie of weights takes the lowest", torn(0.5), Costs{1, 2}, 0, 0, 5.0 / 35},
		{"too few to speak", join(some(29, "a", speak, yes, 0.8, 1), some(300, "a", silent, yes, 0.6, 1)), Costs{1, 2}, none, 0, 1},
		{"too few to be silent", join(some(300, "a", speak, no, 0.8, 1), some(29, "a", silent, yes, 0.6, 1)), Costs{1, 2}, none, 1, 1},
		{"nothing", nil, Costs{1, 2}, none, nan, nan},
	} {
		whole, _ := Threshold(test.decisions, test.costs, map[string]float64{"": 0, "a": 0})
		got, best := whole.Best, float64(none)
		if got == nil {
			got = &whole.Today
		} else {
			best = got.Threshold
		}
		if best != test.best || !near(got.MissedRate, test.missed) || !near(got.FalseRate, test.wrong) {
			t.Errorf("%s: %v with missed %v, false %v; want %v with %v, %v", test.name, best, got.MissedRate, got.FalseRate, test.best, test.missed, test.wrong)
		}
	}
}

// A channel with few labels is drawn to the whole. The costs of a decision, up to 0.5, up to 0.9 and above:
// of the whole of a and b 90/155, 15/155 and 55/155; of b 10/75, 15/75 and 15/75, so that alone it would take 0.
func TestShrinkage(t *testing.T) {
	t.Parallel()
	a := join(some(40, "a", speak, yes, 0.9, 1), some(40, "a", silent, yes, 0.5, 1))
	b := func(n int) []Decision {
		return join(some(n, "b", speak, yes, 0.5, 1), some(5, "b", silent, yes, 0.5, 1), some(55, "b", silent, no, 0.9, 1))
	}
	for _, test := range []struct {
		name          string
		decisions     []Decision
		own, best     float64
		cost          float64
		missed, wrong float64 // of its own decisions
	}{
		{"half its own", b(15), 0.5, 0.51, 0.5*15/75 + 0.5*15/155, 1, 0},       // 0.357, 0.148, 0.277
		{"nearly its own", b(27), 0.9, 0, 0.9*10/87 + 0.1*90/167, 0, 5.0 / 60}, // 0.157, 0.296, 0.319
		{"its own", b(30), 1, 0, 10.0 / 90, 0, 5.0 / 60},                       // 10/90, 30/90, 30/90
		// the whole's: 180/130, 100/130, 0 above 0.7
		{"no label to speak", some(50, "b", silent, yes, 0.7, 1), 0, 0.71, 0, math.NaN(), 0},
	} {
		whole, channels := Threshold(join(a, test.decisions), Costs{1, 2}, map[string]float64{"": 0, "a": 0, "b": 0.6})
		got := channels["b"]
		if math.Abs(got.Own-test.own) > 1e-12 || got.Best.Threshold != test.best || !near(got.Best.MissedRate, test.missed) || !near(got.Best.FalseRate, test.wrong) || got.Today.Threshold != 0.6 || !near(got.Best.ExpectedCost, test.cost) {
			t.Errorf("%s: own %v, best %+v; the whole's %+v", test.name, got.Own, got.Best, whole.Best)
		}
		if whole.Own != 1 || channels["a"].Own != 1 || channels["a"].Best.Threshold != 0.51 {
			t.Errorf("%s: a is not its own: %+v", test.name, channels["a"])
		}
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	var alike, single []Decision
	for i := range 40 {
		alike = append(alike, Decision{"a", fmt.Sprint(i), yes, 0.8, speak, 1}, Decision{"a", fmt.Sprint(i), yes, 0.6, silent, 1})
		single = append(single, Decision{"a", "one", yes, 0.8, speak, 1}, Decision{"a", "one", yes, 0.6, silent, 1})
	}
	today := map[string]float64{"": 0.6, "a": 0.7}
	whole, channels := Threshold(alike, Costs{1, 2}, today)
	for name, got := range map[string]*stats.Interval{"best": whole.Best.Interval, "channel": channels["a"].Best.Interval} {
		if got == nil || *got != (stats.Interval{Low: 0.61, High: 0.61}) {
			t.Errorf("clusters that are alike, %s: %v", name, got)
		}
	}
	if got := *whole.Today.FalseInterval; got != (stats.Interval{Low: 1, High: 1}) || *channels["a"].Today.FalseInterval != (stats.Interval{}) {
		t.Errorf("today: %v, in the channel %v", got, channels["a"].Today.FalseInterval)
	}
	if whole, _ := Threshold(single, Costs{1, 2}, today); whole.Best.Threshold != 0.61 || whole.Best.Interval != nil || whole.Best.FalseInterval != nil {
		t.Errorf("one cluster has intervals: %+v", whole.Best)
	}

	// Errors cost 60 up to 0.5, 56 up to 0.9 and 80 above 0.95: in many draws the first two change places. The interval
	// of the false rate, 0.3 of 100, is about 0.3 ± 1.96·√(0.3·0.7/100).
	torn := join(some(60, "a", speak, yes, 0.9, 1), some(20, "a", speak, yes, 0.5, 1), some(70, "a", silent, no, 0.9, 1), some(12, "a", silent, yes, 0.5, 1), some(18, "a", silent, yes, 0.95, 1))
	whole, _ = Threshold(torn, Costs{1, 2}, map[string]float64{})
	if got := whole.Best; got.Threshold != 0.51 || *got.Interval != (stats.Interval{Low: 0, High: 0.51}) {
		t.Errorf("torn: %v, %v", got.Threshold, got.Interval)
	}
	if got := whole.Today.FalseInterval; math.Abs(got.Low-0.21) > 0.02 || math.Abs(got.High-0.39) > 0.02 {
		t.Errorf("the false rate is from %v to %v", got.Low, got.High)
	}
	if again, _ := Threshold(torn, Costs{1, 2}, map[string]float64{}); !reflect.DeepEqual(whole, again) {
		t.Error("the same decisions give another answer")
	}
}

func TestPoints(t *testing.T) {
	t.Parallel()
	points := Points(join(some(3, "a", speak, yes, 0.5, 1), some(1, "a", speak, no, 0.5, 1), some(2, "a", silent, yes, 0.2, 0.5), some(1, "a", silent, no, 0.2, 1)))
	if len(points) != 101 {
		t.Fatalf("%d points", len(points))
	}
	for i, want := range map[int][2]float64{0: {0.25, 0.5}, 20: {0.25, 0.5}, 21: {0.25, 0}, 50: {0.25, 0}, 51: {1, 0}, 100: {1, 0}} {
		if p := points[i]; !near(p.Missed, want[0]) || !near(p.False, want[1]) || p.Threshold != float64(i)/100 {
			t.Errorf("at %v: %v, %v; want %v", p.Threshold, *p.Missed, *p.False, want)
		}
	}
	if got := Points(nil); got != nil {
		t.Errorf("points of nothing: %v", got)
	}
}
