package workspace

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// download gets a file as an app does.
func (b *fixture) download(t *testing.T, address, token string) (status int, body, kind string) {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil || "http://"+at.Host != b.url {
		t.Fatalf("%q is not on the sandbox's host, %s", address, b.url)
	}
	status, body, header := b.do(t, http.MethodGet, at.RequestURI(), "", func(r *http.Request) {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
	})
	return status, body, header.Get("Content-Type")
}

// files returns the files of a message, event or record as JSON's types.
func files(t *testing.T, of map[string]any) []map[string]any {
	t.Helper()
	all, _ := of["files"].([]any)
	var out []map[string]any
	for _, f := range all {
		out = append(out, f.(map[string]any))
	}
	return out
}

func TestFilesAreServedToTheTokenAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{Scopes: []string{"channels:read", "files:read"}})
	b.raw(t, "auth.test", url.Values{}) // tells the workspace its own address
	text := strings.Repeat("行\n", 9)
	ts := b.Say(b.general, b.alice, "<@"+b.Bot().UserID+"> look",
		WithFile("a/../cat.png", "image/png", []byte("\x89PNG")), WithFile("notes.TXT", "", []byte(text)))
	events := b.events(t)
	if got := kinds(events); !slices.Equal(got, []string{"message/file_share", "app_mention"}) {
		t.Fatalf("events = %v", got)
	}
	if said := files(t, events[1].Event); said != nil {
		t.Errorf("app_mention carries %v", said)
	}
	said := files(t, events[0].Event)
	for i, want := range []struct{ name, mimetype, filetype, mode, content, preview string }{
		{"a/../cat.png", "image/png", "png", "hosted", "\x89PNG", ""},
		{"notes.TXT", "text/plain", "text", "snippet", text, strings.Repeat("行\n", 5)},
	} {
		record, _ := b.raw(t, "files.info", url.Values{"file": {said[i]["id"].(string)}})["file"].(map[string]any)
		for _, f := range []map[string]any{said[i], record} {
			preview, _ := f["preview"].(string)
			if f["name"] != want.name || f["title"] != want.name || f["mimetype"] != want.mimetype || f["filetype"] != want.filetype ||
				f["mode"] != want.mode || f["size"] != float64(len(want.content)) || preview != want.preview {
				t.Errorf("record %v, want %+v", f, want)
			}
			for _, key := range []string{"url_private", "url_private_download"} {
				address := f[key].(string)
				if status, body, kind := b.download(t, address, b.cfg.BotToken); status != 200 || body != want.content || kind != want.mimetype {
					t.Errorf("%s: %d, %s, %q", address, status, kind, body)
				}
				for _, token := range []string{"", "xoxb-other", b.cfg.AppToken} {
					if status, body, kind := b.download(t, address, token); status != 200 || body != signInPage || kind != "text/html; charset=utf-8" {
						t.Errorf("%s with token %q: %d, %s, %q", address, token, status, kind, body)
					}
				}
			}
		}
	}
	history := b.raw(t, "conversations.history", url.Values{"channel": {b.general}})["messages"].([]any)[0].(map[string]any)
	if got := files(t, history); len(got) != 2 || got[0]["url_private"] != said[0]["url_private"] {
		t.Errorf("the history says %v", got)
	}

	// A deleted file leaves a tombstone, and a deleted message takes its files along.
	address := func(i int) string { return said[i]["url_private"].(string) }
	b.DeleteFile(said[0]["id"].(string))
	left := files(t, b.events(t)[0].Event["message"].(map[string]any))
	if len(left) != 2 || len(left[0]) != 2 || left[0]["mode"] != "tombstone" || left[1]["name"] != "notes.TXT" {
		t.Errorf("what is left: %v", left)
	}
	b.Delete(b.general, ts)
	for i := range said {
		if got := b.raw(t, "files.info", url.Values{"file": {said[i]["id"].(string)}})["error"]; got != "file_deleted" {
			t.Errorf("a deleted file: %v", got)
		}
		if status, _, _ := b.download(t, address(i), b.cfg.BotToken); status != 404 {
			t.Errorf("a deleted file is served: %d", status)
		}
	}
	lobby := b.AddChannel(Public, "lobby", b.alice)
	b.Say(lobby, b.alice, "", WithFile("secret.txt", "", []byte("elsewhere")))
	for _, id := range []string{b.Messages(lobby)[0].Files[0].ID, "F404", ""} {
		if got := b.raw(t, "files.info", url.Values{"file": {id}})["error"]; got != "file_not_found" {
			t.Errorf("%q: %v", id, got)
		}
		if status, _, _ := b.download(t, b.url+filePaths+b.Team()+"-"+id+"/x", b.cfg.BotToken); status != 404 {
			t.Errorf("%q is served: %d", id, status)
		}
	}
}

func TestFilesNeedTheirScope(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{Scopes: []string{"channels:read"}})
	b.Say(b.general, b.alice, "", WithFile("notes.txt", "", []byte("text")))
	id := b.Messages(b.general)[0].Files[0].ID
	if got := b.raw(t, "files.info", url.Values{"file": {id}})["error"]; got != "missing_scope" {
		t.Errorf("files.info: %v", got)
	}
	if status, body, _ := b.download(t, b.url+filePaths+b.Team()+"-"+id+"/notes.txt", b.cfg.BotToken); status != 200 || body != signInPage {
		t.Errorf("%d, %q", status, body)
	}
}
