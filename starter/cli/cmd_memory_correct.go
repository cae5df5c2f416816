package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"myao/internal/answer/agents"
	"myao/internal/chat"
	"myao/internal/store"
)

// termFlag names one of the two memories of a scope.
type termFlag struct {
	Term string `enum:"long,short," default:"" placeholder:"TERM" help:"long or short. Not needed for a thread, which has only a short one."`
}

func (t termFlag) check(thread string) error {
	switch {
	case t.Term == "" && thread == "":
		return errors.New("--term is missing: want long or short")
	case t.Term == string(chat.LongTerm) && thread != "":
		return errors.New("--term long: a thread has only a short-term memory")
	}
	return checkThread(thread)
}

func (t termFlag) term() chat.Term { return cmp.Or(chat.Term(t.Term), chat.ShortTerm) }

type memoryCorrect struct {
	memoryArg
	termFlag
	Text string `placeholder:"TEXT" help:"The text. Without it, the text is read from standard input."`
	byFlag
	output
}

// Help implements kong's Help.
func (memoryCorrect) Help() string {
	return `Examples:
  starter memory correct general --term long < corrected.txt
  starter memory correct --term long --text="- 2026-03-01: Ann leads the launch."

The text becomes a new version with the origin operator, and replaces the current one. It needs
at least a letter or a digit. It may be half as long again as memory.long_term_summary_max_tokens
or memory.short_term_summary_max_tokens, at four bytes a token, and at most 1 MiB on standard
input. Later updates of a long-term memory, and of a thread's, build on the text. The short-term
memory of a channel or the workspace is rewritten from recent messages.`
}

// Validate implements kong's Validate.
func (c *memoryCorrect) Validate() error {
	if c.Text == "-" {
		return errors.New("--text -: leave out --text to read the text from standard input")
	}
	return c.check(c.Thread)
}

// maxInput bounds a text on standard input, in bytes.
const maxInput = 1 << 20

// readText reads, checks and normalises the text.
func (c *memoryCorrect) readText(p *program) (string, error) {
	text := c.Text
	if text == "" {
		read, err := io.ReadAll(io.LimitReader(p.stdin, maxInput+1))
		if err != nil {
			return "", fmt.Errorf("read the text: %w", err)
		}
		if len(read) > maxInput {
			return "", errors.New("the text is longer than 1 MiB")
		}
		text = string(read)
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", errors.New("the text is not valid UTF-8, or contains a NUL")
	}
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if !agents.HasWord(text) {
		return "", errors.New("the text has neither a letter nor a digit: to delete a memory, use `starter memory forget`")
	}
	key, tokens := "memory.short_term_summary_max_tokens", p.Config.Memory.ShortTermSummaryMaxTokens
	if c.term() == chat.LongTerm {
		key, tokens = "memory.long_term_summary_max_tokens", p.Config.Memory.LongTermSummaryMaxTokens
	}
	if most := agents.MaxSummaryBytes(tokens); len(text) > most {
		return "", fmt.Errorf("the text has %d bytes: want at most %d, because %s is %d", len(text), most, key, tokens)
	}
	return text, nil
}

func (c *memoryCorrect) run(ctx context.Context, p *program) error {
	text, err := c.readText(p)
	if err != nil {
		return err
	}
	db, scope, err := p.scope(ctx, c.Channel, c.Thread)
	if err != nil {
		return err
	}
	m, err := db.Correct(ctx, scope, c.term(), text, c.by(), orderID())
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no %s-term memory of %s to correct", c.term(), scope)
	}
	if err != nil {
		return err
	}
	return c.print(p.stdout, newMemoryReport(m, true), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "the %s-term memory of %s is version %d now, with your text\n", c.term(), scope, m.Version)
		return err
	})
}

type memoryRollback struct {
	memoryArg
	termFlag
	To int `required:"" placeholder:"VERSION" help:"The version to bring back."`
	byFlag
	output
}

// Help implements kong's Help.
func (memoryRollback) Help() string {
	return `Examples:
  starter memory rollback general --term long --to 3

The old text becomes a new version with the origin operator. What was learnt between the two
versions is lost. Later updates build on the old text.`
}

// Validate implements kong's Validate.
func (c *memoryRollback) Validate() error {
	if c.To < 1 {
		return fmt.Errorf("--to %d: want 1 or more", c.To)
	}
	return c.check(c.Thread)
}

func (c *memoryRollback) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, c.Thread)
	if err != nil {
		return err
	}
	term := c.term()
	m, err := db.Rollback(ctx, scope, term, c.To, c.by(), orderID())
	if err != nil {
		return noVersion(err, scope, term, c.To)
	}
	return c.print(p.stdout, newMemoryReport(m, true), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "the %s-term memory of %s is version %d now, with the text of version %d\n", term, scope, m.Version, c.To)
		return err
	})
}

type memoryForget struct {
	memoryArg
	Message   []string `placeholder:"TS,…" help:"Forget everything made from these messages of the channel, and never remember them."`
	Workspace bool     `help:"Forget the memory of the workspace, if no channel is named."`
	byFlag
	output
}

// Help implements kong's Help.
func (memoryForget) Help() string {
	return `Examples:
  starter memory forget general                              a channel and its threads
  starter memory forget general 1700000000.000100            a thread
  starter memory forget general --message 1700000000.000100
  starter memory forget --workspace

The texts of all versions are deleted for good, and with them whatever may have been made from
them: the memory of the workspace, if the channel is among its sources; and for a thread or a
message, later memories of the channel and of its other threads. These are made again from what
is left. The messages stay: delete them in Slack.`
}

// Validate implements kong's Validate.
func (c *memoryForget) Validate() error {
	for _, ts := range c.Message {
		if !chat.ValidTS(ts) {
			return fmt.Errorf("--message %q: want the ts of a message, such as 1700000000.000100", ts)
		}
	}
	switch {
	case c.Channel == "" && !c.Workspace:
		return errors.New("want a channel or --workspace")
	case c.Channel != "" && c.Workspace:
		return errors.New("--workspace cannot be combined with a channel")
	case len(c.Message) > 0 && c.Channel == "":
		return errors.New("--message needs a channel")
	case len(c.Message) > 0 && c.Thread != "":
		return errors.New("--message cannot be combined with a thread: its ts is enough")
	}
	return checkThread(c.Thread)
}

func (c *memoryForget) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, c.Thread)
	if err != nil {
		return err
	}
	done, err := c.forget(ctx, db, scope)
	if err != nil {
		return err
	}
	return c.print(p.stdout, done, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d texts deleted\n", done.Versions)
		for _, s := range done.Scopes {
			if err == nil {
				_, err = fmt.Fprintf(w, "no longer current: %s\n", s)
			}
		}
		return err
	})
}

func (c *memoryForget) forget(ctx context.Context, db *store.Store, scope chat.Scope) (store.ForgetResult, error) {
	if len(c.Message) == 0 {
		return db.Forget(ctx, scope, c.by(), orderID())
	}
	known, err := db.MessagesByTS(ctx, scope.Team, scope.Channel, c.Message)
	if err != nil {
		return store.ForgetResult{}, err
	}
	found := map[string]bool{}
	for _, m := range known {
		found[m.TS] = true
	}
	for _, ts := range c.Message {
		if !found[ts] {
			return store.ForgetResult{}, fmt.Errorf("message %s of %s is not in the database", ts, scope.Channel)
		}
	}
	return db.ForgetMessages(ctx, scope.Team, scope.Channel, c.Message, c.by(), orderID())
}
