// Package evidence says how far the labels of hindsight can be believed: by how often people, who labelled the same
// decisions, agree with each kind, and what is true of a decision by all of its labels.
package evidence

import (
	"slices"

	"myao/internal/conversation/label"
	"myao/internal/evaluate/stats"
)

const (
	// MinChecked is how many decisions of a kind of evidence people must have labelled, too, before its measured
	// precision counts.
	MinChecked = 5
	// MinPrecision is the measured precision below which a kind of evidence is ignored.
	MinPrecision = 0.7
)

// Precision is the share of decisions with a kind of evidence in which people, who labelled them, too, say the same.
type Precision struct{ stats.Rate }

// Measured reports whether the precision stands in for the weights of labels of its kind.
func (p Precision) Measured() bool { return p.N >= MinChecked }

// Ignored reports whether labels of a kind with this precision count for nothing.
func (p Precision) Ignored(k label.Kind) bool {
	if !p.Measured() {
		return k == label.Unanswered // until people have confirmed it
	}
	return *p.Value < MinPrecision
}

// Precisions are those of each kind of evidence. Kinds that nobody has checked may be missing.
type Precisions map[label.Kind]Precision

// Measure returns the precision of each kind of evidence by the labels of some decisions. Decisions count in which a
// person said speak or silent. Nobody says wait, so the precision of Waited stays unknown.
func Measure(decisions [][]label.Label) Precisions {
	agreed, checked := map[label.Kind]int{}, map[label.Kind]int{}
	for _, labels := range decisions {
		i := slices.IndexFunc(labels, func(l label.Label) bool { return l.Kind == label.Human && l.Truth.Scored() })
		if i < 0 {
			continue
		}
		for _, l := range labels {
			if l.Kind == label.Human || !l.Truth.Scored() {
				continue
			}
			checked[l.Kind]++
			if l.Truth == labels[i].Truth {
				agreed[l.Kind]++
			}
		}
	}
	all := Precisions{}
	for _, k := range label.Kinds {
		all[k] = Precision{stats.NewRate(agreed[k], checked[k])}
	}
	return all
}

// Finding is what is true of a decision by its labels.
type Finding struct {
	// Truth is empty if the labels say nothing.
	Truth label.Truth
	// Weight is how likely it is right, from 0 to 1.
	Weight float64
	Kind   label.Kind // that says so
}

// Find returns what is true of a decision by its labels. A person's label wins. Otherwise the weightiest evidence
// does that is not ignored; where evidence of equal weight contradicts it, the labels say nothing.
func (p Precisions) Find(labels []label.Label) (f Finding) {
	for _, l := range labels {
		if l.Kind == label.Human {
			return Finding{l.Truth, 1, label.Human}
		}
		weight := p.Weight(l)
		switch {
		case weight > f.Weight:
			f = Finding{l.Truth, weight, l.Kind}
		case weight == f.Weight && weight > 0 && l.Truth != f.Truth:
			f.Truth, f.Kind = "", ""
		}
	}
	if f.Truth == "" {
		return Finding{}
	}
	return f
}

// Weight is what a label of hindsight weighs: its kind's precision if that is measured, and 0 if the kind is ignored.
func (p Precisions) Weight(l label.Label) float64 {
	precision := p[l.Kind]
	switch {
	case precision.Ignored(l.Kind):
		return 0
	case precision.Measured():
		return *precision.Value
	}
	return l.Weight
}
