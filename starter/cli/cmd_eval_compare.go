package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"myao/internal/evaluate/eval"
	"myao/internal/operate/timeline"
)

type evalCompare struct {
	A string `arg:"" name:"run-a" help:"The folder of the run to compare with."`
	B string `arg:"" name:"run-b" help:"The folder of the other run."`
	output
}

// Help implements kong's Help.
func (evalCompare) Help() string {
	return `Runs of other cases, and runs that are not finished, are not compared, and the exit status is 1.

  starter eval compare runs/before runs/after
  starter eval compare runs/before runs/after --json | jq .p`
}

func (c *evalCompare) run(_ context.Context, p *program) error {
	a, err := eval.ReadRun(c.A)
	if err != nil {
		return err
	}
	b, err := eval.ReadRun(c.B)
	if err != nil {
		return err
	}
	compared := eval.Compare(a, b)
	if err := c.print(p.stdout, compared, func(w io.Writer) error { return printComparison(w, compared) }); err != nil {
		return err
	}
	if !compared.Compared {
		return errors.New("not compared: " + compared.Why)
	}
	return nil
}

func printComparison(w io.Writer, c eval.Comparison) error {
	if !c.Compared {
		_, err := fmt.Fprintf(w, "NOT COMPARED: %s\n", c.Why)
		return err
	}
	difference := "unknown: there are not both targets"
	if c.Difference != nil {
		difference = fmt.Sprintf("%+.1f points", 100**c.Difference)
	}
	if c.Interval != nil {
		difference += fmt.Sprintf(" (95 %%: %+.1f to %+.1f)", 100*c.Interval.Low, 100*c.Interval.High)
	}
	if _, err := fmt.Fprintf(w, "%d answers: A alone is right in %d, B alone in %d; p = %.4f (McNemar, "+
		"exact)\nbalanced accuracy of B less that of A: %s\n",
		c.Answers, c.OnlyA, c.OnlyB, c.P, difference); err != nil {
		return err
	}
	rows := [][]string{{"CATEGORY", "ONLY A", "ONLY B", "P", "P BY HOLM"}}
	for _, one := range c.Categories {
		rows = append(rows, []string{timeline.Plain(one.Name), strconv.Itoa(one.OnlyA), strconv.Itoa(one.OnlyB),
			fmt.Sprintf("%.4f", one.P), fmt.Sprintf("%.4f", one.Adjusted)})
	}
	if err := section(w, rows); err != nil {
		return err
	}
	rows = [][]string{{"CASE", "REPEAT", "TARGET", "A", "B"}}
	said := map[bool]string{true: "speaks", false: "silent"}
	for _, f := range c.Flipped {
		rows = append(rows, []string{timeline.Plain(f.Case), strconv.Itoa(f.Repeat), string(f.Target), said[f.SpokeA],
			said[f.SpokeB]})
	}
	return section(w, rows)
}
