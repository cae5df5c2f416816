package eval

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"myao/internal/evaluate/stats"
)

// RecallReport is how well a mode finds what a workspace knows.
type RecallReport struct {
	Mode   Mode            `json:"mode"`
	Groups []RecallFigures `json:"groups"` // all questions first, then by language and by kind
	Rows   []RecallRow     `json:"rows"`
}

// RecallFigures sums up questions. Rates of right messages count each message.
type RecallFigures struct {
	Name      string `json:"name"` // all, a language or a kind
	Questions int    `json:"questions"`
	// Recall1, Recall5 and Recall8 are how many of the right messages are among the first 1, 5 and 8,
	// Recall how many are in the material at all.
	Recall1 stats.Rate `json:"recall_1"`
	Recall5 stats.Rate `json:"recall_5"`
	Recall8 stats.Rate `json:"recall_8"`
	Recall  stats.Rate `json:"recall"`
	// MRR is the mean of 1 / the rank of the first right message; null without questions that have one.
	MRR *float64 `json:"mrr"`
	// WrongFirst is how often a wrong message is above the right one, of the questions that have both.
	// WrongRank is the mean rank of the wrong ones in the material; null if there is none.
	WrongFirst stats.Rate `json:"wrong_first"`
	WrongRank  *float64   `json:"wrong_rank"`
	Leaks      int        `json:"leaks"`
	Remembered int        `json:"remembered"`
}

func newRecallFigures(name string, rows []RecallRow) RecallFigures {
	f := RecallFigures{Name: name, Questions: len(rows)}
	var right, within [4]int
	var reciprocal, wrongRanks []float64
	wrongFirst, both := 0, 0
	for _, r := range rows {
		f.Leaks, f.Remembered = f.Leaks+len(r.Leaks), f.Remembered+len(r.Remembered)
		best := bestRank(r.Right)
		for _, rank := range r.Right {
			for i, most := range []int{1, 5, 8, rank} {
				right[i]++
				if 0 < rank && rank <= most {
					within[i]++
				}
			}
		}
		if len(r.Right) > 0 {
			reciprocal = append(reciprocal, 0)
			if best > 0 {
				reciprocal[len(reciprocal)-1] = 1 / float64(best)
			}
		}
		for _, rank := range r.Wrong {
			if rank > 0 {
				wrongRanks = append(wrongRanks, float64(rank))
			}
		}
		if len(r.Wrong) > 0 {
			both++
			if wrong := bestRank(r.Wrong); wrong > 0 && (best == 0 || wrong < best) {
				wrongFirst++
			}
		}
	}
	f.Recall1, f.Recall5, f.Recall8, f.Recall = stats.NewRate(within[0], right[0]), stats.NewRate(within[1], right[1]),
		stats.NewRate(within[2], right[2]), stats.NewRate(within[3], right[3])
	f.MRR, f.WrongRank, f.WrongFirst = mean(reciprocal), mean(wrongRanks), stats.NewRate(wrongFirst, both)
	return f
}

// bestRank is the smallest rank that is not 0; 0 if there is none.
func bestRank(ranks []int) int {
	best := 0
	for _, r := range ranks {
		if r > 0 && (best == 0 || r < best) {
			best = r
		}
	}
	return best
}

func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	sum /= float64(len(values))
	return &sum
}

func newRecallReport(mode Mode, rows []RecallRow) RecallReport {
	report := RecallReport{Mode: mode, Rows: rows, Groups: []RecallFigures{newRecallFigures("all", rows)}}
	for _, of := range []func(RecallRow) string{func(r RecallRow) string { return r.Lang },
		func(r RecallRow) string { return r.Kind }} {
		var names []string
		by := map[string][]RecallRow{}
		for _, r := range rows {
			if by[of(r)] == nil {
				names = append(names, of(r))
			}
			by[of(r)] = append(by[of(r)], r)
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a, b) })
		for _, name := range names {
			report.Groups = append(report.Groups, newRecallFigures(name, by[name]))
		}
	}
	return report
}

// WriteMarkdown writes the figures as a table.
func (r RecallReport) WriteMarkdown(w io.Writer) error {
	_, err := fmt.Fprintf(w, "| %s | questions | recall@1 | @5 | @8 | anywhere | MRR | wrong first | its rank | "+
		"leaks |\n|---|---|---|---|---|---|---|---|---|---|\n", r.Mode)
	number := func(v *float64, format string) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf(format, *v)
	}
	for _, g := range r.Groups {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s | %s | %s | %d |\n", g.Name, g.Questions,
			Share(g.Recall1.Value), Share(g.Recall5.Value), Share(g.Recall8.Value),
			Share(g.Recall.Value), number(g.MRR, "%.2f"), Share(g.WrongFirst.Value), number(g.WrongRank, "%.1f"),
			g.Leaks)
	}
	return err
}
