package recall

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"myao/internal/chat"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/timeout"
)

// Transcripts reads what Slack has written down of recordings.
type Transcripts interface {
	// Available reports whether files can be read at all.
	Available() bool
	Transcript(ctx context.Context, f chat.File) (chat.Transcript, error)
}

const (
	// maxTranscripts is of how many recordings Slack is asked for one context, the newest first.
	maxTranscripts = 4
	// transcriptTimeout bounds that. While Slack is at work on one of them it is asked again every transcriptPause, if
	// the message is younger than transcriptSoon: whoever spoke waits for an answer.
	transcriptTimeout = 15 * time.Second
	transcriptPause   = 500 * time.Millisecond
	transcriptSoon    = 2 * time.Minute
	// transcriptLate is how old a message is whose transcript nobody looks for any more.
	transcriptLate = 24 * time.Hour
)

// recording is a file of a message, by their places.
type recording struct{ message, file int }

// withTranscripts returns messages with what Slack has written down of their recordings by now, and saves it. It comes
// after the message: where a person speaks and writes nothing, it is all that they say.
func (b *Builder) withTranscripts(ctx context.Context, messages []chat.Message) []chat.Message {
	if b.Transcripts == nil || !b.Transcripts.Available() {
		return messages
	}
	open := b.untranscribed(messages)
	if len(open) == 0 {
		return messages
	}
	ctx, cancel := timeout.After(ctx, transcriptTimeout)
	defer cancel()
	messages = slices.Clone(messages)
	for _, r := range open { // which others may hold
		messages[r.message].Files = slices.Clone(messages[r.message].Files)
	}
	var wg sync.WaitGroup
	for _, r := range open {
		wg.Go(func() { b.transcribe(ctx, messages[r.message], &messages[r.message].Files[r.file]) })
	}
	wg.Wait()
	return messages
}

// untranscribed are the recordings of which Slack may have more by now, the newest first.
func (b *Builder) untranscribed(messages []chat.Message) []recording {
	var open []recording
	for i, m := range messages {
		for k, f := range m.Files {
			age := b.Clock().Sub(m.Time())
			unknown := f.Transcript == chat.Transcript{} && age < transcriptSoon
			wanted := age < transcriptLate && (unknown || f.Transcript.Unfinished())
			if !m.Deleted && f.ID != "" && f.Recording() && wanted {
				open = append(open, recording{i, k})
			}
		}
	}
	slices.SortStableFunc(open, func(x, y recording) int {
		return cmp.Compare(messages[y.message].TS, messages[x.message].TS)
	})
	return open[:min(len(open), maxTranscripts)]
}

// transcribe reads the transcript of a recording into its file, and saves it.
func (b *Builder) transcribe(ctx context.Context, m chat.Message, f *chat.File) {
	for {
		got, err := b.Transcripts.Transcript(ctx, *f)
		if err == nil && got != f.Transcript {
			f.Transcript = got
			err = b.Store.SaveTranscript(context.WithoutCancel(ctx), m, *f)
		}
		switch {
		case err != nil:
			b.Logger.WarnContext(ctx, "the transcript of a recording is not known", "channel", m.Channel, "message", m.TS,
				"error", err)
			return
		case !got.Pending || b.Clock().Sub(m.Time()) > transcriptSoon || !pause.For(ctx, transcriptPause):
			return
		}
	}
}
