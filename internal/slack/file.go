package slack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"myao/internal/chat"
)

const (
	infoMethod = "files.info"
	// downloadMethod names a download in errors and metrics. Slack has no method for it.
	downloadMethod = "file.download"
	// downloadTimeout bounds a download in all, unless the HTTP client's own timeout is longer.
	downloadTimeout = 20 * time.Second
	maxRedirects    = 3
	// canvasRoot is in every canvas that Slack serves, and in no sign-in page
	// (seen in github.com/stablyai/agent-slack/pull/19).
	canvasRoot = `quip-canvas-content`
)

// codeScope is Slack's code for a call that needs another scope.
const codeScope = "missing_scope"

// File is Slack's record of a file (docs.slack.dev/reference/objects/file-object).
type File struct {
	chat.File
	// Type is Slack's filetype, such as png, text, space, quip or canvas.
	Type string
	// Mode is hosted, external, snippet, post, space, email, quip, canvas, tombstone, hidden_by_limit
	// or another.
	Mode string
	// Size is in bytes; 0 if Slack does not say.
	Size int64
	// External is set if the file is on a server that is not Slack's.
	External bool
	// Denied is set if Slack does not let the bot see the file: its file_access is not visible.
	Denied bool
	// Deleted is set if the file was deleted, or is hidden by the limits of a free workspace.
	Deleted bool
	// URL is where Download finds it; empty if Slack serves no content.
	URL string
	// VTT is where Download finds the whole transcript of a recording, in WebVTT; empty if there is none.
	VTT string
	// Text is its text as far as the record has it, and Cut is set if that is only the beginning.
	Text string
	Cut  bool
}

// Canvas reports whether it is a canvas. Slack serves canvases as HTML.
func (f File) Canvas() bool {
	return f.Type == "quip" || f.Type == "canvas" || f.Mode == "quip" || f.Mode == "canvas"
}

// FileInfo reads the record of a file (docs.slack.dev/reference/methods/files.info).
func (c *Client) FileInfo(ctx context.Context, id string) (File, error) {
	if !validID(id) {
		return File{}, argument(infoMethod, "malformed file id")
	}
	ctx, answer := withAnswer(ctx)
	if _, _, _, err := c.api().GetFileInfoContext(ctx, id, 0, 0); err != nil {
		return File{}, c.fail(infoMethod, err)
	}
	o, ok := answer.object("file")
	if !ok {
		return File{}, unreadable(infoMethod, errors.New("no file"))
	}
	if got := o.text("id"); got != id {
		return File{}, unreadable(infoMethod, errors.New("the record of another file"))
	}
	f := File{
		File: chat.File{ID: id, MIME: fileType(o), Transcript: transcriptIn(o),
			Name: singleLine(cmp.Or(o.text("name"), o.text("title"), id))},
		Type: o.text("filetype"), Mode: o.text("mode"),
		External: o.flag("is_external") || o.text("mode") == "external",
		Denied:   !visibleFile(o.text("file_access")),
		URL:      cmp.Or(o.text("url_private_download"), o.text("url_private")),
		VTT:      o.text("vtt"),
	}
	if size, known := o.count("size"); known {
		f.Size = int64(size)
	}
	f.Deleted = f.Mode == subtypeTombstone || f.Mode == "hidden_by_limit" || o.flag("is_deleted")
	for _, text := range []struct {
		from     object
		key, cut string
	}{{*answer, "content", "is_truncated"}, {o, "plain_text", "is_truncated"}, {o, "preview", "preview_is_truncated"}} {
		if f.Text = text.from.text(text.key); f.Text != "" {
			f.Cut = text.from.flag(text.cut) || o.flag("preview_is_truncated")
			break
		}
	}
	return f, nil
}

// visibleFile reports whether a file_access, which most records lack, lets the bot see a file.
// check_file_info, for files of other workspaces, stands in messages alone.
func visibleFile(access string) bool { return access == "" || access == "visible" }

// Download returns the content of a file. It sends the token only to Slack's hosts over HTTPS and to
// the origin of the API's address, and never after a redirect. A redirect to another place, and a file of
// more than limit bytes, are Final errors. So is Slack's sign-in page, which comes in place of a file
// if the token lacks files:read.
func (c *Client) Download(ctx context.Context, f File, limit int64) ([]byte, error) {
	if c.gate != nil && c.gate.Closed() {
		return nil, notInstalled(downloadMethod)
	}
	began := time.Now()
	body, err := c.download(ctx, f, limit)
	c.metrics.observe(downloadMethod, began, err)
	return body, c.fail(downloadMethod, err)
}

