package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"myao/internal/evaluate/eval"
	"myao/internal/operate/timeline"
)

// evalCommand measures how well a model judges.
type evalCommand struct {
	Run          evalRun     `cmd:"" config:"none" help:"Judge labelled conversations with a model, and say how often it is right. Nothing is posted."`
	Compare      evalCompare `cmd:"" config:"none" help:"Compare two runs over the same cases, answer by answer."`
	Recall       evalRecall  `cmd:"" config:"none" help:"Measure how much of what was said is found again for a question, without a model."`
	Report       evalReport  `cmd:"" config:"none" help:"Write the report of a run as a web page or as Markdown."`
	Check        evalCheck   `cmd:"" config:"none" help:"Find what is wrong in case files."`
	ExportLedger evalExport  `cmd:"" help:"Write the workspace's own labelled decisions as cases, without names."`
}

// caseFiles is the argument of the commands that read cases.
type caseFiles struct {
	Files []string `arg:"" name:"file" help:"Files of cases, one JSON object a line (docs/judgment-format.md)."`
}

// read reads all files. A fault is returned for each thing that is wrong in them.
func (c caseFiles) read() (cases []eval.Case, faults []eval.Fault, err error) {
	in := map[string]string{} // file by id
	for _, path := range c.Files {
		found, err := readCases(path)
		if faulty := eval.Faults(err); len(faulty) > 0 {
			faults = append(faults, faulty...)
		} else if err != nil {
			return nil, nil, err
		}
		for _, one := range found {
			if other, known := in[one.ID]; known && other != path {
				faults = append(faults, eval.Fault{File: path, Key: "id", Text: fmt.Sprintf("%q stands in %s, too: each case has an id of its own", one.ID, other)})
			} else if known {
				return nil, nil, fmt.Errorf("%s is named twice", path)
			}
			in[one.ID] = path
		}
		cases = append(cases, found...)
	}
	return cases, faults, nil
}

func readCases(path string) ([]eval.Case, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return eval.Read(path, file)
}

// printFaults prints a line for each fault, and returns an error that counts them.
func printFaults(w io.Writer, faults []eval.Fault) error {
	for _, f := range faults {
		if _, err := fmt.Fprintln(w, timeline.Plain(f.Error())); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d faults in the case files", len(faults))
}

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
	_, err = fmt.Fprintf(p.stdout, "%d cases: %d speak, %d silent, %d either\n", len(cases), n[eval.Speak], n[eval.Silent], n[eval.Either])
	return err
}

type evalReport struct {
	Run      string `arg:"" help:"The folder of a run: what --out named."`
	HTML     string `placeholder:"FILE" help:"Write a web page, with the prompts of what was wrong. It holds what the cases say."`
	Markdown string `name:"md" placeholder:"FILE" help:"Write Markdown."`
}

// Help implements kong's Help.
func (evalReport) Help() string {
	return `Without a file, Markdown goes to the terminal.

  starter eval report runs/flash
  starter eval report runs/flash --html flash.html --md flash.md`
}

func (c *evalReport) run(_ context.Context, p *program) error {
	run, err := eval.ReadRun(c.Run)
	if err != nil {
		return err
	}
	if c.HTML == "" && c.Markdown == "" {
		return eval.WriteMarkdown(p.stdout, run)
	}
	for path, write := range map[string]func(io.Writer, eval.Run) error{c.HTML: eval.WriteHTML, c.Markdown: eval.WriteMarkdown} {
		if path == "" {
			continue
		}
		if err := writeFile(path, func(w io.Writer) error { return write(w, run) }); err != nil {
			return err
		}
	}
	return nil
}

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
	if _, err := fmt.Fprintf(w, "%d answers: A alone is right in %d, B alone in %d; p = %.4f (McNemar, exact)\nbalanced accuracy of B less that of A: %s\n",
		c.Answers, c.OnlyA, c.OnlyB, c.P, difference); err != nil {
		return err
	}
	rows := [][]string{{"CATEGORY", "ONLY A", "ONLY B", "P", "P BY HOLM"}}
	for _, one := range c.Categories {
		rows = append(rows, []string{timeline.Plain(one.Name), strconv.Itoa(one.OnlyA), strconv.Itoa(one.OnlyB), fmt.Sprintf("%.4f", one.P), fmt.Sprintf("%.4f", one.Adjusted)})
	}
	if err := section(w, rows); err != nil {
		return err
	}
	rows = [][]string{{"CASE", "REPEAT", "TARGET", "A", "B"}}
	said := map[bool]string{true: "speaks", false: "silent"}
	for _, f := range c.Flipped {
		rows = append(rows, []string{timeline.Plain(f.Case), strconv.Itoa(f.Repeat), string(f.Target), said[f.SpokeA], said[f.SpokeB]})
	}
	return section(w, rows)
}

// section writes a table after an empty line, unless it has a heading alone.
func section(w io.Writer, rows [][]string) error {
	if len(rows) == 1 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return table(w, rows)
}
