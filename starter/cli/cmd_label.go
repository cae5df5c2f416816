package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"myao/internal/conversation/label"
	"myao/internal/evaluate/evidence"
	"myao/internal/evaluate/stats"
	"myao/internal/store"
)

// labelCommand shows what labels there are and how far they can be believed, and has a person label decisions.
type labelCommand struct {
	Ask     int     `placeholder:"N" help:"Show N decisions, one after another, and ask whether the bot should have spoken."`
	Channel string  `placeholder:"CHANNEL" help:"With --ask: only those of this channel and its threads: its id, or its name with or without #."`
	Since   instant `placeholder:"WHEN" help:"With --ask: only those since then (30d)."`
	Private bool    `help:"With --ask: those of private channels and direct messages, too."`
	Seed    uint64  `default:"1" placeholder:"N" help:"With --ask: draw others (${default}), for example while somebody else labels."`
	teamFlag
	byFlag
	output
}

// Help implements kong's Help.
func (labelCommand) Help() string {
	return `Without --ask it counts the labels of each kind of evidence, and tells in how many of the decisions that people
have labelled the evidence says the same. What each kind means is in docs/judgment-format.md.

With --ask you see conversations around a decision of the model, without what the model said, and answer s, n or e:
the bot should have spoken, should have been silent, or either. k skips one, q ends; every answer is kept at once.

  starter label
  starter label --ask 20
  starter label --ask 20 --channel '#general' --since 7d --by carol
  starter label --json | jq '.kinds[] | select(.ignored)'`
}

// Validate implements kong's Validate.
func (c *labelCommand) Validate() error {
	switch {
	case c.Ask < 0:
		return fmt.Errorf("--ask %d: want 1 or more", c.Ask)
	case c.Ask == 0 && (c.Channel != "" || c.Since != "" || c.Private):
		return errors.New("--channel, --since and --private need --ask: evidence is measured by all labels")
	case c.Ask > 0 && c.JSON:
		return errors.New("--json: want it without --ask")
	}
	return nil
}

func (c *labelCommand) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	if c.Ask > 0 {
		return c.ask(ctx, p, db, scope)
	}
	r, err := newLabelReport(ctx, db, scope.Team)
	if err != nil {
		return err
	}
	return c.print(p.stdout, r, r.text)
}

// labelReport is what labels there are.
type labelReport struct {
	Kinds []kindReport `json:"kinds"`
	// People counts what people have said: speak, silent, either.
	People map[label.Truth]int `json:"people"`
}

// kindReport is one kind of evidence.
type kindReport struct {
	Kind   label.Kind  `json:"kind"`
	Truth  label.Truth `json:"truth"` // what it says
	Labels int         `json:"labels"`
	// Precision is how often people say the same.
	Precision stats.Rate `json:"precision"`
	// Measured is set if the precision stands in for the weight of each label; Ignored if they count for nothing.
	Measured bool `json:"measured"`
	Ignored  bool `json:"ignored"`
}

func newLabelReport(ctx context.Context, db *store.Store, team string) (r labelReport, err error) {
	counts, err := db.LabelCounts(ctx, team)
	if err != nil {
		return r, err
	}
	checked, err := db.CheckedLabels(ctx, team)
	if err != nil {
		return r, err
	}
	r.People = map[label.Truth]int{label.Speak: 0, label.Silent: 0, label.Either: 0}
	kinds := map[label.Kind]int{}
	for _, n := range counts {
		if n.Kind == label.Human {
			r.People[n.Truth] += n.N
		} else {
			kinds[n.Kind] += n.N
		}
	}
	measured := evidence.Measure(checked)
	for _, k := range label.Kinds {
		p := measured[k]
		r.Kinds = append(r.Kinds, kindReport{k, k.Truth(), kinds[k], p.Rate, p.Measured(), p.Ignored(k)})
	}
	return r, nil
}

func (r labelReport) text(w io.Writer) error {
	rows := [][]string{{"EVIDENCE", "SAYS", "LABELS", "PEOPLE AGREE", "WEIGHT"}}
	for _, k := range r.Kinds {
		rows = append(rows, []string{string(k.Kind), string(k.Truth), strconv.Itoa(k.Labels), k.Precision.String(),
			k.weight()})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\npeople have said: speak %d, silent %d, either %d\n", r.People[label.Speak],
		r.People[label.Silent], r.People[label.Either])
	return err
}

// weight says in words what labels of the kind weigh.
func (k kindReport) weight() string {
	switch {
	case k.Ignored && k.Measured:
		return fmt.Sprintf("ignored: people agree with fewer than %.0f %%", 100*evidence.MinPrecision)
	case k.Ignored:
		return fmt.Sprintf("ignored until people have checked %d", evidence.MinChecked)
	case k.Measured:
		return fmt.Sprintf("%.2f, measured", *k.Precision.Value)
	case !k.Truth.Scored():
		return "told apart"
	}
	return fmt.Sprintf("an assumption, until people have checked %d", evidence.MinChecked)
}