func (c *Client) download(ctx context.Context, f File, limit int64) ([]byte, error) {
	if f.Size > limit {
		return nil, tooLarge(limit)
	}
	at, err := url.Parse(f.URL)
	if err != nil {
		return nil, foreignURL("no valid address")
	}
	header := http.Header{"Authorization": {"Bearer " + c.session.Load().token}}
	for range maxRedirects + 1 {
		if !c.serves(at) {
			return nil, foreignURL(fmt.Sprintf("%s://%s is not Slack's", at.Scheme, at.Host))
		}
		body, next, err := c.get(ctx, at, header, limit)
		switch {
		case err != nil:
			return nil, err
		case next == nil && signIn(f, body):
			return nil, &Error{Method: downloadMethod, Code: codeScope, Status: http.StatusOK, Kind: Final,
				cause: errors.New("the answer is Slack's sign-in page; the app needs the scope files:read and must " +
					"be installed again")}
		case next == nil:
			return body, nil
		}
		at, header = next, nil
	}
	return nil, foreignURL("too many redirects")
}

// get makes one request. It returns the address of a redirect instead of a body.
func (c *Client) get(
	ctx context.Context, at *url.URL, header http.Header, limit int64,
) (body []byte, next *url.URL, err error) {
	req := (&http.Request{Method: http.MethodGet, URL: at, Host: at.Host, Header: header.Clone()}).WithContext(ctx)
	if req.Header == nil {
		req.Header = http.Header{}
	}
	resp, err := c.files.Do(req)
	if err != nil {
		return nil, nil, transportError(downloadMethod, withContextError(ctx, err), true)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		if next, err = at.Parse(resp.Header.Get("Location")); err != nil || resp.Header.Get("Location") == "" {
			return nil, nil, foreignURL("a redirect to no valid address")
		}
		return nil, next, nil
	case resp.StatusCode != http.StatusOK:
		e := statusError(downloadMethod, resp.StatusCode, retryAfter(resp.Header))
		if resp.StatusCode >= 400 && resp.StatusCode < 500 && e.Kind == Ambiguous {
			e.Kind = Final
		}
		return nil, nil, e
	case resp.ContentLength > limit:
		return nil, nil, tooLarge(limit)
	}
	announced := resp.ContentLength
	if announced < 0 {
		announced = limit
	}
	read := bytes.NewBuffer(make([]byte, 0, announced+bytes.MinRead)) // at once: what grows takes several times as much
	_, err = read.ReadFrom(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, nil, transportError(downloadMethod, withContextError(ctx, err), true)
	case int64(read.Len()) > limit:
		return nil, nil, tooLarge(limit)
	}
	return read.Bytes(), nil, nil
}

// serves reports whether an address is one that Slack serves files at: a host of Slack's over HTTPS,
// or the origin of the API's address.
func (c *Client) serves(u *url.URL) bool {
	if u.User != nil || u.Opaque != "" {
		return false
	}
	if c.base != nil && c.base.Host != "" && u.Scheme == c.base.Scheme && strings.EqualFold(u.Host, c.base.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	slacks := host == "slack.com" || strings.HasSuffix(host, ".slack.com") ||
		host == "slack-gov.com" || strings.HasSuffix(host, ".slack-gov.com") // docs.slack.dev/govslack
	return u.Scheme == "https" && slacks && (u.Port() == "" || u.Port() == "443")
}

// signIn reports whether what came in place of a file is Slack's sign-in page. A file that is HTML is told
// from it by its size, a canvas by its root.
func signIn(f File, body []byte) bool {
	head := bytes.ToLower(bytes.TrimLeft(body[:min(len(body), 4<<10)], "\xef\xbb\xbf \t\r\n"))
	if !bytes.HasPrefix(head, []byte("<!doctype html")) && !bytes.HasPrefix(head, []byte("<html")) {
		return false
	}
	if f.Canvas() {
		return !bytes.Contains(body, []byte(canvasRoot))
	}
	return f.Size == 0 || f.Size != int64(len(body))
}

func tooLarge(limit int64) *Error {
	return &Error{Method: downloadMethod, Code: codeTooLarge, Kind: Final,
		cause: fmt.Errorf("it has more than %d bytes", limit)}
}

func foreignURL(why string) *Error {
	return &Error{Method: downloadMethod, Code: codeForeignURL, Kind: Final, cause: errors.New(why)}
}

// TooLarge reports whether a download was refused because the file has more bytes than asked for.
func (e *Error) TooLarge() bool { return e.Code == codeTooLarge }

// MissingScope reports whether the token may not do what was asked.
func (e *Error) MissingScope() bool { return e.Code == codeScope }
