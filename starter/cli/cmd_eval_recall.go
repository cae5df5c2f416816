package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"myao/internal/evaluate/eval"
)

// evalRecall measures what is found again.
type evalRecall struct {
	Files []string `arg:"" name:"file" help:"The files of one workspace: people, channels, messages and questions, one JSON object a line (docs/judgment-format.md)."`
	Mode  string   `default:"all" enum:"all,summaries,search,both" placeholder:"MODE" help:"What is there besides the newest messages: summaries, search or both; all measures each (${default})."`
	output
}

// Help implements kong's Help.
func (evalRecall) Help() string {
	return `A workspace is told to a database of its own, and each question is asked there by a mention. Told is how
many of the messages that have the answer are in the material: the prompt, and what search_messages finds. No
model is asked, so memories consist of the newest messages that fit. The exit status is 1 if there is a message
that readers of the channel must not see. Needs no configuration.

Examples:
  starter eval recall evals/memory/*.jsonl
  starter eval recall evals/memory/*.jsonl --mode both --json`
}

func (c *evalRecall) run(ctx context.Context, p *program) error {
	w, err := eval.ReadWorkspace(c.Files...)
	if err != nil {
		return err
	}
	modes := []eval.Mode{eval.Summaries, eval.Search, eval.Both}
	if c.Mode != "all" {
		modes = []eval.Mode{eval.Mode(c.Mode)}
	}
	reports, err := eval.MeasureRecall(ctx, w, modes, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	leaks := 0
	for _, r := range reports {
		leaks += r.Groups[0].Leaks
	}
	err = c.print(p.stdout, reports, func(out io.Writer) error {
		for i, r := range reports {
			if i > 0 {
				if _, err := fmt.Fprintln(out); err != nil {
					return err
				}
			}
			if err := r.WriteMarkdown(out); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && leaks > 0 {
		err = errors.New("there are messages in the material that readers must not see; --json names them")
	}
	return err
}
