package eval

import (
	"maps"
	"math"
	"slices"
	"testing"
)

func TestWhereItBroke(t *testing.T) {
	t.Parallel()
	verdict := func(speak bool, confidence float64, addressee, gist string) *Verdict {
		return &Verdict{ShouldRespond: speak, Confidence: confidence, Addressee: addressee, Gist: gist}
	}
	var rows []Row
	want := map[Link]int{}
	for _, test := range []struct {
		why  string
		row  Row
		want Link
	}{
		{"right to speak", Row{Target: Speak, Spoke: true, Verdict: verdict(true, 0.1, "someone", "")}, ""},
		{"right to be silent", Row{Target: Silent, Rule: "too_old"}, ""},
		{"not scored", Row{Target: Either, Verdict: verdict(false, 1, "someone", "")}, ""},
		{"missed by a rule", Row{Target: Speak, Rule: "spoke_last"}, LinkRule},
		{"missed without a verdict", Row{Target: Speak, Error: "no JSON"}, LinkVerdict},
		{"missed as somebody else's", Row{Target: Speak, Verdict: verdict(false, 0.9, "someone", "the answer")}, LinkAddressee},
		{"missed as nobody's", Row{Target: Speak, Verdict: verdict(false, 0.9, "nobody", "")}, LinkAddressee},
		{"missed with nothing to add", Row{Target: Speak, Verdict: verdict(false, 0.9, "everyone", "")}, LinkGist},
		{"missed in spite of all", Row{Target: Speak, Verdict: verdict(false, 0.9, "me", "the answer")}, LinkReason},
		{"missed, and nothing told", Row{Target: Speak, Verdict: verdict(false, 0.9, "", "")}, LinkReason},
		{"missed by the threshold", Row{Target: Speak, Rule: lowConfidence, Verdict: verdict(true, 0.3, "someone", "")}, LinkThreshold},
		{"missed after a yes", Row{Target: Speak, Verdict: verdict(true, 0.9, "me", "the answer")}, LinkTiming},
		{"false to a mention", Row{Target: Silent, Spoke: true, Rule: ruleAddressed}, LinkRule},
		{"false as its own", Row{Target: Silent, Spoke: true, Verdict: verdict(true, 0.9, "me", "the answer")}, LinkAddressee},
		{"false with something to add", Row{Target: Silent, Spoke: true, Verdict: verdict(true, 0.9, "everyone", "the answer")}, LinkGist},
		{"false though somebody else's", Row{Target: Silent, Spoke: true, Verdict: verdict(true, 0.9, "someone", "the answer")}, LinkReason},
		{"false with nothing to add", Row{Target: Silent, Spoke: true, Verdict: verdict(true, 0.9, "everyone", "")}, LinkReason},
		{"false in doubt", Row{Target: Silent, Spoke: true, Verdict: verdict(true, 0.4, "me", "the answer")}, LinkThreshold},
	} {
		if got := test.row.BrokeAt(); got != test.want {
			t.Errorf("%s: %q, want %q", test.why, got, test.want)
		}
		if test.row.Case = test.why; test.want != "" {
			want[test.want]++
		}
		rows = append(rows, test.row)
	}
	f := Figure(rows)
	total := 0
	for _, n := range want {
		total += n
	}
	if !maps.Equal(f.BrokeAt, want) || len(f.Wrong) != total || f.Missed+f.False != total ||
		!slices.Contains(f.Wrong, Wrong{Case: "false in doubt", Target: Silent, BrokeAt: LinkThreshold}) {
		t.Errorf("the figures say %v and %v, want %v", f.BrokeAt, f.Wrong, want)
	}
}

// One number charges both errors, and right answers that come too early or too late.
func TestOverallCost(t *testing.T) {
	t.Parallel()
	delayed := func(seconds int) Row {
		return Row{Target: Speak, Spoke: true, Verdict: &Verdict{ShouldRespond: true, Confidence: 1, DelaySeconds: &seconds}}
	}
	played := func(timing Timing, late float64) Row {
		at := 1000.0
		row := delayed(600) // which the window counts already
		row.At, row.Timing, row.LateSeconds = &at, timing, late
		return row
	}
	for name, test := range map[string]struct {
		rows []Row
		want float64
	}{
		"missed":             {[]Row{{Target: Speak}}, 1},
		"false":              {[]Row{{Target: Silent, Spoke: true}}, 2},
		"silent":             {[]Row{{Target: Silent}}, 0},
		"at once":            {[]Row{delayed(0)}, 0},
		"30 s":               {[]Row{delayed(30)}, 0},
		"two minutes":        {[]Row{delayed(31), delayed(120)}, 0.1},
		"ten minutes":        {[]Row{delayed(121), delayed(600)}, 0.25},
		"half an hour":       {[]Row{delayed(601), delayed(1800)}, 0.5},
		"as good as missed":  {[]Row{delayed(1801)}, 1},
		"to a mention":       {[]Row{{Target: Speak, Spoke: true, Rule: ruleAddressed, Verdict: delayed(600).Verdict}}, 0},
		"in its window":      {[]Row{played(InTime, 0)}, 0},
		"before its window":  {[]Row{played(Early, 0)}, 0.5},
		"after its window":   {[]Row{played(Late, 100)}, 0.1},
		"their mean":         {[]Row{{Target: Speak}, {Target: Silent, Spoke: true}, delayed(600), {Target: Silent}}, 3.25 / 4},
		"either is not told": {[]Row{{Target: Speak}, {Target: Either, Spoke: true}}, 1},
	} {
		got := Figure(test.rows).OverallCost
		if got == nil || math.Abs(*got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if got := Figure([]Row{{Target: Either}}).OverallCost; got != nil {
		t.Errorf("without a scored answer it is %v", *got)
	}
}
