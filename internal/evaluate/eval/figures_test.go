package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// judge answers a target with a verdict.
type judge func(Target, *rand.Rand) Verdict

// rowsOf is n answers of a judge, 40 in 100 of them to be answered.
func rowsOf(n int, answer judge) []Row {
	random := rand.New(rand.NewPCG(3, 9))
	var rows []Row
	for i := range n {
		r := Row{Case: fmt.Sprint(i), Cluster: fmt.Sprint(i), Lang: "en", Category: "c", Target: Silent, Calls: 1}
		if i%5 < 2 {
			r.Target = Speak
		}
		v := answer(r.Target, random)
		r.Verdict, r.Spoke = &v, v.ShouldRespond
		rows = append(rows, r)
	}
	return rows
}

func yes(c float64) Verdict { return Verdict{ShouldRespond: true, Confidence: c} }
func no(c float64) Verdict  { return Verdict{Confidence: c} }

// Judges whose figures are known by arithmetic.
func TestFigures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                         string
		judge                        judge
		missed, wrong, brier, within float64
	}{
		{"always yes", func(Target, *rand.Rand) Verdict { return yes(1) }, 0, 1, 0.6, 0},
		{"always no", func(Target, *rand.Rand) Verdict { return no(1) }, 1, 0, 0.4, 0},
		{"oracle", func(target Target, _ *rand.Rand) Verdict {
			if target == Speak {
				return yes(1)
			}
			return no(1)
		}, 0, 0, 0, 0},
		{"inverted", func(target Target, _ *rand.Rand) Verdict {
			if target == Speak {
				return no(1)
			}
			return yes(1)
		}, 1, 1, 1, 0},
		{"a guess", func(Target, *rand.Rand) Verdict { return no(0) }, 1, 0, 0.25, 0},
		{"a coin", func(_ Target, random *rand.Rand) Verdict {
			if random.IntN(2) == 0 {
				return yes(0.5)
			}
			return no(0.5)
		}, 0.5, 0.5, 0.3125, 0.05},
	} {
		f := Figure(rowsOf(1000, test.judge))
		near := func(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) <= test.within+1e-9 }
		if f.Cases != 1000 || f.Speak != 400 || f.Silent != 600 || !near(f.MissedRate, test.missed) || !near(f.FalseRate, test.wrong) || !near(f.Brier, test.brier) ||
			!near(f.BalancedAccuracy, 1-(test.missed+test.wrong)/2) || !near(f.ExpectedCost, 0.4*test.missed+2*0.6*test.wrong) {
			t.Errorf("%s: missed %v, false %v, balanced %v, brier %v, cost %v", test.name, *f.MissedRate, *f.FalseRate, *f.BalancedAccuracy, *f.Brier, *f.ExpectedCost)
		}
	}
}

// A scorer that is right as often as it says lies on the diagonal, an overconfident one beside it.
func TestReliability(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 5))
	of := func(exaggerate float64) Figures {
		var rows []Row
		for i := range 10000 {
			p := random.Float64()
			r := Row{Case: fmt.Sprint(i), Cluster: fmt.Sprint(i), Target: Silent}
			if random.Float64() < 0.5+(p-0.5)/exaggerate {
				r.Target = Speak
			}
			v := no(1 - 2*p)
			if p >= 0.5 {
				v = yes(2*p - 1)
			}
			r.Verdict, r.Spoke = &v, v.ShouldRespond
			rows = append(rows, r)
		}
		return Figure(rows)
	}
	honest, loud := of(1), of(2)
	if len(honest.Reliability) != 10 {
		t.Fatalf("%d bins", len(honest.Reliability))
	}
	for i, bin := range honest.Reliability {
		if math.Abs(bin.Score-*bin.Speak.Value) > 0.05 || bin.Speak.N != 1000 {
			t.Errorf("bin %d: score %.3f, speak %.3f of %d", i, bin.Score, *bin.Speak.Value, bin.Speak.N)
		}
		if want := 0.5 + (loud.Reliability[i].Score-0.5)/2; math.Abs(want-*loud.Reliability[i].Speak.Value) > 0.05 {
			t.Errorf("bin %d of the overconfident: score %.3f, speak %.3f, want %.3f", i, loud.Reliability[i].Score, *loud.Reliability[i].Speak.Value, want)
		}
	}
	if *honest.Brier >= *loud.Brier {
		t.Errorf("Brier of the honest %.3f, of the overconfident %.3f", *honest.Brier, *loud.Brier)
	}
}

// What a threshold would make of the same answers; what rules decided stays.
func TestThresholds(t *testing.T) {
	t.Parallel()
	half := yes(0.5)
	sure := yes(0.9)
	rows := []Row{
		{Case: "a", Target: Speak, Spoke: true, Verdict: &sure},
		{Case: "b", Target: Silent, Spoke: true, Verdict: &half},
		{Case: "c", Target: Silent, Rule: "spoke_last"},
		{Case: "d", Target: Silent, Rule: lowConfidence, Verdict: &half},
		{Case: "e", Target: Speak, Spoke: true, Rule: "addressed"},
	}
	f := Figure(rows)
	at := func(c float64) Point { return f.Thresholds[int(c*20+0.5)] }
	for _, test := range []struct{ c, missed, wrong float64 }{{0, 0, 2.0 / 3}, {0.5, 0, 2.0 / 3}, {0.55, 0, 0}, {0.9, 0, 0}, {0.95, 0.5, 0}} {
		if p := at(test.c); *p.MissedRate != test.missed || *p.FalseRate != test.wrong {
			t.Errorf("at %v: missed %v, false %v; want %v, %v", test.c, *p.MissedRate, *p.FalseRate, test.missed, test.wrong)
		}
	}
}

func TestFiguresOfNothing(t *testing.T) {
	t.Parallel()
	f := Figure([]Row{{Case: "a", Target: Either, Spoke: true}, {Case: "a", Repeat: 1, Target: Either}})
	if f.MissedRate != nil || f.BalancedAccuracy != nil || f.Brier != nil || f.Either != 2 || f.Cases != 1 || f.Flips != 1 {
		t.Errorf("%+v", f)
	}
}

// What repeats is what a prompt begins with like that of the case before.
func TestRepeatedShare(t *testing.T) {
	t.Parallel()
	f := Figure([]Row{{Case: "a", System: "12345"}, {Case: "b", System: "1234xy"}, {Case: "b", Repeat: 1, System: "1234xy"},
		{Case: "c"}, {Case: "d", System: "1234"}})
	if f.RepeatedShare == nil || *f.RepeatedShare != 0.8 {
		t.Errorf("got %v, want (4 + 4) / (6 + 4)", f.RepeatedShare)
	}
	if none := Figure([]Row{{Case: "a", System: "1"}}).RepeatedShare; none != nil {
		t.Errorf("of one prompt: %v", *none)
	}
}
