package workspace

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// File is the record of a file (docs.slack.dev/reference/objects/file-object).
type File struct {
	ID       string `json:"id"`
	Created  int64  `json:"created,omitempty"` // seconds
	Name     string `json:"name,omitempty"`
	Title    string `json:"title,omitempty"`
	Mimetype string `json:"mimetype,omitempty"`
	Filetype string `json:"filetype,omitempty"`
	User     string `json:"user,omitempty"`
	Size     int    `json:"size,omitempty"`
	// Mode is hosted, snippet for text, or tombstone for a deleted file, which keeps only its id.
	Mode string `json:"mode"`
	// FileAccess is visible, or empty for a tombstone.
	FileAccess string `json:"file_access,omitempty"`
	// The addresses are on the sandbox's own host; empty before the first call of the Web API.
	URLPrivate         string `json:"url_private,omitempty"`
	URLPrivateDownload string `json:"url_private_download,omitempty"`
	// Preview is the beginning of a snippet.
	Preview          string `json:"preview,omitempty"`
	PreviewTruncated bool   `json:"preview_is_truncated,omitempty"`
	// Subtype is slack_audio or slack_video for a clip; its transcript is at VTT once it is complete.
	Subtype          string         `json:"subtype,omitempty"`
	MediaDisplayType string         `json:"media_display_type,omitempty"`
	VTT              string         `json:"vtt,omitempty"`
	Transcription    *Transcription `json:"transcription,omitempty"`
}

// storedFile is a file of the workspace. A deleted one has no content.
type storedFile struct {
	File
	channel string
	content []byte
	clip    *Clip // nil for any other file
}

// filesScope is what reading files needs (docs.slack.dev/reference/scopes/files.read).
const filesScope = "files:read"

// filePaths begin the paths of files' content.
const filePaths = "/files-pri/"

const (
	// previewBytes and previewLines limit the preview of a snippet.
	previewBytes, previewLines = 1_000, 5
	// snippetBytes limits the content in the answer of files.info.
	snippetBytes = 64 << 10
)

// WithFile attaches a file. mimetype is what Slack claims that it is; if empty, it is guessed from
// the content.
func WithFile(name, mimetype string, content []byte) SayOption {
	return func(s *saying) {
		s.files = append(s.files, &storedFile{content: content, File: File{
			Name: name, Title: name, Mimetype: cmp.Or(mimetype, contentType(content)), Size: len(content),
		}})
	}
}

// contentType guesses a MIME type without parameters.
func contentType(content []byte) string {
	mimetype, _, _ := strings.Cut(http.DetectContentType(content), ";")
	return mimetype
}

// filetypes are Slack's names of types that differ from the extension
// (docs.slack.dev/reference/objects/file-object, "File types").
var filetypes = map[string]string{
	"txt": "text", "log": "text", "": "text", "jpeg": "jpg", "md": "markdown", "py": "python", "js": "javascript",
	"sh": "shell", "yml": "yaml", "htm": "html",
}

// store keeps the files of a new message. Callers hold mu.
func (w *Workspace) store(c *Channel, m *Message, files []*storedFile) {
	for _, f := range files {
		f.ID, f.channel, f.User, f.Created = w.nextID("F"), c.ID, m.User, w.cfg.Clock().Unix()
		extension := strings.ToLower(strings.TrimPrefix(path.Ext(f.Name), "."))
		f.Mode, f.FileAccess, f.Filetype = "hosted", "visible", cmp.Or(filetypes[extension], extension)
		if (strings.HasPrefix(f.Mimetype, "text/") || f.Mimetype == "application/json") && utf8.Valid(f.content) {
			f.Mode = "snippet"
			f.Preview, f.PreviewTruncated = preview(string(f.content))
		}
		f.transcribe()
		w.files[f.ID] = f
		m.Files = append(m.Files, f.File)
	}
}

func preview(text string) (beginning string, cut bool) {
	lines := strings.SplitAfterN(text, "\n", previewLines+1)
	beginning = strings.Join(lines[:min(len(lines), previewLines)], "")
	beginning = beginningOf(beginning, previewBytes)
	return beginning, len(beginning) < len(text)
}

// beginningOf returns at most limit bytes of a text, without half a character at the end.
func beginningOf(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}

// addressed sets the addresses of files, which are on the host that the Web API was last called at.
// Callers hold mu.
func (w *Workspace) addressed(files []File) []File {
	for i := range files {
		f := &files[i]
		if w.host == "" || f.Mode == tombstone {
			continue
		}
		base, name := "http://"+w.host+filePaths+w.cfg.Team+"-"+f.ID+"/", addressName(f.Name)
		f.URLPrivate, f.URLPrivateDownload = base+name, base+"download/"+name
		if f.Transcription != nil && f.Transcription.Status == "complete" {
			f.VTT = "http://" + w.host + clipPaths + w.cfg.Team + "-" + f.ID + "/file.vtt"
		}
	}
	return files
}

// addressName is a file's name as it stands in an address: in plain characters, as Slack writes it.
func addressName(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r == '.' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return '_'
	}, name)
	return cmp.Or(strings.Trim(plain, "."), "_")
}

const tombstone = "tombstone"

