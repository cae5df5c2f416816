package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMcNemar(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		b, c int
		want float64
	}{
		{10, 2, 158.0 / 4096}, {2, 10, 158.0 / 4096}, {0, 0, 1}, {1, 1, 1}, {0, 5, 2.0 / 32}, {6, 6, 1},
	} {
		if got := McNemar(test.b, test.c); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("McNemar(%d, %d) = %v, want %v", test.b, test.c, got, test.want)
		}
	}
}

func TestHolm(t *testing.T) {
	t.Parallel()
	got := Holm([]float64{0.04, 0.01, 0.03, 0.6})
	for i, want := range []float64{0.09, 0.04, 0.09, 0.6} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("Holm = %v", got)
			break
		}
	}
}

// Known intervals: 10 of 20, and the ends, where the textbook interval p ± z·s fails.
func TestWilson(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		k, n      int
		low, high float64
	}{
		{10, 20, 0.29930, 0.70070}, {0, 10, 0, 0.27753}, {10, 10, 0.72247, 1}, {1, 100, 0.00177, 0.05449},
	} {
		r := NewRate(test.k, test.n)
		if math.Abs(*r.Low-test.low) > 5e-5 || math.Abs(*r.High-test.high) > 5e-5 {
			t.Errorf("%d of %d: %v to %v, want %v to %v", test.k, test.n, *r.Low, *r.High, test.low, test.high)
		}
	}
	if r := NewRate(0, 0); r.Value != nil || r.Low != nil || r.High != nil {
		t.Errorf("0 of 0 is %+v", r)
	}
}

// The interval holds the true share in 93 to 97 of 100 draws.
func TestWilsonCovers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	for _, p := range []float64{0.1, 0.3, 0.5} {
		covered := 0
		const draws = 2000
		for range draws {
			k := 0
			for range 96 {
				if random.Float64() < p {
					k++
				}
			}
			if r := NewRate(k, 96); *r.Low <= p && p <= *r.High {
				covered++
			}
		}
		if share := float64(covered) / draws; share < 0.93 || share > 0.97 {
			t.Errorf("share %v is covered in %.1f %% of draws", p, 100*share)
		}
	}
}

func TestBootstrapDrawsClusters(t *testing.T) {
	t.Parallel()
	type sum struct{ n, total float64 }
	plus := func(a, b sum) sum { return sum{a.n + b.n, a.total + b.total} }
	mean := func(s sum) (float64, bool) { return s.total / s.n, s.n > 0 }
	var alone []sum
	for i := range 100 {
		alone = append(alone, sum{1, float64(i % 2)})
	}
	if got := Bootstrap(alone, plus, mean); got == nil || got.Low < 0.38 || got.Low > 0.45 || got.High < 0.55 || got.High > 0.62 {
		t.Errorf("a hundred clusters: %v", got)
	}
	if got := Bootstrap([]sum{{50, 0}, {50, 50}}, plus, mean); got == nil || *got != (Interval{0, 1}) {
		t.Errorf("two clusters: %v", got)
	}
	if *Bootstrap(alone, plus, mean) != *Bootstrap(alone, plus, mean) {
		t.Error("the same items have two intervals")
	}
	if got := Bootstrap(alone[:1], plus, mean); got != nil {
		t.Errorf("one cluster has an interval: %v", got)
	}
}
