package document

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/runtime/timeout"
)

const (
	// within bounds how long a reply waits for the files of its message, all together.
	within = 3 * time.Second
	// atOnce is how many files of a message are shown without a call.
	atOnce = 4
	// maxText is how long a text is that is shown without a call, in characters.
	maxText = 8000
)

// small bounds what is shown without a call.
var small = limits{picture: 4 << 20, pdf: 4 << 20, office: 1 << 20, text: 4 * maxText}

// Shown returns the files of a message that are small enough to be shown at once: pictures and PDF files as
// such, and the text of others in text, which also has a line for each file that is not shown. If files
// cannot be read at all, it returns nothing.
func (r *Reader) Shown(ctx context.Context, _ chat.Conversation, m chat.Message) (files []llm.File, text string) {
	if len(m.Files) == 0 || m.Deleted || !r.Available() {
		return nil, ""
	}
	ctx, cancel := timeout.After(ctx, within)
	defer cancel()
	type result struct {
		content
		err error
	}
	results := make([]result, min(len(m.Files), atOnce))
	var wg sync.WaitGroup
	for i := range results {
		if f := m.Files[i]; !f.Transcript.ShownWhole() {
			wg.Go(func() { results[i].content, results[i].err = r.read(ctx, f, small) })
		}
	}
	wg.Wait()
	var lines []string
	for i, f := range m.Files {
		name := Name(f)
		if f.Transcript.ShownWhole() { // at its message
			continue
		}
		if i >= len(results) {
			lines = append(lines, name+" is not shown here: read_file reads it.")
			continue
		}
		got := results[i]
		refused, final := errors.AsType[*Refused](got.err)
		switch {
		case final && refused.TooLarge:
			lines = append(lines, name+" is too large to be shown here: read_file may read it.")
		case final:
			lines = append(lines, name+" "+refused.Reason+".")
		case got.err != nil:
			lines = append(lines, name+" could not be read in time: read_file reads it.")
		case got.shown == nil && utf8.RuneCountInString(got.text) > maxText:
			lines = append(lines, name+" is too long to be shown here: read_file reads it.")
		default:
			if got.shown != nil {
				got.text = "" // which the model reads in the PDF
			}
			line, shown := r.written(f, got.content)
			lines, files = append(lines, line), append(files, shown...)
		}
	}
	return files, strings.Join(lines, "\n\n")
}
