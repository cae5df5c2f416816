package label

import "math/rand/v2"

// Verdict is a model's: whether it wanted to speak, and how sure it was, from 0 to 1.
type Verdict struct {
	Wanted     bool
	Confidence float64
}

// levels is how many levels of confidence a yes and a no have each, for Spread.
const levels = 5

func (v Verdict) level() int {
	level := min(levels-1, int(v.Confidence*levels))
	if v.Wanted {
		return levels + level
	}
	return level
}

// Spread returns the order in which people are asked about decisions, as indices of their verdicts. From level to
// level of confidence, those of a yes and of a no apart, one is drawn of each until none is left: however soon
// somebody stops, the range is covered evenly. The same seed gives the same order.
func Spread(verdicts []Verdict, seed uint64) []int {
	random := rand.New(rand.NewPCG(seed, seed))
	var at [2 * levels][]int
	for i, v := range verdicts {
		at[v.level()] = append(at[v.level()], i)
	}
	for _, of := range at {
		random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	}
	order := make([]int, 0, len(verdicts))
	for len(order) < len(verdicts) {
		// The levels come in a new order each time, so that nobody can guess what the model said.
		for _, l := range random.Perm(len(at)) {
			if len(at[l]) > 0 {
				order, at[l] = append(order, at[l][0]), at[l][1:]
			}
		}
	}
	return order
}
