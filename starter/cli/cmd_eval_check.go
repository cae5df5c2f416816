package cli

import (
	"context"
	"fmt"

	"myao/internal/evaluate/eval"
)

type evalCheck struct{ caseFiles }

// Help implements kong's Help.
func (evalCheck) Help() string {
	return `Each fault is a line: the file, the line in it, the key, and what is expected. The exit status is 1
if there is one.

  starter eval check evals/judgment/en.jsonl evals/judgment/ja.jsonl`
}

func (c *evalCheck) run(_ context.Context, p *program) error {
	cases, faults, err := c.read()
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return printFaults(p.stdout, faults)
	}
	n := map[eval.Target]int{}
	for _, one := range cases {
		n[one.Target]++
	}
	_, err = fmt.Fprintf(p.stdout, "%d cases: %d speak, %d silent, %d either\n", len(cases), n[eval.Speak],
		n[eval.Silent], n[eval.Either])
	return err
}
