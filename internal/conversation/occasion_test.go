package conversation

import (
	"encoding/json"
	"testing"
)

// The states of running conversations, the outbox and the ledger have occasions as texts.
func TestOccasion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Occasion{
		"": {}, "step/s/1": {Step: "s/1"}, "promise/p/12": {Promise: "p", Number: 12},
	} {
		if got, err := ParseOccasion(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q is %+v, %v, and written as %q; want %+v", text, got, err, got, want)
		}
		if got := OccasionOf("T/C//1.000001//" + text); got != want {
			t.Errorf("a key that ends with %q is of %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{"step/", "promise/p", "promise//1", "promise/p/x", "other/p"} {
		if got, err := ParseOccasion(text); err == nil {
			t.Errorf("%q is %+v, want an error", text, got)
		}
	}
	body, err := json.Marshal(Work{Occasion: Occasion{Promise: "p", Number: 2}})
	var back Work
	if err != nil || string(body) != `{"occasion":"promise/p/2"}` || json.Unmarshal(body, &back) != nil || back.Occasion.Number != 2 {
		t.Errorf("written as %s, %v, read as %+v", body, err, back)
	}
	if body, err := json.Marshal(Work{}); string(body) != "{}" {
		t.Errorf("no occasion is written as %s, %v", body, err)
	}
}
