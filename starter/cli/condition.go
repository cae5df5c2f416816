package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"myao/internal/evaluate/eval"
)

// threshold is a confidence that may be left out.
type threshold struct {
	number float64
	given  bool
}

// UnmarshalText implements encoding.TextUnmarshaler. An empty text is refused by commands.BeforeApply.
func (t *threshold) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	number, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(number >= 0 && number <= 1) {
		return fmt.Errorf("%q: want a number from 0 to 1", text)
	}
	*t = threshold{number, true}
	return nil
}

// condition is a figure, compared with a number.
type condition struct {
	figure, operator string
	number           float64
}

var conditionPattern = regexp.MustCompile(`^\s*([a-z0-9_]+)\s*(>=|<=|>|<)\s*(\S+)\s*$`)

// UnmarshalText implements encoding.TextUnmarshaler. An empty text is refused by commands.BeforeApply.
func (c *condition) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	parts := conditionPattern.FindStringSubmatch(string(text))
	if parts == nil {
		return fmt.Errorf("%q: want a figure, one of > >= < <=, and a number, as in false_rate>0.10", text)
	}
	number, err := strconv.ParseFloat(parts[3], 64)
	if err != nil || number != number {
		return fmt.Errorf("%q: %q is no number", text, parts[3])
	}
	if !slices.Contains(eval.FigureNames(), parts[1]) {
		return fmt.Errorf("%q: there is no figure %s; there are %s", text, parts[1],
			strings.Join(eval.FigureNames(), ", "))
	}
	*c = condition{parts[1], parts[2], number}
	return nil
}

func (c condition) String() string { return fmt.Sprintf("%s%s%v", c.figure, c.operator, c.number) }

func (c condition) holds(value float64) bool {
	switch c.operator {
	case ">":
		return value > c.number
	case ">=":
		return value >= c.number
	case "<":
		return value < c.number
	default:
		return value <= c.number
	}
}
