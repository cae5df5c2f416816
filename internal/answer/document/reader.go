// Package document turns a file in Slack into what a model gets: its text, or a picture or PDF as such. The
// record of a file is read anew each time, since addresses in Slack age, and what a file is decides
// its content, not its claimed type.
package document

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"myao/internal/answer/document/charset"
	"myao/internal/answer/document/decoding"
	"myao/internal/answer/document/office"
	"myao/internal/answer/document/pdf"
	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
)

// Scope is the scope that the app needs to read files.
const Scope = "files:read"

// Slack has the files.
type Slack interface {
	FileInfo(ctx context.Context, id string) (slack.File, error)
	Download(ctx context.Context, f slack.File, limit int64) ([]byte, error)
	// Lacks reports whether the token is known to have no such scope.
	Lacks(scope string) bool
}

// PDF reads the text of PDF files. Its error is pdf.ErrUnreadable, or one that passes.
type PDF interface {
	Text(ctx context.Context, file []byte) (string, error)
}

// Reader reads files. It is safe for concurrent use.
type Reader struct {
	slack Slack
	pdf   PDF
	// material writes text from elsewhere as material for a model: none of it looks like structure.
	material func(string) string
	logger   *slog.Logger
	// Memory is what files take while they are read. A process that reads pages as well has one for both.
	Memory *decoding.Memory
	// Metrics counts files; nil if nobody does.
	Metrics *Metrics
}

// New makes a Reader.
func New(s Slack, p PDF, material func(string) string, logger *slog.Logger) *Reader {
	return &Reader{slack: s, pdf: p, material: material, logger: logger, Memory: decoding.New()}
}

// For returns a Reader of another workspace's files, with the same memory.
func (r *Reader) For(s Slack) *Reader {
	other := *r
	other.slack = s
	return &other
}

// Available reports whether files can be read at all.
func (r *Reader) Available() bool { return !r.slack.Lacks(Scope) }

// content is what a file holds.
type content struct {
	// text is its text, not yet written as material; cut is set if that is only its beginning.
	text string
	cut  bool
	// guess is the encoding that the text was read in, if that is a guess.
	guess string
	// spoken is set if the text is the transcript of a recording.
	spoken bool
	// shown is the picture or the PDF itself; nil for a text.
	shown *llm.File
}

// Refused is an error of the file: it cannot be read, and will not be.
type Refused struct {
	// Reason is for a model: what follows "The file NAME" in a sentence, without a full stop.
	Reason string
	// TooLarge is set if only its size is the reason.
	TooLarge bool
}

func (r *Refused) Error() string { return r.Reason }

func refusef(format string, args ...any) error { return &Refused{Reason: fmt.Sprintf(format, args...)} }

func tooLarge(what string, most int64) error {
	return &Refused{Reason: fmt.Sprintf("is too large: only %s of at most %s can be read", what, size(most)),
		TooLarge: true}
}

// limits bound what is downloaded of a file, in bytes, by what it is.
type limits struct{ picture, pdf, office, text int64 }

// textBytes is what a text takes while it is read, a byte: it is decoded, or is the HTML of a canvas.
const textBytes = 50

// maxCharacters bounds what is written as material of a text, which takes time.
const maxCharacters = 200_000

// most bounds every file that is asked for by name.
var most = limits{picture: 20 << 20, pdf: 10 << 20, office: 10 << 20, text: 4 << 20}

// Read reads a file. text is its text as material, under its name; files has a picture or a PDF
// itself. It returns a Refused, or an error of Slack's that should be tried again.
func (r *Reader) Read(ctx context.Context, f chat.File) (text string, files []llm.File, err error) {
	got, err := r.read(ctx, f, most)
	if err != nil {
		return "", nil, err
	}
	text, files = r.written(f, got)
	return text, files, nil
}

// Name is the name of a file in a sentence. Whatever somebody has called it, it is on one line.
func Name(f chat.File) string { return fmt.Sprintf("The file %q", f.Name) }

// written is a file as a model gets it.
func (r *Reader) written(f chat.File, c content) (text string, files []llm.File) {
	n := 0
	for at := range c.text {
		if n++; n > maxCharacters {
			c.text, c.cut = c.text[:at], true
			break
		}
	}
	text = Name(f)
	if c.guess != "" {
		text += fmt.Sprintf(" (read as %s, a guess)", c.guess)
	}
	if c.shown != nil {
		text += " is shown itself."
		files = []llm.File{*c.shown}
	}
	if c.spoken {
		text += " is a recording. This is Slack's transcript of it, which may be misheard"
	}
	switch {
	case c.text == "":
		return text, files
	case c.shown != nil && !c.cut:
		text += " Its text"
	case c.shown != nil:
		text += " The beginning of its text"
	case c.cut:
		text += ", of which only the beginning could be read"
	}
	return text + ":\n\n" + r.material(c.text), files
}

