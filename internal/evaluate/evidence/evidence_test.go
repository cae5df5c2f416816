package label

import (
	"math"
	"slices"
	"testing"

	"myao/internal/stats"
)

func human(t Truth) Label                     { return Label{Kind: Human, Truth: t, Weight: 1} }
func evidence(k Kind, w float64) Label        { return Label{Kind: k, Truth: k.Truth(), Weight: w} }
func precision(k, n int) Precision            { return Precision{stats.NewRate(k, n)} }
func says(t Truth, w float64, k Kind) Finding { return Finding{t, w, k} }

// What labels come to, with precisions that were measured or not.
func TestFind(t *testing.T) {
	t.Parallel()
	measured := Precisions{
		Mentioned: precision(4, 4), Answered: precision(3, 5), AnswerNow: precision(7, 10), Unanswered: precision(4, 5), Welcome: precision(4, 5), Unwelcome: precision(8, 10),
	}
	refuted := Precisions{Unanswered: precision(3, 5), AnswerNow: precision(69, 100)}
	for _, test := range []struct {
		name   string
		by     Precisions
		labels []Label
		want   Finding
	}{
		{"no labels", nil, nil, Finding{}},
		{"evidence alone", nil, []Label{evidence(Answered, 0.6)}, says(Silent, 0.6, Answered)},
		{"the weightiest wins, in any order", nil, []Label{evidence(Answered, 0.6), evidence(AnswerNow, 1), evidence(Mentioned, 0.9)}, says(Speak, 1, AnswerNow)},
		{"a person wins", nil, []Label{evidence(AnswerNow, 1), human(Silent)}, says(Silent, 1, Human)},
		{"a person says either", nil, []Label{human(Either), evidence(AnswerNow, 1)}, says(Either, 1, Human)},
		{"equal weights that contradict", nil, []Label{evidence(Welcome, 0.9), evidence(Unwelcome, 0.9)}, Finding{}},
		{"equal weights that agree", nil, []Label{evidence(Mentioned, 0.9), evidence(Welcome, 0.9)}, says(Speak, 0.9, Mentioned)},
		{"the lighter one says nothing where the weightiest contradict", nil, []Label{evidence(Welcome, 0.9), evidence(Unwelcome, 0.9), evidence(Answered, 0.6)}, Finding{}},
		{"waiting was right", nil, []Label{evidence(Waited, 0.6)}, says(Wait, 0.6, Waited)},
		{"unanswered alone", nil, []Label{evidence(Unanswered, 0.3)}, Finding{}},
		{"unanswered beside something", nil, []Label{evidence(Unanswered, 0.3), evidence(Answered, 0.2)}, says(Silent, 0.2, Answered)},
		{"unanswered, confirmed", measured, []Label{evidence(Unanswered, 0.3)}, says(Speak, 0.8, Unanswered)},
		{"unanswered, refuted", refuted, []Label{evidence(Unanswered, 0.3)}, Finding{}},
		{"below 0.7", measured, []Label{evidence(Answered, 0.6)}, Finding{}},
		{"just below 0.7", refuted, []Label{evidence(AnswerNow, 1)}, Finding{}},
		{"0.7", measured, []Label{evidence(AnswerNow, 1)}, says(Speak, 0.7, AnswerNow)},
		{"too few were checked", measured, []Label{evidence(Mentioned, 0.9)}, says(Speak, 0.9, Mentioned)},
		{"measured weights that are equal", measured, []Label{evidence(Welcome, 0.7), evidence(Unwelcome, 1)}, Finding{}},
	} {
		if got := test.by.Find(test.labels); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	all := [][]Label{
		{human(Speak), evidence(Mentioned, 0.9), evidence(Unanswered, 0.3)},
		{evidence(Mentioned, 0.9), human(Speak)},
		{human(Speak), evidence(Mentioned, 0.9)},
		{human(Silent), evidence(Mentioned, 0.9), evidence(Waited, 0.6)},
		{human(Either), evidence(Mentioned, 0.9)}, // agrees and disagrees with nothing
		{evidence(Mentioned, 0.9)},                // nobody has checked it
		{human(Silent), evidence(Answered, 0.6)},
	}
	got := Measure(all)
	for kind, want := range map[Kind][2]int{Mentioned: {3, 4}, Unanswered: {1, 1}, Answered: {1, 1}, AnswerNow: {0, 0}, Waited: {0, 0}, Welcome: {0, 0}, Unwelcome: {0, 0}} {
		if p := got[kind]; p.K != want[0] || p.N != want[1] {
			t.Errorf("%s: %d of %d, want %d of %d", kind, p.K, p.N, want[0], want[1])
		}
	}
	// By hand, with z² = 3.8415: the centre is (0.75 + z²/8) / (1 + z²/4) = 0.62750, the margin 0.32684.
	if p := got[Mentioned]; math.Abs(*p.Low-0.30064) > 5e-5 || math.Abs(*p.High-0.95441) > 5e-5 {
		t.Errorf("interval %v to %v", *p.Low, *p.High)
	}
}

// Every beginning of the order takes about as many of each level, yes and no apart, and one seed gives one order.
func TestSpread(t *testing.T) {
	t.Parallel()
	var verdicts []Verdict
	add := func(n int, v Verdict) {
		for range n {
			verdicts = append(verdicts, v)
		}
	}
	add(100, Verdict{false, 0.95})
	add(10, Verdict{false, 0.3})
	add(3, Verdict{true, 1})
	add(40, Verdict{true, 0.8})
	add(2, Verdict{true, 0})
	order := Spread(verdicts, 7)
	if !slices.Equal(order, Spread(verdicts, 7)) || slices.Equal(order, Spread(verdicts, 8)) {
		t.Error("the order is not the seed's")
	}
	for n, want := range map[int]map[int]int{4: {4: 1, 1: 1, 9: 1, 5: 1}, 8: {4: 2, 1: 2, 9: 2, 5: 2}, 11: {4: 3, 1: 3, 9: 3, 5: 2}, 155: {4: 100, 1: 10, 9: 43, 5: 2}} {
		got := map[int]int{}
		seen := map[int]bool{}
		for _, i := range order[:n] {
			got[verdicts[i].level()]++
			seen[i] = true
		}
		if len(seen) != n {
			t.Errorf("of the first %d some come twice", n)
		}
		for level, count := range want {
			if got[level] != count {
				t.Errorf("of the first %d, %d are of level %d; want %d", n, got[level], level, count)
			}
		}
	}
}
