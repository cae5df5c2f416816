package workspace

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// do makes one request of the page's API, as a browser would.
func (b *fixture) do(t *testing.T, method, path, body string, change func(*http.Request)) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", b.url)
	}
	if change != nil {
		change(req)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(content), answer.Header
}

func (b *fixture) page(t *testing.T, action string, in pageRequest) (int, string) {
	t.Helper()
	in.Channel = b.general
	raw, _ := json.Marshal(in)
	status, text, _ := b.do(t, http.MethodPost, "/sandbox/"+action, string(raw), nil)
	return status, strings.TrimSpace(text)
}

// Programs in other containers reach the Web API by a name of its own, but not the page.
func TestOnlyTheWebAPIHasAHost(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{Host: "sandbox"})
	for _, c := range []struct {
		host, path string
		want       int
	}{
		{"sandbox:8700", "/api/auth.test", 200}, {"sandbox", "/api/auth.test", 200}, {"evil.example", "/api/auth.test", 403},
		{"sandbox:8700", "/", 403}, {"sandbox:8700", "/sandbox/state", 403},
	} {
		if got, _, _ := b.do(t, "GET", c.path, "", func(r *http.Request) { r.Host = c.host }); got != c.want {
			t.Errorf("%s at %s: %d, want %d", c.path, c.host, got, c.want)
		}
	}
}

