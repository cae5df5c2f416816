package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestFileInfo(t *testing.T) {
	t.Parallel()
	f, c := newFake(t, says(`{"ok":true,"content":"first line","is_truncated":true,"comments":7,"file":{"id":"F1","name":"notes\n.txt","mimetype":"text/plain","filetype":"text",
		"mode":"snippet","size":120,"preview":"first","url_private":"https://files.slack.com/a","url_private_download":"https://files.slack.com/b","channels":[1]}}`))
	got, err := c.FileInfo(t.Context(), "F1")
	want := File{File: chat.File{ID: "F1", Name: "notes .txt", MIME: "text/plain"}, Type: "text", Mode: "snippet", Size: 120, URL: "https://files.slack.com/b", Text: "first line", Cut: true}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if calls := f.seen(); len(calls) != 1 || calls[0].method != "files.info" || calls[0].form.Get("file") != "F1" {
		t.Errorf("calls %v", calls)
	}
	for name, tc := range map[string]struct {
		answer string
		check  func(File) bool
	}{
		"external":          {`{"id":"F1","mode":"external","url_private":"https://docs.example.com/x"}`, func(f File) bool { return f.External }},
		"of another server": {`{"id":"F1","mode":"hosted","is_external":true}`, func(f File) bool { return f.External }},
		"deleted":           {`{"id":"F1","mode":"tombstone"}`, func(f File) bool { return f.Deleted }},
		"hidden":            {`{"id":"F1","mode":"hidden_by_limit"}`, func(f File) bool { return f.Deleted }},
		"denied":            {`{"id":"F1","file_access":"access_denied"}`, func(f File) bool { return f.Denied }},
		"canvas":            {`{"id":"F1","filetype":"quip","mode":"quip"}`, func(f File) bool { return f.Canvas() }},
		"post":              {`{"id":"F1","filetype":"space","mode":"post","preview":"Plan","preview_is_truncated":true}`, func(f File) bool { return f.Text == "Plan" && f.Cut }},
		"e-mail":            {`{"id":"F1","filetype":"email","mode":"email","plain_text":"Hello"}`, func(f File) bool { return f.Text == "Hello" && !f.Cut }},
		"a voice clip": {`{"id":"F1","mimetype":"video/mp4","subtype":"slack_audio","vtt":"https://files.slack.com/v","transcription":{"status":"complete","locale":"en-US","preview":{"content":" shall we ship? ","has_more":true}}}`,
			func(f File) bool {
				return f.MIME == "audio/mp4" && f.VTT == "https://files.slack.com/v" && f.Transcript == chat.Transcript{Text: "shall we ship?", Cut: true}
			}},
		"a clip without a preview":   {`{"id":"F1","mimetype":"video/webm","subtype":"slack_video","vtt":"x","transcription":{"status":"complete"}}`, func(f File) bool { return f.MIME == "video/webm" && f.Transcript == chat.Transcript{Cut: true} }},
		"a clip of a moment ago":     {`{"id":"F1","mimetype":"audio/webm","transcription":{"status":"processing"}}`, func(f File) bool { return f.Transcript == chat.Transcript{Pending: true} }},
		"a clip in another language": {`{"id":"F1","mimetype":"audio/webm","transcription":{"status":"none"}}`, func(f File) bool { return f.Transcript == chat.Transcript{} }},
		"sound of a video's type":    {`{"id":"F1","mimetype":"video/quicktime","media_display_type":"audio","transcription":7}`, func(f File) bool { return f.MIME == "audio/quicktime" && f.Transcript == chat.Transcript{} }},
		"odd fields":                 {`{"id":"F1","name":[1],"size":-5,"mode":{},"title":"a title"}`, func(f File) bool { return f.Name == "a title" && f.Size == 0 }},
	} {
		_, c := newFake(t, says(`{"ok":true,"file":`+tc.answer+`}`))
		if got, err := c.FileInfo(t.Context(), "F1"); err != nil || !tc.check(got) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for name, tc := range map[string]struct{ answer, code string }{
		"no record":      {`{"ok":true}`, codeUnreadable},
		"another file's": {`{"ok":true,"file":{"id":"F2"}}`, codeUnreadable},
		"gone":           {`{"ok":false,"error":"file_deleted"}`, "file_deleted"},
		"without scope":  {`{"ok":false,"error":"missing_scope","needed":"files:read"}`, codeScope},
	} {
		_, c := newFake(t, says(tc.answer))
		if _, err := c.FileInfo(t.Context(), "F1"); asError(t, err).Code != tc.code {
			t.Errorf("%s: got %v, want %s", name, err, tc.code)
		}
	}
	if _, err := c.FileInfo(t.Context(), "../F1 "); asError(t, err).Code != codeArgument {
		t.Errorf("a malformed id: %v", err)
	}
}

const signInPage = "\n<!DOCTYPE html><html><head><title>Slack</title></head><body>Sign in to your workspace</body></html>"

func TestDownload(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked: %s with %v", r.URL, r.Header)
	}))
	defer elsewhere.Close()
	mux := http.NewServeMux()
	var server *httptest.Server
	serve := func(path string, h http.HandlerFunc) { mux.HandleFunc(path, h) }
	withToken := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") != "Bearer "+token {
			_, _ = io.WriteString(w, signInPage)
			return false
		}
		return true
	}
	content := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if withToken(w, r) {
				_, _ = io.WriteString(w, body)
			}
		}
	}
	redirect := func(to func() string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to(), http.StatusFound) }
	}
	serve("/file", content("hello"))
	serve("/html", content("<html><p>a page of ours</p></html>"))
	serve("/canvas", content(`<html><div class="quip-canvas-content"><p>plan</p></div></html>`))
	serve("/signin", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, signInPage) })
	serve("/signed", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token went along a redirect")
		}
		_, _ = io.WriteString(w, "signed")
	})
	serve("/to-signed", redirect(func() string { return "/signed" }))
	serve("/to-signin", redirect(func() string { return "/signin?redir=%2Ffile" }))
	serve("/to-elsewhere", redirect(func() string { return elsewhere.URL + "/file" }))
	serve("/to-lookalike", redirect(func() string { return "https://files.slack.com.evil.example/file" }))
	serve("/round", redirect(func() string { return "/round" }))
	serve("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1000))
			w.(http.Flusher).Flush()
		}
	})
	serve("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	serve("/busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	server = httptest.NewServer(mux)
	defer server.Close()
	c := New(Config{Token: token, APIURL: server.URL + "/api/", HTTPClient: patient})
	for _, tc := range []struct {
		path string
		file File
		want string // the content, or
		code string
	}{
		{path: "/file", want: "hello"},
		{path: "/html", file: File{Size: 34}, want: "<html><p>a page of ours</p></html>"},
		{path: "/canvas", file: File{Type: "quip"}, want: `<html><div class="quip-canvas-content"><p>plan</p></div></html>`},
		{path: "/signin", code: "missing_scope"},
		{path: "/signin", file: File{Type: "quip"}, code: "missing_scope"},
		{path: "/signin", file: File{Size: 34}, code: "missing_scope"},
		{path: "/to-signed", want: "signed"},
		{path: "/to-signin", code: "missing_scope"},
		{path: "/to-elsewhere", code: "not_slacks_address"},
		{path: "/to-lookalike", code: "not_slacks_address"},
		{path: "/round", code: "not_slacks_address"},
		{path: "/chunked", code: "file_too_large"},
		{path: "/file", file: File{Size: 5001}, code: "file_too_large"},
		{path: "/gone", code: "http_404"},
		{path: "/busy", code: "ratelimited"},
	} {
		f := tc.file
		f.URL = server.URL + tc.path
		body, err := c.Download(t.Context(), f, 5000)
		if tc.code != "" {
			if e := asError(t, err); e.Code != tc.code || body != nil || e.Retryable() != (tc.code == "ratelimited") {
				t.Errorf("%s: got %v, %d bytes; want %s", tc.path, err, len(body), tc.code)
			}
		} else if string(body) != tc.want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", tc.path, body, err, tc.want)
		}
	}
}

