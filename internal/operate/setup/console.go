package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// maxLine bounds an answer, in bytes.
const maxLine = 16 << 10

// console asks questions, one a line.
type console struct {
	in *bufio.Reader
	// terminal is the descriptor of the input where that is a terminal; otherwise -1.
	terminal int
	out      io.Writer
	// yes takes the default of each question.
	yes bool
}

func newConsole(in io.Reader, out io.Writer, yes bool) *console {
	c := &console{in: bufio.NewReaderSize(in, maxLine), terminal: -1, out: out, yes: yes}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.terminal = int(f.Fd())
	}
	return c
}

// say prints a line.
func (c *console) say(format string, args ...any) {
	_, _ = fmt.Fprintln(c.out, printable(fmt.Sprintf(format, args...)))
}

// prompt is what one line is asked for.
type prompt struct {
	text string
	// enter is the answer that an empty line takes; empty: none.
	enter string
	// shown is shown in place of enter.
	shown string
	// optional says that the answer may be empty.
	optional bool
	// variable is the variable of the environment that a secret comes from.
	variable string
	// fold makes the answer lower case.
	fold bool
}

// ask asks for a line. Its errors are a refusal, and what ends the whole run.
func (c *console) ask(ctx context.Context, p prompt) (string, error) {
	if p.shown == "" {
		p.shown = p.enter
	}
	return c.line(ctx, p, false)
}

// askHidden asks for a line that is not shown.
func (c *console) askHidden(ctx context.Context, p prompt) (string, error) {
	switch {
	case p.enter == "":
	case p.variable != "":
		p.shown = "that of " + p.variable
	default:
		p.shown = "the same again"
	}
	answer, err := c.line(ctx, p, true)
	if err == nil && !plain(answer) {
		return "", refuse("a token or a key has only letters, digits and signs, and neither spaces, quotes nor " +
			"backslashes")
	}
	return answer, err
}

func (c *console) line(ctx context.Context, p prompt, hidden bool) (string, error) {
	text := "   " + p.text
	if p.shown != "" {
		text += " [" + p.shown + "]"
	}
	_, _ = fmt.Fprint(c.out, printable(text)+": ")
	answer := ""
	if c.yes {
		c.say("")
	} else {
		var err error
		if answer, err = c.read(ctx, hidden); err != nil {
			return "", err
		}
	}
	answer = strings.TrimSpace(answer)
	if p.fold {
		answer = strings.ToLower(answer)
	}
	switch {
	case !utf8.ValidString(answer) || strings.ContainsFunc(answer, unprintable):
		return "", refuse("the answer has characters that cannot be printed")
	case answer != "":
		return answer, nil
	case p.enter == "" && !p.optional && p.variable != "":
		return "", refuse("an answer is needed; the variable %s may have it, too", p.variable)
	case p.enter == "" && !p.optional:
		return "", refuse("an answer is needed")
	}
	return p.enter, nil
}

// unprintable reports whether a character is one that could deceive a reader or break a line.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Cf)
}

// printable replaces what could deceive a reader. Slack chooses some of the names.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return ' '
		}
		return r
	}, s)
}

// plain reports whether a secret can be written to .env in a form that every reader of such files
// understands alike.
func plain(secret string) bool {
	return !strings.ContainsFunc(secret, func(r rune) bool {
		return r <= ' ' || r > '~' ||
			strings.ContainsRune(`'"\`+"`", r)
	})
}

// read reads a line, without echo if it is hidden. It ends with the context, too.
func (c *console) read(ctx context.Context, hidden bool) (string, error) {
	type result struct {
		line string
		err  error
	}
	read, restore := c.readLine, func() {}
	if hidden && c.terminal >= 0 {
		read = c.readHidden
		if state, err := term.GetState(c.terminal); err == nil {
			restore = func() { _ = term.Restore(c.terminal, state) }
		}
	}
	got := make(chan result, 1)
	go func() {
		line, err := read()
		got <- result{line, err}
	}()
	select {
	case r := <-got:
		if c.terminal < 0 || hidden {
			c.say("") // what a terminal shows of Enter
		}
		if errors.Is(r.err, io.EOF) {
			return "", errors.New("the input ended before the last question")
		}
		return r.line, r.err
	case <-ctx.Done():
		restore()
		c.say("")
		return "", context.Cause(ctx)
	}
}

func (c *console) readLine() (string, error) {
	line, err := c.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", fmt.Errorf("an answer is longer than %d bytes", maxLine)
	case errors.Is(err, io.EOF) && len(line) > 0:
		err = nil // the last line may have no end
	}
	return string(line), err
}

func (c *console) readHidden() (string, error) {
	line, err := term.ReadPassword(c.terminal)
	if err == nil && len(line) > maxLine {
		err = fmt.Errorf("an answer is longer than %d bytes", maxLine)
	}
	return string(line), err
}
