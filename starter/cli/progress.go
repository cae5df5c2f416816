package cli

import (
	"fmt"
	"io"
	"os"

	"myao/internal/evaluate/eval"
)

// progress tells how far a run has got: in one line of a terminal, else in ten lines.
type progress struct {
	w        io.Writer
	terminal bool
	errors   int
	shown    bool
}

func (p *progress) report(done, all int, r eval.Row) {
	if r.Error != "" {
		p.errors++
	}
	line := fmt.Sprintf("%d of %d judged", done, all)
	if p.errors > 0 {
		line += fmt.Sprintf(", %d without a verdict", p.errors)
	}
	switch {
	case p.terminal:
		p.shown = true
		_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", line) // it only informs
	case done == all || done*10/all != (done-1)*10/all:
		_, _ = fmt.Fprintln(p.w, line)
	}
}

// end leaves the line of a terminal.
func (p *progress) end() {
	if p.shown {
		_, _ = fmt.Fprintln(p.w)
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
