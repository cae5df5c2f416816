package eval

import (
	"myao/internal/evaluate/stats"
)

// counts are of scored rows by target, and of the errors among them.
type counts struct{ speak, missed, silent, false int }

func count(rows []Row) (c counts) {
	for _, r := range rows {
		c = c.plus(r.counts())
	}
	return c
}

func (r Row) counts() (c counts) {
	switch {
	case r.Target == Speak && r.Spoke:
		c.speak = 1
	case r.Target == Speak:
		c.speak, c.missed = 1, 1
	case r.Target == Silent && r.Spoke:
		c.silent, c.false = 1, 1
	case r.Target == Silent:
		c.silent = 1
	}
	return c
}

func (c counts) plus(d counts) counts {
	return counts{c.speak + d.speak, c.missed + d.missed, c.silent + d.silent, c.false + d.false}
}

func (c counts) missedRate() stats.Rate { return stats.NewRate(c.missed, c.speak) }
func (c counts) falseRate() stats.Rate  { return stats.NewRate(c.false, c.silent) }

// balanced is the balanced accuracy; ok is false unless both targets occur.
func (c counts) balanced() (accuracy float64, ok bool) {
	if c.speak == 0 || c.silent == 0 {
		return 0, false
	}
	return 1 - (float64(c.missed)/float64(c.speak)+float64(c.false)/float64(c.silent))/2, true
}

// byCluster is the counts of each cluster, in the order in which they first occur.
func byCluster(rows []Row) []counts {
	at := map[string]int{}
	var all []counts
	for _, r := range rows {
		i, known := at[r.Cluster]
		if !known {
			i = len(all)
			at[r.Cluster] = i
			all = append(all, counts{})
		}
		all[i] = all[i].plus(r.counts())
	}
	return all
}
