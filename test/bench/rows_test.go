package bench

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/test/testserver"
)

func TestRowsCompareWithTheirGoals(t *testing.T) {
	for _, c := range []struct {
		row   row
		value float64
		ratio float64 // NaN: none
		holds bool
	}{
		{newRow("a", "ms", atMost(5, "ms"), 9, 1, 4), 4, math.NaN(), true},
		{newRow("b", "ms", atMost(5, "ms"), 9, 6), 7.5, math.NaN(), false},
		{newRow("c", "calls", exactly(1, "call"), 1), 1, math.NaN(), true},
		{newRow("d", "calls", exactly(1, "call"), 2), 2, math.NaN(), false},
		{newRow("e", "calls", exactly(1, "call")), math.NaN(), math.NaN(), false},
		{newRatioRow("f", "/s", atLeast(10, "×"), []float64{100, 50, 90}, []float64{10, 1, 10}), 90, 10, true},
		{newRatioRow("g", "/s", atLeast(10, "×"), []float64{100, 50, 90}, []float64{10, 10, 10}), 90, 9, false},
	} {
		if got := c.row.Value; got != c.value && !(math.IsNaN(got) && math.IsNaN(c.value)) {
			t.Errorf("%s: value %v, want %v", c.row.Name, got, c.value)
		}
		if (c.row.Ratio == nil) != math.IsNaN(c.ratio) || c.row.Ratio != nil && *c.row.Ratio != c.ratio {
			t.Errorf("%s: ratio %v, want %v", c.row.Name, c.row.Ratio, c.ratio)
		}
		if c.row.Holds != c.holds {
			t.Errorf("%s with %v: holds %v", c.row.Name, c.row.Value, c.row.Holds)
		}
	}
	path := filepath.Join(t.TempDir(), "bench.json")
	if err := write(path, []row{newRow("e", "calls", exactly(1, "call"))}); err == nil || !strings.Contains(err.Error(), "e") {
		t.Errorf("a row without a value was written: %v", err)
	}
	testserver.Must(t, write(path, []row{newRow("a", "ms", atMost(5, "ms"), 4), newRatioRow("f", "/s", atLeast(10, "×"), []float64{100}, []float64{10})}))
	var rows []map[string]any
	if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, &rows) != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	for _, r := range rows {
		for _, key := range []string{"name", "value", "unit", "floor", "ratio", "goal", "holds"} {
			if _, ok := r[key]; !ok {
				t.Errorf("%v has no %s", r, key)
			}
		}
	}
}

func TestQuantile(t *testing.T) {
	var took []time.Duration
	for i := range 100 {
		took = append(took, time.Duration(100-i))
	}
	for q, want := range map[float64]time.Duration{0.5: 50, 0.99: 99, 1: 100, 0: 1} {
		if got := quantile(took, q); got != want {
			t.Errorf("quantile %v: %d, want %d", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("the quantile of no values is not 0")
	}
}

// An open loop does not wait for earlier calls, so delays they cause count as latency.
func TestOpenLoopDoesNotWait(t *testing.T) {
	intended := make([]time.Time, 20)
	var begun sync.WaitGroup
	begun.Add(len(intended))
	openLoop(t.Context(), 1000, len(intended), func(i int, at time.Time) {
		intended[i] = at
		begun.Done()
		begun.Wait() // no call ends before all have begun
	})
	for i, at := range intended {
		if got, want := at.Sub(intended[0]), time.Duration(i)*time.Millisecond; got != want {
			t.Errorf("call %d was intended after %s, want %s", i, got, want)
		}
	}
}
