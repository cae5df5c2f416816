package agents

import (
	"fmt"
	"reflect"
	"testing"
)

func TestSampled(t *testing.T) {
	t.Parallel()
	sampled := func(share float64) (keys []string) {
		for i := range 10_000 {
			if key := fmt.Sprint("run/", i); Sampled(key, share) {
				keys = append(keys, key)
			}
		}
		return keys
	}
	if none, all := len(sampled(0)), len(sampled(1)); none != 0 || all != 10_000 {
		t.Errorf("%d of none, %d of all", none, all)
	}
	fifth := sampled(0.2)
	if n := len(fifth); n < 1800 || n > 2200 || !reflect.DeepEqual(fifth, sampled(0.2)) {
		t.Errorf("%d of 10000 for 0.2", n)
	}
}
