package cli

import (
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
		return "", errors.New("the text has neither a letter nor a digit: to delete a memory, use `starter memory " +
			"forget`")
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
		_, err := fmt.Fprintf(w, "the %s-term memory of %s is version %d now, with your text\n", c.term(), scope,
			m.Version)
		return err
	})
}
