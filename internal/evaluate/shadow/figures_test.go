package shadow

import (
	"fmt"
	"math"
	"testing"

	"myao/internal/conversation/label"
)

func TestKappa(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bothSpeak, onlyFirst, onlySecond, bothSilent int
		want                                         float64 // NaN: none
	}{
		{20, 5, 10, 15, 0.4}, // the usual example of text books
		{45, 15, 25, 15, 0.1304},
		{25, 35, 5, 35, 0.2593},
		{10, 0, 0, 10, 1},
		{0, 10, 10, 0, -1},
		{5, 5, 5, 5, 0},
		{1, 9, 0, 0, 0}, // one of them always speaks
		{10, 0, 0, 0, math.NaN()},
		{0, 0, 0, 7, math.NaN()},
		{0, 0, 0, 0, math.NaN()},
	} {
		got := Kappa(c.bothSpeak, c.onlyFirst, c.onlySecond, c.bothSilent)
		if (got == nil) != math.IsNaN(c.want) || got != nil && math.Abs(*got-c.want) > 0.00005 {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	said := func(judge string, first, second bool, truth label.Truth) Case {
		cost := 0.5
		return Case{
			Judge: judge, First: Verdict{Speaks: first, Model: "m1", TokensIn: 10, TokensOut: 1, Cost: &cost}, Second: Verdict{Speaks: second, Model: "m2", TokensIn: 20, TokensOut: 2}, Truth: truth,
		}
	}
	failed := said("small", true, false, label.Speak)
	failed.Failed = "auth"
	got := Compare([]Case{
		said("small", true, true, label.Speak), said("small", false, false, ""), said("small", true, false, label.Silent), said("small", false, true, label.Wait),
		said("small", false, true, label.Silent), failed, said("large", true, true, label.Silent),
	})
	if len(got) != 2 || got[0].Judge != "large" {
		t.Fatalf("got %+v", got)
	}
	f := got[1]
	if want := "5 opinions, map[auth:1] failed, 1+1 agree, only the first 1, only it 2, 2 of 5, right 2 of 3, the first 2 of 3, 120+12 tokens of [m2], the first 60+6 at 3"; want != fmt.Sprintf(
		"%d opinions, %v failed, %d+%d agree, only the first %d, only it %d, %d of %d, right %d of %d, the first %d of %d, %d+%d tokens of %v, the first %d+%d at %v",
		f.Opinions, f.Failed, f.BothSpeak, f.BothSilent, f.OnlyFirst, f.OnlySecond, f.Agreement.K, f.Agreement.N, f.Right.K, f.Right.N, f.FirstRight.K, f.FirstRight.N, f.Spent.TokensIn, f.Spent.TokensOut, f.Models, f.FirstSpent.TokensIn, f.FirstSpent.TokensOut, *f.FirstSpent.Cost) {
		t.Errorf("got %+v, want %s", f, want)
	}
	if f.Spent.Cost != nil {
		t.Errorf("it costs %v at an unknown price", *f.Spent.Cost)
	}
	if k := Kappa(1, 1, 2, 1); *f.Kappa != *k || got[0].Kappa != nil || got[0].Right.K != 0 || got[0].Right.N != 1 {
		t.Errorf("kappa %v and %v, right %+v", f.Kappa, got[0].Kappa, got[0].Right)
	}
	if none := Compare(nil); len(none) != 0 {
		t.Errorf("of nothing: %+v", none)
	}
}
