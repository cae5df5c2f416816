package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/config"
	"myao/internal/evaluate/eval"
	"myao/internal/llm"
	"myao/internal/operate/launch"
	"myao/internal/operate/timeline"
)

// evalRun judges cases.
type evalRun struct {
	caseFiles
	Agent         string          `default:"judgment" enum:"judgment,memory" placeholder:"AGENT" help:"What to measure: judgment (${default})."`
	Model         string          `placeholder:"MODEL" help:"The model, instead of agents.judgment.model."`
	Provider      config.Provider `placeholder:"PROVIDER" help:"Its provider, instead of agents.judgment.provider: gemini, openai, anthropic or demo."`
	Templates     string          `placeholder:"DIR" help:"Templates instead of those of templates_dir."`
	MinConfidence threshold       `placeholder:"X" help:"The threshold, instead of response.min_confidence: 0 to 1."`
	Repeat        int             `default:"1" placeholder:"N" help:"Ask this often about each case (${default})."`
	Parallel      int             `default:"8" placeholder:"N" help:"Judge this many cases at the same time (${default})."`
	Limit         int             `placeholder:"N" help:"Take the first N cases alone."`
	Category      string          `placeholder:"CATEGORY" help:"Take the cases of one category alone."`
	Cache         string          `placeholder:"DIR" help:"Keep the model's answers here, and ask nothing that was answered."`
	CachedOnly    bool            `help:"Take all answers from --cache; fail where one is not recorded."`
	Out           string          `placeholder:"DIR" help:"Keep the run here. The same command goes on with a run that was stopped."`
	FailIf        []condition     `sep:"none" placeholder:"CONDITION" help:"Exit with status 1 if a figure is so, as in false_rate>0.10. It may be given more than once."`
	output
}

// Help implements kong's Help.
func (evalRun) Help() string {
	return `Each case goes through the code that judges in Slack: rules, context, prompt, parsing and threshold. The
configuration needs an agent for judgment; Slack, Temporal and a database are not used. The figures and the
format of a case are in docs/judgment-format.md.

Examples:
  starter eval run evals/judgment/en.jsonl evals/judgment/ja.jsonl --provider demo
  starter eval run evals/judgment/en.jsonl --repeat 3 --out runs/flash --cache runs/answers
  starter eval run evals/judgment/en.jsonl --cache runs/answers --cached-only --json --fail-if 'false_rate>0.10'
  starter eval run evals/judgment/hard-en.jsonl evals/judgment/hard-ja.jsonl --out runs/hard`
}

// Validate implements kong's Validate.
func (c *evalRun) Validate() error {
	switch {
	case c.Agent == "memory":
		return errors.New("--agent memory: memories cannot be measured yet, only judgment")
	case c.Provider != "" && !slices.Contains(config.Providers(), c.Provider):
		return fmt.Errorf("--provider %q: want gemini, openai, anthropic or demo", c.Provider)
	case c.Repeat < 1 || c.Repeat > 1000:
		return fmt.Errorf("--repeat %d: want 1 to 1000", c.Repeat)
	case c.Parallel < 1 || c.Parallel > 1000:
		return fmt.Errorf("--parallel %d: want 1 to 1000", c.Parallel)
	case c.Limit < 0:
		return fmt.Errorf("--limit %d: want 1 or more", c.Limit)
	case c.CachedOnly && c.Cache == "":
		return errors.New("--cached-only needs --cache")
	}
	return nil
}

// change applies the flags to the configuration.
func (c *evalRun) change(to *config.Config) {
	agent := &to.Agents.Judgment
	if c.Provider != "" && c.Provider != cmp.Or(agent.Provider, config.ProviderGemini) {
		agent.Provider, agent.Model, agent.APIKey, agent.BaseURL = c.Provider, "", "",
			"" // they are the other provider's
	}
	agent.Model = cmp.Or(c.Model, agent.Model)
	to.TemplatesDir = cmp.Or(c.Templates, to.TemplatesDir)
	if c.MinConfidence.given {
		to.Response.MinConfidence = c.MinConfidence.number
	}
}

// run needs no secrets of Slack, nor those of other models than the one that judges.
func (c *evalRun) run(ctx context.Context, p *program) error {
	judge := config.Judge{Change: c.change, Offline: c.CachedOnly}
	run := func(ctx context.Context, read launch.Program) error {
		p.Program = read
		return c.judge(ctx, p)
	}
	return ended(launch.JudgeCommand(ctx, p.name, p.path, p.stderr, judge, run))
}

// judge judges the cases.
func (c *evalRun) judge(ctx context.Context, p *program) error {
	cases, err := c.cases(p)
	if err != nil {
		return err
	}
	prompts, err := agents.Prompts(p.Config)
	if err != nil {
		return err
	}
	var model llm.Model // nobody asks it with --cached-only
	if !c.CachedOnly {
		agents, closeModels, err := agents.OpenByUse(ctx, p.Config, time.Now, p.Logger)
		if err != nil {
			return err
		}
		defer closeModels()
		model = agents.Judgment.Model
	}
	progress := &progress{w: p.stderr, terminal: isTerminal(p.stderr)}
	runner := eval.Runner{
		Config: p.Config, Model: model, Prompts: prompts, Cases: cases, Repeat: c.Repeat, Parallel: c.Parallel,
		Dir: c.Out, Clock: time.Now, Logger: p.Logger, Progress: progress.report,
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		runner.Revision = launch.Revision(build)
	}
	if c.Cache != "" {
		runner.Cache = &eval.Cache{Dir: c.Cache, Only: c.CachedOnly}
	}
	run, err := runner.Run(ctx)
	progress.end()
	switch {
	case ctx.Err() != nil && c.Out != "":
		return fmt.Errorf("stopped; what was answered is in %s, and the same command goes on", c.Out)
	case err != nil:
		return err
	}
	figures := run.Figures()
	if err := c.print(p.stdout, figures, func(w io.Writer) error { return eval.WriteMarkdown(w, run) }); err != nil {
		return err
	}
	return c.check(p, figures, run)
}

// cases are the cases to judge. Faults are printed.
func (c *evalRun) cases(p *program) ([]eval.Case, error) {
	cases, faults, err := c.read()
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, printFaults(p.stderr, faults)
	}
	if c.Category != "" {
		cases = slices.DeleteFunc(cases, func(one eval.Case) bool { return one.Category != c.Category })
	}
	if c.Limit > 0 {
		cases = cases[:min(c.Limit, len(cases))]
	}
	if len(cases) == 0 {
		return nil, errors.New("there is no such case")
	}
	return cases, nil
}

// check says what went wrong, and whether a condition of --fail-if holds.
func (c *evalRun) check(p *program, f eval.Figures, run eval.Run) error {
	if i := slices.IndexFunc(run.Rows, func(r eval.Row) bool { return r.Error != "" }); i >= 0 {
		if _, err := fmt.Fprintf(p.stderr, "%d of %d answers have no verdict; the first, %s: %s\n", f.Unreadable,
			f.Answers, run.Rows[i].Case, timeline.Plain(run.Rows[i].Error)); err != nil {
			return err
		}
	}
	for _, one := range c.FailIf {
		switch value := f.Number(one.figure); {
		case value == nil:
			return fmt.Errorf("--fail-if %s: no case has that figure", one)
		case one.holds(*value):
			return fmt.Errorf("--fail-if %s: it is %.4g", one, *value)
		}
	}
	return nil
}
