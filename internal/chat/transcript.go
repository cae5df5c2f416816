package chat

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxTranscript bounds what is kept of a transcript, in characters: about half an hour of speech.
const MaxTranscript = 20_000

// ShownTranscript is how long a transcript is that stands in a prompt as a whole, in characters.
const ShownTranscript = 4000

// Transcript is what is said in a recording, as Slack has written it down. The zero value is that of a recording of
// which Slack has no transcript.
type Transcript struct {
	// Text has a line for each change of speaker, where the speakers are known.
	Text string `json:"text,omitempty"`
	// Cut is set if Text is only the beginning.
	Cut bool `json:"cut,omitempty"`
	// Pending is set while Slack is still at work on it.
	Pending bool `json:"pending,omitempty"`
}

// ShownWhole reports whether a prompt has all of it.
func (t Transcript) ShownWhole() bool {
	return t.Text != "" && !t.Cut && utf8.RuneCountInString(t.Text) <= ShownTranscript
}

// Unfinished reports whether Slack may have more of it than is known.
func (t Transcript) Unfinished() bool {
	return t.Pending || t.Cut && utf8.RuneCountInString(t.Text) < MaxTranscript
}

// Recording reports whether a file is sound or video.
func (f File) Recording() bool {
	return strings.HasPrefix(f.MIME, "audio/") || strings.HasPrefix(f.MIME, "video/")
}

// SameFiles reports whether two lists have the same files, whatever is known of their transcripts.
func SameFiles(a, b []File) bool {
	return slices.EqualFunc(a, b, func(a, b File) bool {
		a.Transcript, b.Transcript = Transcript{}, Transcript{}
		return a == b
	})
}

// WithTranscripts returns files with those transcripts that were known of them before, where Slack now tells less: what
// comes with a message is only the beginning of a transcript.
func WithTranscripts(files, known []File) []File {
	files = slices.Clone(files)
	for i, f := range files {
		for _, before := range known {
			if f.ID != "" && before.ID == f.ID && len(before.Transcript.Text) > len(f.Transcript.Text) {
				files[i].Transcript = before.Transcript
			}
		}
	}
	return files
}

// Spoken returns what is said in a message's recordings.
func (m Message) Spoken() string {
	var said []string
	for _, f := range m.Files {
		if f.Transcript.Text != "" {
			said = append(said, f.Transcript.Text)
		}
	}
	return strings.Join(said, "\n")
}

// Said returns what the author of a message says: its text, or what is said in its recordings if it has none.
func (m Message) Said() string {
	if strings.TrimSpace(m.Text) == "" {
		return m.Spoken()
	}
	return m.Text
}
