package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

// do makes one request of the page's API, as a browser would.
func (b *bench) do(t *testing.T, method, path, body string, change func(*http.Request)) (int, string, http.Header) {
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

func (b *bench) page(t *testing.T, action string, in pageRequest) (int, string) {
	t.Helper()
	in.Channel = b.general
	raw, _ := json.Marshal(in)
	status, text, _ := b.do(t, http.MethodPost, "/sandbox/"+action, string(raw), nil)
	return status, strings.TrimSpace(text)
}

func TestPageIsForThisMachineOnly(t *testing.T) {
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
	// Whatever the mind can be told to do is told in JSON, by this page.
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

func TestAPageWithoutAMind(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for _, path := range []string{"/sandbox/mind", "/sandbox/mind/prompts"} {
		if status, _, _ := b.do(t, "GET", path, "", nil); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestPageActions(t *testing.T) {
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
	ok("say", pageRequest{User: b.bob, Text: "so", Thread: root.TS, Broadcast: true, File: ""})
	if m := last(); m.ThreadTS != root.TS || m.Subtype != "thread_broadcast" {
		t.Errorf("reply = %+v", m)
	}
	ok("say", pageRequest{User: b.bob, Text: "", File: "cat.png"})
	if m := last(); m.Subtype != "file_share" || m.Files[0].Mimetype != "image/png" {
		t.Errorf("file = %+v", m)
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
		{"say", "/nosuch is no command here; /myao and /me are", pageRequest{User: b.bob, Text: "/nosuch thing"}},
		{"say", "/myao does not work in a thread, as no command does in Slack; use it in the channel", pageRequest{User: b.bob, Text: "/myao status", Thread: root.TS}},
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

func TestEncode(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	hanako, both := b.AddUser("花子").ID, b.AddUser("花子山").ID
	for typed, want := range map[string]string{
		"see https://a.example/x?b=1&c=2.":    "see <https://a.example/x?b=1&amp;c=2>.",
		"(https://a.example/)":                "(<https://a.example/>)",
		"<https://a.example/|click>":          "&lt;<https://a.example/>|click&gt;",
		"@MYAO, and @nobody":                  "<@U0BOT>, and @nobody",
		"@myaoさん、@花子さん":                       "<@U0BOT>さん、<@" + hanako + ">さん",
		"これ@myaoに、@花子山-":                      "これ<@U0BOT>に、<@" + both + ">-",
		"@myaoxさん @myaox":                     "@myaoxさん @myaox",
		"me@alice.example #general. #nothing": "me@alice.example <#" + b.general + "|general>. #nothing",
		"<@U0BOT>":                            "&lt;@U0BOT&gt;",
	} {
		if got := b.Encode(typed); got != want {
			t.Errorf("%s becomes %s, want %s", typed, got, want)
		}
	}
}

func TestPageShowsStateAndFollowsIt(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{TemporalUI: "http://localhost:8233/"})
	b.Say(b.general, b.alice, "</script><script>alert(1)</script>")
	_, html, _ := b.do(t, "GET", "/", "", nil)
	if strings.Contains(html, "alert(1)</script>") || strings.Contains(html, "{{state}}") {
		t.Error("what people say becomes markup of the page")
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
	lines.Scan() // the greeting: from here on it listens
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

// misbehaving is what the page is told to be switched on.
func (b *bench) misbehaving(t *testing.T) []string {
	t.Helper()
	_, raw, _ := b.do(t, "GET", "/sandbox/state", "", nil)
	var state struct{ Misbehaviour []Misbehaviour }
	if err := json.Unmarshal([]byte(raw), &state); err != nil || len(state.Misbehaviour) != len(misbehaviour) {
		t.Fatalf("%v: %s", err, raw)
	}
	var on []string
	for _, m := range state.Misbehaviour {
		if m.On {
			on = append(on, m.Name)
		}
	}
	if got := b.Misbehaving(); got == nil || !slices.Equal(got, on) {
		t.Errorf("the page is told %v, and others %v", on, got)
	}
	return on
}

func (b *bench) misbehave(t *testing.T, name string, on bool) {
	t.Helper()
	if status, text := b.page(t, "misbehave", pageRequest{Name: name, On: on}); status != 204 {
		t.Fatalf("%s: %d %s", name, status, text)
	}
}

func TestMisbehaviourStaysUntilItIsSwitchedOff(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	post := func(text string) (int, error) {
		t.Helper()
		before := len(b.Messages(b.general))
		_, _, err := b.api.PostMessage(b.general, slack.MsgOptionText(text, false))
		return len(b.Messages(b.general)) - before, err
	}
	var limited *slack.RateLimitedError
	for _, c := range []struct {
		name    string
		posted  int
		refused func(error) bool
	}{
		{"limited", 0, func(err error) bool { return errors.As(err, &limited) && limited.RetryAfter == 5*time.Second }},
		{"lost", 1, func(err error) bool { return err != nil }},
		{"broken", 1, func(err error) bool { return strings.Contains(err.Error(), "503") }},
		{"down", 0, func(err error) bool { return strings.Contains(err.Error(), "503") }},
	} {
		b.misbehave(t, c.name, true)
		b.misbehave(t, c.name, true) // once more makes no difference
		for i := range 3 {
			if posted, err := post(c.name); posted != c.posted || err == nil || !c.refused(err) {
				t.Errorf("%s, post %d: %d posted, %v", c.name, i, posted, err)
			}
		}
		if got := b.misbehaving(t); !slices.Equal(got, []string{c.name}) {
			t.Errorf("on: %v, want %s", got, c.name)
		}
		b.misbehave(t, c.name, false)
		b.misbehave(t, c.name, false)
		if posted, err := post("well again"); posted != 1 || err != nil || len(b.misbehaving(t)) != 0 {
			t.Errorf("%s is off: %d posted, %v; on: %v", c.name, posted, err, b.misbehaving(t))
		}
	}
	b.events(t)

	// A fault that a test has added is none of the page's.
	off := b.Faults().Add(Fault{Method: "auth.test", Error: "fatal_error"})
	b.misbehave(t, "broken", true)
	b.misbehave(t, "limited", true)
	if got := b.misbehaving(t); !slices.Equal(got, []string{"limited", "broken"}) {
		t.Errorf("on: %v", got)
	}
	b.misbehave(t, "broken", false)
	b.misbehave(t, "limited", false)
	if _, err := b.api.AuthTest(); err == nil {
		t.Error("the page has switched off what it did not switch on")
	}
	off()
}

func TestEventsMisbehaveUntilTheyAreSwitchedOff(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	// The last delivery comes 5 s after the first one, and nobody waits for it here.
	twice := func(text string) {
		t.Helper()
		b.Say(b.general, b.alice, text)
		if err := b.Await(within(t, time.Minute), func() bool {
			n := 0
			for _, d := range b.Deliveries() {
				if strings.Contains(string(d.Body), text) {
					n++
				}
			}
			return n >= 2
		}); err != nil {
			t.Errorf("%s was not delivered again", text)
		}
	}
	b.misbehave(t, "again", true)
	twice("one")
	twice("two")
	if got := b.misbehaving(t); !slices.Equal(got, []string{"again"}) {
		t.Errorf("on: %v", got)
	}
	b.misbehave(t, "again", false)
	if got := b.misbehaving(t); len(got) != 0 {
		t.Errorf("on: %v", got)
	}

	changes, cancel := b.hub.subscribe()
	defer cancel()
	// told waits until the pages are told that there is something new of faults.
	told := func(want ...string) {
		t.Helper()
		for timeout := time.After(time.Minute); ; {
			select {
			case c := <-changes:
				if c.Kind != "faults" {
					continue
				}
				if got := b.misbehaving(t); !slices.Equal(got, want) {
					t.Errorf("on: %v, want %v", got, want)
				}
				return
			case <-timeout:
				t.Fatal("nobody tells of faults")
			}
		}
	}
	b.misbehave(t, "order", true)
	told("order")
	b.misbehave(t, "order", false)
	told()
	b.misbehave(t, "order", true)
	told("order")
	b.Say(b.general, b.alice, "overtaken")
	told() // it is for one event
	b.Say(b.general, b.alice, "overtaking")
	var order []string
	if err := b.Await(within(t, time.Minute), func() bool {
		order = nil
		for _, d := range b.Deliveries() {
			for _, text := range []string{"overtaken", "overtaking"} {
				if strings.Contains(string(d.Body), `"`+text+`"`) {
					order = append(order, text)
				}
			}
		}
		return len(order) == 2
	}); err != nil || order[0] != "overtaking" {
		t.Errorf("delivered %v, %v", order, err)
	}
}

func TestAPageThatCannotKeepUpIsCutOff(t *testing.T) {
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
