package cli

import (
	"context"
	"io"

	"myao/internal/evaluate/eval"
)

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
	for path, write := range map[string]func(io.Writer, eval.Run) error{c.HTML: eval.WriteHTML,
		c.Markdown: eval.WriteMarkdown} {
		if path == "" {
			continue
		}
		if err := writeFile(path, func(w io.Writer) error { return write(w, run) }); err != nil {
			return err
		}
	}
	return nil
}
