package label

import (
	"slices"
	"testing"
)

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
