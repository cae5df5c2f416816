package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is one line of the table. Ratio is value ÷ floor where there is a floor.
type row struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Floor is what the value is compared with; nil if only the goal counts.
	Floor *float64 `json:"floor"`
	Ratio *float64 `json:"ratio"`
	// Goal bounds the ratio, or the value of a row without a floor, as in "≥ 10 ×".
	Goal  string `json:"goal"`
	Holds bool   `json:"holds"`
	// Rounds are the rounds' values, Floors the floors measured next to them.
	Rounds []float64 `json:"rounds,omitempty"`
	Floors []float64 `json:"floors,omitempty"`
	// Note is additional information.
	Note string `json:"note,omitempty"`

	// counted marks a value that does not depend on the machine or the load.
	counted bool
}

// goal is a bound.
type goal struct {
	sign  string // ≤, ≥ or =
	bound float64
	unit  string // × for a ratio
}

func atLeast(bound float64, unit string) goal { return goal{"≥", bound, unit} }
func atMost(bound float64, unit string) goal  { return goal{"≤", bound, unit} }
func exactly(bound float64, unit string) goal { return goal{"=", bound, unit} }

func (g goal) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", g.sign, number(g.bound), g.unit))
}

func (g goal) holds(v float64) bool {
	switch {
	case math.IsNaN(v):
		return false
	case g.sign == "≤":
		return v <= g.bound
	case g.sign == "≥":
		return v >= g.bound
	default:
		return v == g.bound
	}
}

// newRow makes a row without a floor. Its value is the median of its rounds.
func newRow(name, unit string, g goal, rounds ...float64) row {
	v := median(rounds)
	r := row{Name: name, Value: v, Unit: unit, Goal: g.String(), Holds: g.holds(v)}
	if len(rounds) > 1 {
		r.Rounds = rounds
	}
	return r
}

// newRatioRow makes a row whose goal bounds its ratio to a floor. The ratio is the median of the
// rounds' ratios, because each round's value and floor were measured together.
func newRatioRow(name, unit string, g goal, rounds, floors []float64) row {
	ratios := make([]float64, len(rounds))
	for i := range rounds {
		ratios[i] = rounds[i] / floors[i]
	}
	floor, ratio := median(floors), median(ratios)
	return row{
		Name: name, Value: median(rounds), Unit: unit, Floor: &floor, Ratio: &ratio, Goal: g.String(), Holds: g.holds(ratio),
		Rounds: rounds, Floors: floors,
	}
}

func (r row) withNote(format string, args ...any) row {
	r.Note = fmt.Sprintf(format, args...)
	return r
}

// median returns NaN for no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// quantile returns the smallest duration that a share q of all, from 0 to 1, does not exceed.
func quantile(took []time.Duration, q float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// number formats with three significant digits.
func number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) || a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// print writes the table.
func print(w io.Writer, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "row\tvalue\tunit\tfloor\tratio\tgoal\tholds\trounds")
	for _, r := range rows {
		floor, ratio, holds := "–", "–", "yes"
		if r.Floor != nil {
			floor, ratio = number(*r.Floor), number(*r.Ratio)
		}
		if !r.Holds {
			holds = "NO"
		}
		span := "1"
		if n := len(r.Rounds); n > 0 {
			span = fmt.Sprintf("%d, %s–%s", n, number(slices.Min(r.Rounds)), number(slices.Max(r.Rounds)))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, number(r.Value), r.Unit, floor, ratio, r.Goal, holds, span)
	}
	_ = t.Flush()
	for _, r := range rows {
		if r.Note != "" {
			fmt.Fprintf(w, "%s: %s\n", r.Name, r.Note)
		}
	}
}

// write writes the rows as JSON. It fails if a row has no value.
func write(path string, rows []row) error {
	for i := range rows {
		if math.IsNaN(rows[i].Value) || math.IsInf(rows[i].Value, 0) {
			return fmt.Errorf("row %q has no value", rows[i].Name)
		}
	}
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
