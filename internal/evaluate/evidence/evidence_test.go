package evidence

import (
	"math"
	"testing"

	"myao/internal/conversation/label"
	"myao/internal/evaluate/stats"
)

func human(t label.Truth) label.Label { return label.Label{Kind: label.Human, Truth: t, Weight: 1} }
func found(k label.Kind, w float64) label.Label {
	return label.Label{Kind: k, Truth: k.Truth(), Weight: w}
}
func precision(k, n int) Precision { return Precision{stats.NewRate(k, n)} }
func says(t label.Truth, w float64, k label.Kind) Finding {
	return Finding{t, w, k}
}

// What labels come to, with precisions that were measured or not.
func TestFind(t *testing.T) {
	t.Parallel()
	measured := Precisions{
		label.Mentioned: precision(4, 4), label.Answered: precision(3, 5), label.AnswerNow: precision(7, 10), label.Unanswered: precision(4, 5), label.Welcome: precision(4, 5), label.Unwelcome: precision(8, 10),
	}
	refuted := Precisions{label.Unanswered: precision(3, 5), label.AnswerNow: precision(69, 100)}
	for _, test := range []struct {
		name   string
		by     Precisions
		labels []label.Label
		want   Finding
	}{
		{"no labels", nil, nil, Finding{}},
		{"evidence alone", nil, []label.Label{found(label.Answered, 0.6)}, says(label.Silent, 0.6, label.Answered)},
		{"the weightiest wins, in any order", nil, []label.Label{found(label.Answered, 0.6), found(label.AnswerNow, 1), found(label.Mentioned, 0.9)}, says(label.Speak, 1, label.AnswerNow)},
		{"a person wins", nil, []label.Label{found(label.AnswerNow, 1), human(label.Silent)}, says(label.Silent, 1, label.Human)},
		{"a person says either", nil, []label.Label{human(label.Either), found(label.AnswerNow, 1)}, says(label.Either, 1, label.Human)},
		{"equal weights that contradict", nil, []label.Label{found(label.Welcome, 0.9), found(label.Unwelcome, 0.9)}, Finding{}},
		{"equal weights that agree", nil, []label.Label{found(label.Mentioned, 0.9), found(label.Welcome, 0.9)}, says(label.Speak, 0.9, label.Mentioned)},
		{"the lighter one says nothing where the weightiest contradict", nil, []label.Label{found(label.Welcome, 0.9), found(label.Unwelcome, 0.9), found(label.Answered, 0.6)}, Finding{}},
		{"waiting was right", nil, []label.Label{found(label.Waited, 0.6)}, says(label.Wait, 0.6, label.Waited)},
		{"unanswered alone", nil, []label.Label{found(label.Unanswered, 0.3)}, Finding{}},
		{"unanswered beside something", nil, []label.Label{found(label.Unanswered, 0.3), found(label.Answered, 0.2)}, says(label.Silent, 0.2, label.Answered)},
		{"unanswered, confirmed", measured, []label.Label{found(label.Unanswered, 0.3)}, says(label.Speak, 0.8, label.Unanswered)},
		{"unanswered, refuted", refuted, []label.Label{found(label.Unanswered, 0.3)}, Finding{}},
		{"below 0.7", measured, []label.Label{found(label.Answered, 0.6)}, Finding{}},
		{"just below 0.7", refuted, []label.Label{found(label.AnswerNow, 1)}, Finding{}},
		{"0.7", measured, []label.Label{found(label.AnswerNow, 1)}, says(label.Speak, 0.7, label.AnswerNow)},
		{"too few were checked", measured, []label.Label{found(label.Mentioned, 0.9)}, says(label.Speak, 0.9, label.Mentioned)},
		{"measured weights that are equal", measured, []label.Label{found(label.Welcome, 0.7), found(label.Unwelcome, 1)}, Finding{}},
	} {
		if got := test.by.Find(test.labels); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	all := [][]label.Label{
		{human(label.Speak), found(label.Mentioned, 0.9), found(label.Unanswered, 0.3)},
		{found(label.Mentioned, 0.9), human(label.Speak)},
		{human(label.Speak), found(label.Mentioned, 0.9)},
		{human(label.Silent), found(label.Mentioned, 0.9), found(label.Waited, 0.6)},
		{human(label.Either), found(label.Mentioned, 0.9)}, // agrees and disagrees with nothing
		{found(label.Mentioned, 0.9)},                      // nobody has checked it
		{human(label.Silent), found(label.Answered, 0.6)},
	}
	got := Measure(all)
	for kind, want := range map[label.Kind][2]int{label.Mentioned: {3, 4}, label.Unanswered: {1, 1}, label.Answered: {1, 1}, label.AnswerNow: {0, 0}, label.Waited: {0, 0}, label.Welcome: {0, 0}, label.Unwelcome: {0, 0}} {
		if p := got[kind]; p.K != want[0] || p.N != want[1] {
			t.Errorf("%s: %d of %d, want %d of %d", kind, p.K, p.N, want[0], want[1])
		}
	}
	// By hand, with z² = 3.8415: the centre is (0.75 + z²/8) / (1 + z²/4) = 0.62750, the margin 0.32684.
	if p := got[label.Mentioned]; math.Abs(*p.Low-0.30064) > 5e-5 || math.Abs(*p.High-0.95441) > 5e-5 {
		t.Errorf("interval %v to %v", *p.Low, *p.High)
	}
}