func TestPageAnswersOnlyThisMachine(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	b := setup(t, Config{Mind: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		io.WriteString(rw, r.URL.Path)
	})})
	say := `{"channel":"` + b.general + `","user":"` + b.alice + `","text":"x"}`
	rebound := func(r *http.Request) { r.Host = "evil.example:80"; r.Header.Set("Origin", "http://evil.example:80") }
	foreign := func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }
	for _, c := range []struct {
		name, method, path string
		change             func(*http.Request)
		want               int
	}{
		{"page", "GET", "/", nil, 200},
		{"script", "GET", "/app.js", nil, 200},
		{"by name", "GET", "/", func(r *http.Request) { r.Host = "localhost:99" }, 200},
		{"by IPv6", "GET", "/", func(r *http.Request) { r.Host = "[::1]:99" }, 200},
		{"rebound name", "GET", "/", func(r *http.Request) { r.Host = "evil.example:80" }, 403},
		{"rebound state", "GET", "/sandbox/state", func(r *http.Request) { r.Host = "localhost.evil.example" }, 403},
		{"own write", "POST", "/sandbox/say", nil, 204},
		{"without a browser", "POST", "/sandbox/say", func(r *http.Request) { r.Header.Del("Origin") }, 204},
		{"foreign write", "POST", "/sandbox/say", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		{"another port", "POST", "/sandbox/say", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		{"null origin", "POST", "/sandbox/say", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"a form", "POST", "/sandbox/say", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"rebound write", "POST", "/sandbox/say", rebound, 403},
		{"foreign fault", "POST", "/sandbox/misbehave", foreign, 403},
		{"rebound file", "GET", "/sandbox/file?id=F1", func(r *http.Request) { r.Host = "evil.example:80" }, 403},
		{"no file", "GET", "/sandbox/file?id=F1", nil, 404},
		{"rebound fault", "POST", "/sandbox/misbehave", rebound, 403},
		{"the mind", "GET", "/sandbox/mind?channel=C1", nil, 200},
		{"its prompts", "GET", "/sandbox/mind/prompts?decision=1", nil, 200},
		{"rebound mind", "GET", "/sandbox/mind?channel=C1", func(r *http.Request) { r.Host = "evil.example:80" }, 403},
		{"rebound prompts", "GET", "/sandbox/mind/prompts?decision=1", func(r *http.Request) { r.Host = "localhost.evil.example" }, 403},
		{"the mind by another way", "GET", "/sandbox/other/../mind", func(r *http.Request) { r.Host = "evil.example:80" }, 403},
	} {
		status, _, header := b.do(t, c.method, c.path, map[string]string{"POST": say}[c.method], c.change)
		if status != c.want {
			t.Errorf("%s: %d, want %d", c.name, status, c.want)
		}
		if c.name == "page" && !strings.Contains(header.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Error("no policy for scripts")
		}
	}
	if got := len(b.Messages(b.general)); got != 2 {
		t.Errorf("%d messages, want the 2 that were allowed", got)
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("the mind was asked %d times, want the 2 that were allowed", got)
	}
	// Writes to the mind must be JSON and come from this page.
	for _, path := range []string{"order", "worker", "model", "remember", "what-comes-next", ""} {
		path = strings.TrimSuffix("/sandbox/mind/"+path, "/")
		for _, c := range []struct {
			name, method string
			change       func(*http.Request)
			want         int
		}{
			{"own", "POST", nil, 200},
			{"without a browser", "POST", func(r *http.Request) { r.Header.Del("Origin") }, 200},
			{"foreign", "POST", foreign, 403},
			{"rebound", "POST", rebound, 403},
			{"null origin", "POST", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
			{"another port", "POST", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
			{"a form", "POST", func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, 415},
			{"no type", "POST", func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
			{"foreign, by another method", "PUT", foreign, 403},
			{"no type, by another method", "DELETE", nil, 415},
		} {
			before := asked.Load()
			status, _, _ := b.do(t, c.method, path, "{}", c.change)
			if heard := asked.Load() != before; status != c.want || heard != (c.want == 200) {
				t.Errorf("%s %s, %s: %d, want %d; heard: %v", c.method, path, c.name, status, c.want, heard)
			}
		}
	}
}

func TestPageWithoutMindServesNone(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for _, path := range []string{"/sandbox/mind", "/sandbox/mind/prompts"} {
		if status, _, _ := b.do(t, "GET", path, "", nil); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestPageActionsWriteAsThePerson(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	ok := func(action string, in pageRequest) {
		t.Helper()
		if status, text := b.page(t, action, in); status != 204 {
			t.Fatalf("%s: %d %s", action, status, text)
		}
	}
	last := func() Message { all := b.Messages(b.general); return all[len(all)-1] }

	ok("say", pageRequest{User: b.alice, Text: "hi @myao, @Bob & <you>: see #general at https://example.com/?a=1&b=2"})
	root := last()
	want := "hi <@U0BOT>, <@" + b.bob + "> &amp; &lt;you&gt;: see <#" + b.general + "|general> at <https://example.com/?a=1&amp;b=2>"
	if root.Text != want {
		t.Errorf("text = %s, want %s", root.Text, want)
	}
	ok("say", pageRequest{User: b.bob, Text: "so", Thread: root.TS, Broadcast: true})
	if m := last(); m.ThreadTS != root.TS || m.Subtype != "thread_broadcast" {
		t.Errorf("reply = %+v", m)
	}
	cat := []byte("\x89PNG\r\n\x1a\nmeow")
	ok("say", pageRequest{User: b.bob, Files: []pageAttachment{{Name: "cat.png", Type: "image/png", Content: cat}, {Name: "猫.html", Content: []byte("<script>alert(1)</script>")}}})
	m := last()
	if m.Subtype != "file_share" || len(m.Files) != 2 || m.Files[0].Mimetype != "image/png" {
		t.Fatalf("files = %+v", m)
	}
	for i, want := range []struct{ body, kind, disposition string }{
		{string(cat), "image/png", ""},
		{"<script>alert(1)</script>", "application/octet-stream", "attachment; filename*=UTF-8''%E7%8C%AB.html"},
	} {
		status, body, header := b.do(t, "GET", "/sandbox/file?id="+m.Files[i].ID, "", nil)
		if status != 200 || body != want.body || header.Get("Content-Type") != want.kind || header.Get("Content-Disposition") != want.disposition ||
			header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" || !strings.Contains(header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("the page gets %d, %q, %v", status, body, header)
		}
	}
	ok("say", pageRequest{User: b.bob, Text: "/me waves"})
	if m := last(); m.Subtype != "me_message" || m.Text != "waves" {
		t.Errorf("me = %+v", m)
	}
	ok("react", pageRequest{User: b.alice, TS: root.TS, Name: "eyes"})
	ok("react", pageRequest{User: b.bob, TS: root.TS, Name: "eyes"})
	ok("react", pageRequest{User: b.bob, TS: root.TS, Name: "eyes"})
	if m := b.Messages(b.general)[0]; m.Reactions[0].Count != 1 {
		t.Errorf("reactions = %+v", m.Reactions)
	}
	ok("edit", pageRequest{User: b.alice, TS: root.TS, Text: "changed"})
	if m := b.Messages(b.general)[0]; m.Text != "changed" || m.Edited == nil {
		t.Errorf("edited = %+v", m)
	}
	for _, c := range []struct {
		action, want string
		in           pageRequest
	}{
		{"edit", "cant_update_message", pageRequest{User: b.bob, TS: root.TS, Text: "x"}},
		{"delete", "cant_update_message", pageRequest{User: b.bob, TS: root.TS}},
		{"delete", "message_not_found", pageRequest{User: b.bob, TS: "1.000001"}},
		{"say", "user_not_found", pageRequest{User: b.Bot().UserID, Text: "I am the bot"}},
		{"say", "not_in_channel", pageRequest{User: b.AddUser("carol").ID, Text: "x"}},
		{"say", "no_text", pageRequest{User: b.bob, Text: " "}},
		{"say", "/nosuch is not a command here; use /myao or /me", pageRequest{User: b.bob, Text: "/nosuch thing"}},
		{"say", "no Slack command works in a thread; use /myao in the channel", pageRequest{User: b.bob, Text: "/myao status", Thread: root.TS}},
		{"say", "the file cat.png is empty; Slack takes no empty files", pageRequest{User: b.bob, Files: []pageAttachment{{Name: "cat.png"}}}},
		{"say", "a file needs a name of at most 255 bytes", pageRequest{User: b.bob, Files: []pageAttachment{{Name: " ", Content: cat}}}},
		{"say", "the files have more than 8 MiB; attach smaller ones", pageRequest{User: b.bob, Files: []pageAttachment{
			{Name: "big", Content: make([]byte, maxAttached)}, {Name: "and one byte", Content: make([]byte, 1)}}}},
		{"misbehave", "no such misbehaviour", pageRequest{Name: "explode"}},
	} {
		if status, text := b.page(t, c.action, c.in); status != 422 || text != c.want {
			t.Errorf("%s: %d %q, want %q", c.action, status, text, c.want)
		}
	}
	ok("delete", pageRequest{User: b.alice, TS: root.TS})
	if m := b.Messages(b.general)[0]; m.Subtype != "tombstone" {
		t.Errorf("deleted parent = %+v", m)
	}
}

func TestPageGetsStateAndChanges(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{TemporalUI: "http://localhost:8233/"})
	b.Say(b.general, b.alice, "</script><script>alert(1)</script>")
	_, html, _ := b.do(t, "GET", "/", "", nil)
	if strings.Contains(html, "alert(1)</script>") || strings.Contains(html, "{{state}}") {
		t.Error("a message's text became markup of the page")
	}
	_, raw, _ := b.do(t, "GET", "/sandbox/state", "", nil)
	var state struct{ Channels []pageChannel }
	if err := json.Unmarshal([]byte(raw), &state); err != nil {
		t.Fatal(err)
	}
	if got, want := state.Channels[0].Workflow, "http://localhost:8233/namespaces/default/workflows/channel%2FT0SANDBOX%2F"+b.general; got != want {
		t.Errorf("workflow = %s, want %s", got, want)
	}
	if strings.Contains(raw, b.cfg.BotToken) || strings.Contains(raw, b.cfg.SigningSecret+`"`) {
		t.Error("the state holds a secret")
	}

	req, _ := http.NewRequestWithContext(within(t, time.Minute), http.MethodGet, b.url+"/sandbox/changes", nil)
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Scan() // the first line: the stream is open
	ts := b.Say(b.general, b.bob, "live")
	b.Delete(b.general, ts)
	var got []change
	for len(got) < 2 && lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var c change
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				t.Fatal(err)
			}
			got = append(got, c)
		}
	}
	if len(got) != 2 || got[0].Message.Text != "live" || got[1].Kind != "deleted" || got[1].TS != ts {
		t.Errorf("changes = %+v", got)
	}
}

func TestSlowPageIsDisconnected(t *testing.T) {
	t.Parallel()
	h := newHub()
	slow, cancel := h.subscribe()
	defer cancel()
	for range maxBehind + 1 {
		h.send(change{Kind: "message"})
	}
	n := 0
	for range slow {
		n++
	}
	if n != maxBehind {
		t.Errorf("%d changes before the end, want %d", n, maxBehind)
	}
}