// DeleteFile deletes a file: what is left of it in its message is a tombstone.
func (w *Workspace) DeleteFile(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.files[id]
	if f == nil {
		return
	}
	w.discard([]File{f.File})
	for _, m := range w.channelByID(f.channel).messages {
		i := slices.IndexFunc(m.Files, func(of File) bool { return of.ID == id })
		if i < 0 {
			continue
		}
		before := m.clone()
		m.Files[i] = f.File
		w.hub.send(change{Kind: "message", Channel: f.channel, Message: m.clone()})
		w.emitChanged(w.channelByID(f.channel), w.nextTS(), m, before)
	}
	w.notify()
}

// discard makes files tombstones. Callers hold mu.
func (w *Workspace) discard(files []File) {
	for _, of := range files {
		if f := w.files[of.ID]; f != nil {
			f.content, f.clip, f.File = nil, nil, File{ID: f.ID, Mode: tombstone}
		}
	}
}

// filesInfo returns the record of a file, and a snippet's content
// (docs.slack.dev/reference/methods/files.info).
func (c *call) filesInfo() (reply, error) {
	if !c.granted(filesScope) {
		return nil, apiError("missing_scope")
	}
	f := c.files[c.Get("file")]
	switch {
	case f == nil, !c.botIn(c.channelByID(f.channel)):
		return nil, apiError("file_not_found")
	case f.Mode == tombstone:
		return nil, apiError("file_deleted")
	}
	defer c.lookAt(f)
	answer := reply{"file": c.addressed([]File{f.File})[0], "comments": []any{},
		"response_metadata": reply{"next_cursor": ""}}
	if f.Mode == "snippet" {
		text := beginningOf(string(f.content), snippetBytes)
		answer["content"], answer["is_truncated"] = text, len(text) < len(f.content)
	}
	return answer, nil
}

// granted reports whether the token has a scope.
func (w *Workspace) granted(scope string) bool {
	return w.cfg.Scopes == nil || slices.Contains(w.cfg.Scopes, scope)
}

// signInPage is what Slack serves with status 200 in place of a file that the token does not open
// (seen in github.com/slackapi/bolt-js/issues/2021).
const signInPage = `<!DOCTYPE html><html lang="en"><head><title>Sign in | Slack</title></head><body><form action="/signin" method="post"></form></body></html>`

// fileMethod is the method of a download in the log of calls.
const fileMethod = "files-pri"

// serveFile serves a file's content at its url_private and url_private_download, and a transcript at its vtt, to the
// bot's token in the header (docs.slack.dev/reference/objects/file-object, "Authentication").
func (w *Workspace) serveFile(rw http.ResponseWriter, r *http.Request) {
	vtt, ofClip := strings.CutPrefix(r.URL.Path, clipPaths)
	place, _, _ := strings.Cut(strings.TrimPrefix(vtt, filePaths), "/")
	id := strings.TrimPrefix(place, w.cfg.Team+"-")
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	entry := Call{Method: fileMethod, Args: url.Values{"file": {id}}, At: w.cfg.Clock(), Status: http.StatusOK}
	w.mu.Lock()
	refusal := w.refuses(token)
	f := w.files[id]
	known := f != nil && w.botIn(w.channelByID(f.channel)) && f.Mode != tombstone && (!ofClip || f.clip != nil)
	var kept storedFile
	if known {
		kept = *f
		if ofClip {
			kept.Mimetype, kept.content = "text/vtt", []byte(f.clip.VTT)
		}
	}
	w.mu.Unlock()
	defer func() { w.record(entry) }()
	switch {
	case refusal != "", !w.granted(filesScope):
		entry.Error = "signed_out"
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(rw, signInPage)
	case !known:
		entry.Status, entry.Error = http.StatusNotFound, "file_not_found"
		http.Error(rw, "file not found", http.StatusNotFound)
	default:
		rw.Header().Set("Content-Type", kept.Mimetype)
		_, _ = rw.Write(kept.content)
	}
}

// pictures are the types that the page shows as pictures.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// pageFile serves a file's content to the page: a picture as such, anything else only as a
// download, so that no file becomes a document of the page's origin.
func (w *Workspace) pageFile(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	var kept storedFile
	if f := w.files[r.URL.Query().Get("id")]; f != nil {
		kept = *f
	}
	w.mu.Unlock()
	if kept.ID == "" || kept.Mode == tombstone {
		http.NotFound(rw, r)
		return
	}
	header, mimetype := rw.Header(), contentType(kept.content)
	if !slices.Contains(pictures, mimetype) {
		mimetype = "application/octet-stream"
		header.Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(kept.Name))
	}
	header.Set("Content-Type", mimetype)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "private, max-age=3600") // an id never gets other content
	_, _ = rw.Write(kept.content)
}

// pageFiles decodes what the page attaches.
func pageFiles(attached []pageAttachment) ([]SayOption, error) {
	size := 0
	for _, f := range attached {
		size += len(f.Content)
		switch {
		case strings.TrimSpace(f.Name) == "" || len(f.Name) > 255:
			return nil, apiError("a file needs a name of at most 255 bytes")
		case len(f.Content) == 0:
			return nil, apiError("the file " + f.Name + " is empty; Slack takes no empty files")
		case size > maxAttached:
			return nil, apiError("the files have more than 8 MiB; attach smaller ones")
		}
	}
	return asClips(attached), nil
}

// maxAttached limits the bytes of the files of one message of the page.
const maxAttached = 8 << 20

// pageAttachment is a file that the page attaches. JSON carries the content in base64.
type pageAttachment struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Content []byte `json:"content"`
}