func (r *Reader) read(ctx context.Context, f chat.File, l limits) (c content, err error) {
	defer func() { r.Metrics.count(f, c, err) }()
	if f.ID == "" {
		return content{}, refusef("cannot be read: Slack gives no id of it")
	}
	info, err := r.slack.FileInfo(ctx, f.ID)
	if err != nil {
		return content{}, r.refusal(ctx, err, info, 0)
	}
	switch {
	case info.Deleted:
		return content{}, refusef("was deleted in Slack, or is hidden there")
	case info.Denied:
		return content{}, refusef("cannot be read: Slack does not let this app see it")
	case info.External:
		return content{}, refusef("is not in Slack but on another server: no more is known of it than its name")
	case info.Transcript.Text != "" || info.Transcript.Cut:
		t, err := r.transcript(ctx, info)
		if err != nil || t.Text != "" {
			return content{text: t.Text, cut: t.Cut, spoken: true}, err
		}
		return content{}, refusef("cannot be read: Slack does not give its transcript")
	case info.Transcript.Pending:
		return content{}, refusef("cannot be read yet: Slack is still writing down what is said in it")
	case post(info) && info.Text != "":
		return content{text: info.Text, cut: info.Cut}, nil
	case info.URL == "" && info.Text != "":
		return content{text: info.Text, cut: info.Cut}, nil
	case info.URL == "" || post(info):
		return content{}, refusef("cannot be read: Slack does not give its content to apps")
	}
	limit := l.of(info)
	if limit == 0 {
		return content{}, refusef("cannot be read: it is %s. No more is known of it than its name", kindOf(info))
	}
	release, err := r.Memory.Body(ctx, limit)
	if err != nil {
		return content{}, err
	}
	defer release()
	body, err := r.slack.Download(ctx, info, limit)
	if err != nil {
		err = r.refusal(ctx, err, info, limit)
		if _, refused := errors.AsType[*Refused](err); refused && info.Text != "" {
			return content{text: info.Text, cut: true}, nil
		}
		return content{}, err
	}
	return r.content(ctx, info, body, l)
}

// post reports whether a file is a post of Slack's old kind, whose content is no text.
func post(f slack.File) bool { return f.Mode == "post" || f.Mode == "space" || f.Type == "space" }

// refusal turns an error of Slack's into a Refused if it is final.
func (r *Reader) refusal(ctx context.Context, err error, info slack.File, limit int64) error {
	e, ok := errors.AsType[*slack.Error](err)
	switch {
	case !ok || e.Retryable() || e.TimedOut():
		return err
	case e.MissingScope():
		r.logger.ErrorContext(ctx, "a file cannot be read: the Slack app needs the scope files:read, and must be "+
			"installed again", "error", err)
		return refusef("cannot be read: this app may not read files until somebody gives it the scope files:read")
	case e.TooLarge():
		return tooLarge(plural[claimed(info)], limit)
	case slices.Contains([]string{"file_deleted", "file_not_found", "http_404", "http_410"}, e.Code):
		return refusef("cannot be read: it is no longer in Slack")
	}
	r.logger.WarnContext(ctx, "file not read", "error", err)
	return refusef("cannot be read: Slack refuses it (%s)", e.Code)
}

// of is how much of a file is downloaded at most; 0 if it is claimed to be what cannot be read, and too
// large to be looked at.
func (l limits) of(f slack.File) int64 {
	switch {
	case strings.HasPrefix(f.MIME, "image/"):
		return l.picture
	case f.MIME == "application/pdf":
		return l.pdf
	case isOffice(f):
		return l.office
	case kindOf(f) == "" || f.Size > 0 && f.Size <= l.text: // by their names, programs pass for videos
		return l.text
	}
	return 0
}

// content reads a file whose bytes are known.
func (r *Reader) content(ctx context.Context, info slack.File, body []byte, l limits) (c content, err error) {
	defer func() {
		if recover() != nil { // of a decoder that a hostile file has outwitted
			r.logger.ErrorContext(ctx, "a file made its decoder fail", "file", info.ID)
			c, err = content{}, refusef("cannot be read: it is damaged")
		}
	}()
	kind := http.DetectContentType(body)
	if strings.HasPrefix(string(body), pdf.Magic) {
		kind = "application/pdf"
	}
	switch {
	case len(body) == 0:
		return content{}, refusef("is empty")
	case kind == "application/pdf":
		return r.document(ctx, info, body, l)
	case office.Is(body):
		return r.office(ctx, info, body, l)
	case slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		if int64(len(body)) > l.picture {
			return content{}, tooLarge("pictures", l.picture)
		}
		return r.picture(ctx, info, body)
	}
	release, err := r.Memory.Scratch(ctx, int64(len(body))*textBytes)
	if err != nil {
		return content{}, err
	}
	defer release()
	read, ok := charset.Read(body, "", false)
	switch {
	case !ok && kindOf(info) != "":
		return content{}, refusef("cannot be read: it is %s", kindOf(info))
	case !ok:
		return content{}, refusef("cannot be read: it is no text, no PDF and no picture (PNG, JPEG, WebP, GIF)")
	case int64(len(body)) > l.text:
		return content{}, tooLarge("texts", l.text)
	}
	c = content{text: read.Text, guess: read.Guess}
	if info.Canvas() {
		c.text, c.cut = canvas(c.text)
	}
	if strings.TrimSpace(c.text) == "" {
		return content{}, refusef("has no text")
	}
	return c, nil
}

