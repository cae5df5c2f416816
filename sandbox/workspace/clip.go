package workspace

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"myao/internal/chat"
)

// Clip is a recording as Slack's composer makes it, with the transcript that Slack makes of it.
type Clip struct {
	// VTT is the transcript, in WebVTT; without one there is no transcript.
	VTT string
	// Looks is how often files.info finds Slack still at work on it.
	Looks int
	// Failed is set if Slack cannot make one.
	Failed bool
}

// Transcription is what a file's record has of its transcript. Its shape is that of FileTranscription in
// github.com/slack-go/slack.
type Transcription struct {
	Status  string                `json:"status"` // processing, complete, none or failed
	Locale  string                `json:"locale,omitempty"`
	Preview *TranscriptionPreview `json:"preview,omitempty"`
}

// TranscriptionPreview is the beginning of a transcript.
type TranscriptionPreview struct {
	Content string `json:"content"`
	HasMore bool   `json:"has_more"`
}

// transcriptionBytes limits the preview of a transcript.
const transcriptionBytes = 200

// clipPaths begin the paths of transcripts.
const clipPaths = "/files-tmb/"

// WithClip attaches a recording: a voice clip unless mimetype is a video's.
func WithClip(name, mimetype string, content []byte, c Clip) SayOption {
	return func(s *saying) {
		WithFile(name, cmp.Or(mimetype, "audio/mp4"), content)(s)
		f := s.files[len(s.files)-1]
		f.clip = &c
		f.Subtype, f.MediaDisplayType = "slack_audio", "audio"
		if strings.HasPrefix(f.Mimetype, "video/") {
			f.Subtype, f.MediaDisplayType = "slack_video", "video"
		}
	}
}

var (
	cueHead = regexp.MustCompile(`(?m)^(?:WEBVTT.*|\S* *-->.*|\d+)$`)
	cueTags = regexp.MustCompile(`<[^>]*>`)
)

// transcribe sets what the record of a clip says of its transcript.
func (f *storedFile) transcribe() {
	switch {
	case f.clip == nil:
	case f.clip.Looks > 0:
		f.Transcription = &Transcription{Status: "processing"}
	case f.clip.Failed:
		f.Transcription = &Transcription{Status: "failed"}
	case f.clip.VTT == "":
		f.Transcription = &Transcription{Status: "none"}
	default:
		said := strings.Join(strings.Fields(cueTags.ReplaceAllString(cueHead.ReplaceAllString(f.clip.VTT, ""), "")), " ")
		begun := beginningOf(said, transcriptionBytes)
		f.Transcription = &Transcription{Status: "complete", Locale: "en-US",
			Preview: &TranscriptionPreview{Content: begun, HasMore: len(begun) < len(said)}}
	}
}

// lookAt is a look at the record of a clip, which may be the one that finds the transcript. Callers hold mu.
func (w *Workspace) lookAt(f *storedFile) {
	if f.clip == nil || f.clip.Looks == 0 {
		return
	}
	f.clip.Looks--
	f.transcribe()
	for _, m := range w.channelByID(f.channel).messages {
		if i := slices.IndexFunc(m.Files, func(of File) bool { return of.ID == f.ID }); i >= 0 {
			m.Files[i] = f.File
		}
	}
}

// asClips takes a transcript that stands beside a recording of its name, such as note.vtt beside note.m4a, for the one
// that Slack makes.
func asClips(attached []pageAttachment) (opts []SayOption) {
	stem := func(f pageAttachment) string { return strings.TrimSuffix(f.Name, path.Ext(f.Name)) }
	isVTT := func(f pageAttachment) bool { return strings.EqualFold(path.Ext(f.Name), ".vtt") }
	isClip := func(f pageAttachment) bool { return chat.File{MIME: f.Type}.Recording() }
	for _, f := range attached {
		beside := func(other pageAttachment) bool {
			return stem(other) == stem(f) && (isVTT(f) && isClip(other) || isClip(f) && isVTT(other))
		}
		i := slices.IndexFunc(attached, beside)
		switch {
		case isClip(f) && i >= 0:
			opts = append(opts, WithClip(f.Name, f.Type, f.Content, Clip{VTT: string(attached[i].Content)}))
		case isClip(f):
			opts = append(opts, WithClip(f.Name, f.Type, f.Content, Clip{}))
		case i < 0:
			opts = append(opts, WithFile(f.Name, f.Type, f.Content))
		}
	}
	return opts
}