// recorder answers every request, and records to which hosts a token went.
type recorder struct {
	mu    sync.Mutex
	hosts []string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts = append(r.hosts, req.URL.Scheme+"://"+req.URL.Host)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("content"))}, nil
}

// The token goes to Slack's hosts and to the API's address, and to no other, however that is written.
func TestTokenGoesToSlackAlone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		api, url string
		asked    bool
	}{
		{"", "https://files.slack.com/files-pri/T1-F1/a.txt", true},
		{"", "https://FILES.slack.com:443/a", true},
		{"", "https://acme.enterprise.slack.com/a", true},
		{"https://slack-gov.com/api/", "https://files.slack-gov.com/a", true},
		{"http://localhost:9000/api/", "http://localhost:9000/files/a", true},
		{"http://localhost:9000/api/", "https://files.slack.com/a", true},
		{"http://localhost:9000/api/", "http://localhost:9001/a", false},
		{"http://localhost:9000/api/", "https://localhost:9000/a", false},
		{"http://localhost:9000/api/", "http://localhost:9000@evil.example/a", false},
		{"", "http://files.slack.com/a", false},
		{"", "https://files.slack.com:8443/a", false},
		{"", "https://files.slack.com.evil.example/a", false},
		{"", "https://evilslack.com/a", false},
		{"", "https://files.slack.com./a", false},
		{"", "https://files.slack.com@evil.example/a", false},
		{"", "https://user:pass@files.slack.com/a", false},
		{"", "https://evil.example/files.slack.com", false},
		{"", "https://evil.example\\.slack.com/a", false},
		{"", "https://evil.example#.slack.com/a", false},
		{"", "https://evil.example?.slack.com/a", false},
		{"", "https://evil.example%2f.slack.com/a", false},
		{"", "https://slack-edge.com/a", false},
		{"", "//files.slack.com/a", false},
		{"", "https:files.slack.com", false},
		{"", "file:///etc/passwd", false},
		{"", "ftp://files.slack.com/a", false},
		{"", "https://ﬁles.slack.com.evil.example/a", false},
		{"", "", false},
	} {
		r := &recorder{}
		c := New(Config{Token: token, APIURL: tc.api, HTTPClient: &http.Client{Transport: r}})
		_, err := c.Download(t.Context(), File{URL: tc.url}, 100)
		if asked := len(r.hosts) > 0; asked != tc.asked || asked != (err == nil) {
			t.Errorf("api_url %q, file at %q: %v was asked, %v", tc.api, tc.url, r.hosts, err)
		}
		if !tc.asked {
			if e := asError(t, err); e.Kind != Final {
				t.Errorf("%q: got %+v", tc.url, e)
			}
		}
	}
}

func TestDownloadHonoursContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begin")
		w.(http.Flusher).Flush()
		<-release
	}))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := New(Config{Token: token, APIURL: server.URL}).Download(ctx, File{URL: server.URL + "/f"}, 100)
	if e := asError(t, err); !e.TimedOut() || !e.Retryable() {
		t.Errorf("got %+v", e)
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	granted := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if granted != "" {
			w.Header().Set("X-OAuth-Scopes", granted)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "team_id": "T1", "user_id": "U1", "permalink": "https://e.slack.com/p"})
	}))
	defer server.Close()
	c := New(Config{Token: token, APIURL: server.URL, HTTPClient: patient})
	for _, tc := range []struct {
		granted string
		lacks   bool
	}{{"", false}, {"chat:write", true}, {"", true}, {"chat:write,files:read", false}} {
		granted = tc.granted
		if _, err := c.Permalink(t.Context(), "C1", "1700000000.000100"); err != nil {
			t.Fatal(err)
		}
		if got := c.Lacks("files:read"); got != tc.lacks {
			t.Errorf("after an answer with %q: lacks = %v", tc.granted, got)
		}
	}
}