// document is a PDF, with its text.
func (r *Reader) document(ctx context.Context, info slack.File, body []byte, l limits) (content, error) {
	if int64(len(body)) > l.pdf {
		return content{}, tooLarge("PDF files", l.pdf)
	}
	release, err := r.Memory.Scratch(ctx, decoding.MaxScratch)
	if err != nil {
		return content{}, err
	}
	defer release()
	text, err := r.pdf.Text(ctx, body)
	switch {
	case errors.Is(err, pdf.ErrUnreadable):
		return content{}, refusef("cannot be read: the PDF is damaged or needs a password")
	case err != nil:
		return content{}, err
	}
	return content{text: text, shown: &llm.File{Name: info.Name, MIME: "application/pdf", Data: body}}, nil
}

// office is an office file, as text.
func (r *Reader) office(ctx context.Context, info slack.File, body []byte, l limits) (content, error) {
	if int64(len(body)) > l.office {
		return content{}, tooLarge("office files", l.office)
	}
	release, err := r.Memory.Scratch(ctx, office.Scratch)
	if err != nil {
		return content{}, err
	}
	defer release()
	reading, cancel := timeout.After(ctx, officeTimeout)
	defer cancel()
	read, err := office.Read(reading, body, utf8.UTFMax*(maxCharacters+1))
	switch {
	case ctx.Err() != nil:
		return content{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return content{}, refusef("cannot be read: it takes too long")
	case errors.Is(err, office.ErrPassword):
		return content{}, refusef("cannot be read: it needs a password")
	case errors.Is(err, office.ErrOld):
		return content{}, refusef("cannot be read: it is %s", oldOffice)
	case errors.Is(err, office.ErrLarge):
		return content{}, refusef("is too large: it unpacks to more than can be read")
	case errors.Is(err, office.ErrOther) && kindOf(info) != "":
		return content{}, refusef("cannot be read: it is %s", kindOf(info))
	case errors.Is(err, office.ErrOther):
		return content{}, refusef("cannot be read: it is an archive")
	case errors.Is(err, office.ErrDamaged):
		return content{}, refusef("cannot be read: it is damaged")
	case err != nil:
		return content{}, err
	case read.Text == "":
		return content{}, refusef("has no text")
	}
	return content{text: read.Text, cut: read.Cut}, nil
}

// officeTimeout bounds the reading of an office file.
const officeTimeout = 10 * time.Second

// isOffice reports whether a file is claimed to be an office file that can be read.
func isOffice(f slack.File) bool {
	for _, mime := range []string{"application/vnd.openxmlformats-", "application/vnd.oasis.opendocument."} {
		if strings.HasPrefix(f.MIME, mime) {
			return true
		}
	}
	return slices.Contains([]string{".docx", ".docm", ".xlsx", ".xlsm", ".pptx", ".pptm", ".odt", ".ods", ".odp"},
		strings.ToLower(path.Ext(f.Name)))
}

const oldOffice = "an office file of the old kind; saved as .docx, .xlsx or .pptx, or as a PDF, it could be"

// kinds name what cannot be read, by the beginning of a claimed type or by the end of a name.
var kinds = []struct{ mime, names, kind string }{
	{"video/", ".mp4 .mov .webm .mkv .avi", "a video of which Slack has no transcript"},
	{"audio/", ".mp3 .m4a .wav .ogg .flac", "a sound recording of which Slack has no transcript"},
	{"application/vnd.ms-", ".xls .ppt", oldOffice},
	{"application/msword", ".doc", oldOffice},
	{"application/zip", ".zip .gz .tgz .tar .7z .rar", "an archive"},
	{"application/gzip", "", "an archive"},
	{"image/", ".heic .heif .avif .tif .tiff .bmp .psd",
		"a picture of a kind that models do not take; as a PNG or JPEG it could be"},
}

// kindOf says what a file is claimed to be that cannot be read; "" for any other.
func kindOf(f slack.File) string {
	end := strings.ToLower(path.Ext(f.Name))
	for _, k := range kinds {
		if strings.HasPrefix(f.MIME, k.mime) || end != "" && slices.Contains(strings.Fields(k.names), end) {
			return k.kind
		}
	}
	return ""
}

// plural names the kinds of files in a sentence.
var plural = map[string]string{"picture": "pictures", "pdf": "PDF files", "office": "office files", "text": "texts"}

// claimed is the kind that a file is claimed to be.
func claimed(f slack.File) string {
	switch {
	case strings.HasPrefix(f.MIME, "image/"):
		return "picture"
	case f.MIME == "application/pdf":
		return "pdf"
	case isOffice(f):
		return "office"
	}
	return "text"
}

// size writes a number of bytes.
func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
