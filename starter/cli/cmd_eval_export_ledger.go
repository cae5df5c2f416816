package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/evaluate/eval"
	"myao/internal/store"
)

// evalExport writes labelled decisions as cases.
type evalExport struct {
	Out     string  `placeholder:"FILE" help:"Write to this file, which only you may read. Without it, to standard output."`
	Force   bool    `help:"Replace the file if it exists."`
	Channel string  `placeholder:"CHANNEL" help:"Only this channel: its id, or its name with or without #."`
	Since   instant `default:"30d" placeholder:"WHEN" help:"Decisions since then: 24h, 30d or 2026-03-01, for example (${default})."`
	Limit   int     `default:"1000" placeholder:"N" help:"At most so many cases, the newest (${default})."`
	Private bool    `help:"Also private channels, and those that people of other companies read. Never direct messages."`
	NoText  bool    `help:"Replace what was said by filler words; mentions, question marks and about the length stay."`
	teamFlag
	byFlag
}

// Help implements kong's Help.
func (evalExport) Help() string {
	return `Decisions that have a label, by a person or by what followed, become cases for starter eval run: what the judge
could read then, without what was deleted or forgotten since. People and channels get pseudonyms; links, mail
addresses, numbers and keys are masked. What people say may still tell who they are: read the file before you give it
away, or use --no-text. It is written down as an order (starter why).

  starter eval export-ledger --out own.jsonl
  starter eval export-ledger --since 90d --channel general --no-text --out general.jsonl`
}

// Validate implements kong's Validate.
func (c *evalExport) Validate() error {
	if c.Force && c.Out == "" {
		return errors.New("--force needs --out")
	}
	return checkLimit(c.Limit, maxListed)
}

func (c *evalExport) run(ctx context.Context, p *program) error {
	if err := c.checkOut(); err != nil {
		return err
	}
	since, err := c.Since.time(time.Now(), p.Config.Location())
	if err != nil {
		return err
	}
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	x := eval.Exporter{
		Store: db, Team: scope.Team, Messages: p.Config.Response.ChannelMessagesLimit, Private: c.Private,
		NoText: c.NoText,
	}
	if x.Bot, err = ownUser(ctx, p, db, x.Team); err != nil {
		return err
	}
	filter := store.LabelFilter{Since: since, Channel: scope.Channel}
	exported, err := x.Export(ctx, filter, c.Limit)
	if err != nil {
		return err
	}
	if len(exported.Cases) == 0 {
		return fmt.Errorf("nothing was exported: %s", c.whyEmpty(exported, formatTime(since, p.Config.Location())))
	}
	var lines bytes.Buffer
	speak, silent := 0, 0
	for _, one := range exported.Cases {
		line, err := one.Line()
		if err != nil {
			return err
		}
		lines.Write(line)
		switch one.Target {
		case eval.Speak:
			speak++
		case eval.Silent:
			silent++
		}
	}
	if err := c.order(ctx, db, x.Team, exported); err != nil {
		return err
	}
	if err := c.write(p, lines.Bytes()); err != nil {
		return err
	}
	n := len(exported.Cases)
	_, err = fmt.Fprintf(p.stderr, "%d cases: %d speak, %d silent, %d either%s\n", n, speak, silent, n-speak-silent,
		leftOut("; left out: ", exported))
	return err
}

// ownUser returns the bot's user id. Slack is asked only if the bot has said nothing yet.
func ownUser(ctx context.Context, p *program, db *store.Store, team string) (string, error) {
	user, err := db.OwnUser(ctx, team)
	if err != nil || user != "" {
		return user, err
	}
	own, err := p.slack().Identity(ctx)
	if err != nil {
		return "", fmt.Errorf("ask Slack who the bot is: %w", err)
	}
	return own.UserID, nil
}

// checkOut refuses a file that must not be replaced.
func (c *evalExport) checkOut() error {
	if c.Out == "" {
		return nil
	}
	switch info, err := os.Lstat(c.Out); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file", c.Out)
	case !c.Force:
		return fmt.Errorf("%s exists already: want another file, or --force", c.Out)
	}
	return nil
}

// order writes the export down, in each channel that it tells something of.
func (c *evalExport) order(ctx context.Context, db *store.Store, team string, x eval.Exported) error {
	id := orderID()
	for _, channel := range slices.Sorted(maps.Keys(x.Channels)) {
		what := "1 case"
		if n := x.Channels[channel]; n > 1 {
			what = fmt.Sprintf("%d cases", n)
		}
		if c.NoText {
			what += " without texts"
		}
		if err := db.ApplyOrder(ctx, store.Order{ID: id + "/" + channel,
			Scope: chat.Scope{Team: team, Channel: channel}, Kind: "export", By: c.by(), Subject: what}); err != nil {
			return err
		}
	}
	return nil
}

// write writes the lines to a new file, or to standard output.
func (c *evalExport) write(p *program, lines []byte) error {
	if c.Out == "" {
		_, err := p.stdout.Write(lines)
		return err
	}
	if c.Force {
		if err := os.Remove(c.Out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	file, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(lines)
	return errors.Join(err, file.Close())
}

// whyEmpty says why there is no case.
func (c *evalExport) whyEmpty(x eval.Exported, since string) string {
	left := leftOut("left out are ", x)
	if left == "" {
		return "no decision since " + since +
			" has a label. They get one a day after they were made, or from people by starter label"
	}
	if x.Left[eval.LeftPrivate] > 0 && !c.Private {
		left += "; --private exports private channels, too"
	}
	return left
}

// leftOut counts the decisions that are left out, after an introduction; empty if there are none.
func leftOut(introduction string, x eval.Exported) string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(x.Left)) {
		parts = append(parts, fmt.Sprintf("%d %s", x.Left[why], why))
	}
	if len(parts) == 0 {
		return ""
	}
	return introduction + strings.Join(parts, ", ")
}
