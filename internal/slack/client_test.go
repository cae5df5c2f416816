package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"

	_ "myao/test/keepalive"
)

const token = "xoxb-1-secret"

// patient is a client whose calls take as long as the machine needs.
var patient = &http.Client{Timeout: time.Hour}

// answer is a fake Slack's answer to one call.
type answer func(w http.ResponseWriter, form url.Values)

func says(body string) answer {
	return func(w http.ResponseWriter, _ url.Values) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write([]byte(body))
	}
}

func status(code int, header ...string) answer {
	return func(w http.ResponseWriter, _ url.Values) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte("<html>"))
	}
}

func drops(w http.ResponseWriter, _ url.Values) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// call is one call to the fake.
type call struct {
	method string
	form   url.Values
}

type fake struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
}

// newFake serves the answers in order, and repeats the last.
func newFake(t *testing.T, answers ...answer) (*fake, *Client) {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		f.mu.Lock()
		a := answers[min(len(f.calls), len(answers)-1)]
		f.calls = append(f.calls, call{strings.TrimPrefix(r.URL.Path, "/api/"), r.PostForm})
		f.mu.Unlock()
		a(w, r.PostForm)
	}))
	t.Cleanup(f.Close)
	return f, New(Config{Token: token, APIURL: f.URL + "/api", HTTPClient: patient})
}

func (f *fake) seen() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]call(nil), f.calls...)
}

func asError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want an *Error", err, err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells the token: %v", err)
	}
	return e
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	f, c := newFake(t,
		status(503),
		says(`{"ok":true,"url":"https://e.slack.com/","team":"E","user":"myao","team_id":"T1","user_id":"UBOT","bot_id":"BBOT"}`))
	if e := asError(t, func() error { _, err := c.Identity(t.Context()); return err }()); e.Kind != Ambiguous || !e.Retryable() {
		t.Errorf("503: got %+v", e)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			id, err := c.Identity(t.Context())
			if want := (Identity{TeamID: "T1", UserID: "UBOT", BotID: "BBOT", Name: "myao", TeamName: "E", URL: "https://e.slack.com/"}); err != nil || id != want {
				t.Errorf("got %+v, %v", id, err)
			}
		})
	}
	wg.Wait()
	if calls := f.seen(); len(calls) != 2 || calls[0].method != "auth.test" {
		t.Errorf("%d calls: %v", len(calls), calls)
	}
}

func TestIdentityHonoursContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	_, c := newFake(t, func(http.ResponseWriter, url.Values) { <-release })
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := c.Identity(ctx); first <- err }()
	second, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := c.Identity(second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second caller: got %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first caller: got %v", err)
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id, body string
		method   string
		want     User
	}{
		{"U1", `{"ok":true,"user":{"id":"U1","name":"alice","real_name":"Alice A","profile":{"display_name":"ali","real_name":"Alice A"}}}`, "users.info", User{ID: "U1", Name: "ali"}},
		{"U1", `{"ok":true,"user":{"id":"U1","name":"alice","real_name":"Alice A","profile":{"display_name":""}}}`, "users.info", User{ID: "U1", Name: "Alice A"}},
		{"U1", `{"ok":true,"user":{"id":"U1","name":"alice","profile":{}}}`, "users.info", User{ID: "U1", Name: "alice"}},
		{"U1", `{"ok":true,"user":{}}`, "users.info", User{ID: "U1", Name: "U1"}},
		{"U2", `{"ok":true,"user":{"id":"U2","name":"deploy","is_bot":true}}`, "users.info", User{ID: "U2", Name: "deploy", IsBot: true}},
		{"USLACKBOT", `{"ok":true,"user":{"id":"USLACKBOT","name":"slackbot","is_bot":false}}`, "users.info", User{ID: "USLACKBOT", Name: "slackbot", IsBot: true}},
		{"USLACK", `{"ok":true,"user":{"id":"USLACK","name":"slack","real_name":"Slack","profile":{"display_name":"Slack"}}}`, "users.info", User{ID: "USLACK", Name: "Slack", IsBot: true}},
		{"U3", `{"ok":true,"user":{"name":"odd","updated":"x","tz_offset":"y","profile":{"display_name":"o\u0000\ndd","status_expiration":"z"}}}`, "users.info", User{ID: "U3", Name: "o dd"}},
		{"B1", `{"ok":true,"bot":{"id":"B1","name":"Deploys","app_id":"A1"}}`, "bots.info", User{ID: "B1", Name: "Deploys", IsBot: true, App: "A1"}},
	} {
		f, c := newFake(t, says(tc.body))
		got, err := c.User(t.Context(), tc.id)
		if err != nil || got != tc.want {
			t.Errorf("%s: got %+v, %v, want %+v", tc.id, got, err, tc.want)
		}
		if calls := f.seen(); len(calls) != 1 || calls[0].method != tc.method {
			t.Errorf("calls %v", calls)
		}
	}
	_, c := newFake(t, says(`{"ok":false,"error":"user_not_found"}`))
	_, err := c.User(t.Context(), "U1")
	if e := asError(t, err); e.Kind != Final || e.Code != "user_not_found" || e.Method != "users.info" {
		t.Errorf("got %+v", e)
	}
}

const posted = `{"ok":true,"channel":"C1","ts":"1700000000.000100","message":{"text":"hi","blocks":"whatever"}}`

func TestPost(t *testing.T) {
	t.Parallel()
	f, c := newFake(t, says(posted))
	ts, err := c.Post(t.Context(), Post{Channel: "C1", ThreadTS: "1699999999.000100", Text: "**hi** <!here> & [x](https://e.org)", Key: "k1"})
	if err != nil || ts != "1700000000.000100" {
		t.Fatalf("got %q, %v", ts, err)
	}
	calls := f.seen()
	if len(calls) != 1 || calls[0].method != "chat.postMessage" {
		t.Fatalf("calls %v", calls)
	}
	form := calls[0].form
	for key, want := range map[string]string{
		"token": token, "channel": "C1", "thread_ts": "1699999999.000100", "unfurl_links": "false", "unfurl_media": "false",
		"text":   "*hi* &lt;!here&gt; &amp; x (<https://e.org>)",
		"blocks": `[{"type":"markdown","text":"**hi** \u0026lt;!here\u003e \u0026 [x](https://e.org)"}]`,
	} {
		if got := form.Get(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	var metadata map[string]any
	_ = json.Unmarshal([]byte(form.Get("metadata")), &metadata)
	if want := (map[string]any{"event_type": "myao_reply", "event_payload": map[string]any{"key": "k1"}}); !reflect.DeepEqual(metadata, want) {
		t.Errorf("metadata %v", metadata)
	}
	if form.Has("reply_broadcast") || form.Has("link_names") || form.Has("parse") {
		t.Errorf("form %v", form)
	}
}

func TestPostFallsBackToPlainText(t *testing.T) {
	t.Parallel()
	// Details of a refusal come in shapes that slack-go does not know.
	f, c := newFake(t, says(`{"ok":false,"error":"invalid_blocks","errors":[{"odd":1}],"response_metadata":{"messages":["[ERROR] x"]}}`), says(posted))
	ts, err := c.Post(t.Context(), Post{Channel: "C1", Text: "hi", Key: "k1"})
	calls := f.seen()
	if err != nil || ts == "" || len(calls) != 2 {
		t.Fatalf("got %q, %v after %d calls", ts, err, len(calls))
	}
	if calls[1].form.Has("blocks") || calls[1].form.Get("text") != "hi" || calls[1].form.Get("metadata") == "" || calls[1].form.Has("thread_ts") {
		t.Errorf("second call %v", calls[1].form)
	}

	// The second table of a message.
	f, c = newFake(t, says(`{"ok":false,"error":"invalid_attachments","response_metadata":{"messages":["[ERROR] only_one_table_allowed"]}}`), says(posted))
	if ts, err := c.Post(t.Context(), Post{Channel: "C1", Text: "hi", Key: "k1"}); err != nil || ts == "" || len(f.seen()) != 2 || f.seen()[1].form.Has("blocks") {
		t.Errorf("refused as attachments: %q, %v, %d calls", ts, err, len(f.seen()))
	}

	f, c = newFake(t, says(posted))
	if _, err := c.Post(t.Context(), Post{Channel: "C1", Text: strings.Repeat("あ", 12_001), Key: "k1"}); err != nil || len(f.seen()) != 1 || f.seen()[0].form.Has("blocks") {
		t.Errorf("too long for a block: %v, %d calls", err, len(f.seen()))
	}
}

func TestPostErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		answer answer
		kind   ErrorKind
		code   string
		wait   time.Duration
	}{
		{"final", says(`{"ok":false,"error":"channel_not_found"}`), Final, "channel_not_found", 0},
		{"final with unknown details", says(`{"ok":false,"error":"restricted_action","errors":{"x":1}}`), Final, "restricted_action", 0},
		{"429", status(429, "Retry-After", "3"), RateLimited, "ratelimited", 3 * time.Second},
		{"429 with a fraction", status(429, "Retry-After", "1.5"), RateLimited, "ratelimited", 1500 * time.Millisecond},
		{"429 without a header", status(429), RateLimited, "ratelimited", 0},
		{"429 with a date", status(429, "Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"), RateLimited, "ratelimited", 0},
		{"429 for ages", status(429, "Retry-After", "99999999999"), RateLimited, "ratelimited", 24 * time.Hour},
		{"200 ratelimited", says(`{"ok":false,"error":"ratelimited"}`), RateLimited, "ratelimited", 0},
		{"200 ratelimited with a header", func(w http.ResponseWriter, form url.Values) {
			w.Header().Set("Retry-After", "3")
			says(`{"ok":false,"error":"ratelimited"}`)(w, form)
		}, RateLimited, "ratelimited", 3 * time.Second},
		{"503", status(503, "Retry-After", "2"), Ambiguous, "http_503", 2 * time.Second},
		{"internal_error", says(`{"ok":false,"error":"internal_error"}`), Ambiguous, "internal_error", 0},
		{"no code", says(`{"ok":false}`), Ambiguous, "unreadable_answer", 0},
		{"code with the token", says(`{"ok":false,"error":"bad ` + token + `"}`), Final, "unknown_error", 0},
		{"empty object", says(`{}`), Ambiguous, "unreadable_answer", 0},
		{"no ts", says(`{"ok":true}`), Ambiguous, "unreadable_answer", 0},
		{"HTML", says(`<html>` + token), Ambiguous, "unreadable_answer", 0},
		{"half an answer", says(`{"ok":true,"ts":"17`), Ambiguous, "unreadable_answer", 0},
		{"cut short", func(w http.ResponseWriter, _ url.Values) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"ok":true`))
		}, Ambiguous, "connection_failed", 0},
		{"dropped", drops, Ambiguous, "connection_failed", 0},
		{"403", status(403), Ambiguous, "http_403", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, c := newFake(t, tc.answer)
			_, err := c.Post(t.Context(), Post{Channel: "C1", Text: "hi", Key: "k1"})
			e := asError(t, err)
			if e.Kind != tc.kind || e.Code != tc.code || e.RetryAfter != tc.wait || e.Method != "chat.postMessage" {
				t.Errorf("got %+v", e)
			}
			if e.Retryable() != (tc.kind == RateLimited) {
				t.Errorf("Retryable %v", e.Retryable())
			}
			var limited *slackapi.RateLimitedError // by which socketmode knows how long to wait
			if e.Status == http.StatusTooManyRequests && (!errors.As(err, &limited) || limited.RetryAfter != tc.wait) {
				t.Errorf("socketmode would wait for %v", limited)
			}
			if n := len(f.seen()); n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An error from a proxy or the network may contain what was sent.
func TestTransportErrorsHideTheToken(t *testing.T) {
	t.Parallel()
	c := New(Config{Token: token, HTTPClient: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("proxy refuses Bearer " + token)
	})}})
	_, err := c.Post(t.Context(), Post{Channel: "C1", Text: "hi", Key: "k1"})
	if e := asError(t, err); !strings.Contains(e.Error(), "proxy refuses") {
		t.Errorf("got %v", e)
	}
}

func TestPostTimeout(t *testing.T) {
	t.Parallel()
	// In the bubble, time passes only when nothing else goes on: after the request was sent.
	synctest.Test(t, func(t *testing.T) {
		silent := func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, there) }()
			return here, nil
		}
		web := &http.Client{Timeout: time.Second, Transport: &http.Transport{DialContext: silent}}
		_, err := New(Config{Token: token, APIURL: "http://slack.test/api/", HTTPClient: web}).
			Post(t.Context(), Post{Channel: "C1", Text: "hi", Key: "k1"})
		if e := asError(t, err); e.Kind != Ambiguous || e.Code != "timeout" {
			t.Errorf("got %+v", e)
		}
	})
}

// A context may end with a cause, which net/http returns in place of context.Canceled.
func TestPostCanceledWithACause(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	for name, answer := range map[string]http.HandlerFunc{
		"before the answer": func(http.ResponseWriter, *http.Request) {},
		"within the answer": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"ok":true`))
			_ = http.NewResponseController(w).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer(w, r)
				cancel(errors.New("the worker stops"))
				<-release
			}))
			t.Cleanup(server.CloseClientConnections)
			c := New(Config{Token: token, APIURL: server.URL + "/api/", HTTPClient: patient})
			_, err := c.Post(ctx, Post{Channel: "C1", Text: "hi", Key: "k1"})
			e := asError(t, err)
			if e.Kind != Ambiguous || !e.TimedOut() || !errors.Is(e, context.Canceled) || !strings.Contains(e.Error(), "the worker stops") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestPostWithoutConnection(t *testing.T) {
	t.Parallel()
	c := New(Config{Token: token, APIURL: "http://127.0.0.1:1/api/", HTTPClient: patient}) // no program gets this port
	_, err := c.Post(t.Context(), Post{Channel: "C1", Text: "hi", Key: "k1"})
	if e := asError(t, err); e.Kind != Transient || !e.Retryable() {
		t.Errorf("refused: got %+v", e)
	}

	// A listener that never answers the TLS greeting: the time runs out before anything
	// could be sent, and the error alone would not tell.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	c = New(Config{Token: token, APIURL: "https://" + listener.Addr().String() + "/api/", HTTPClient: &http.Client{Timeout: 50 * time.Millisecond}})
	_, err = c.Post(t.Context(), Post{Channel: "C1", Text: "hi", Key: "k1"})
	if e := asError(t, err); e.Kind != Transient || e.Code != "timeout" {
		t.Errorf("no handshake: got %+v", e)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var followed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	defer other.Close()
	_, c := newFake(t, status(307, "Location", other.URL))
	_, err := c.Post(t.Context(), Post{Channel: "C1", Text: "hi", Key: "k1"})
	if e := asError(t, err); e.Kind != Ambiguous || followed.Load() != 0 {
		t.Errorf("got %+v, followed %d times", e, followed.Load())
	}
}

func TestPostRefusesBadArguments(t *testing.T) {
	t.Parallel()
	f, c := newFake(t, says(posted))
	for _, p := range []Post{
		{Text: "hi", Key: "k"}, {Channel: "C 1", Text: "hi", Key: "k"}, {Channel: "C1", ThreadTS: "x", Text: "hi", Key: "k"},
		{Channel: "C1", Text: " \n", Key: "k"}, {Channel: "C1", Text: "hi"},
	} {
		_, err := c.Post(t.Context(), p)
		if e := asError(t, err); e.Kind != Final {
			t.Errorf("%+v: got %+v", p, e)
		}
	}
	if n := len(f.seen()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

func keyed(ts, author, eventType, key string) string {
	return fmt.Sprintf(`{"type":"message","ts":%q,%s,"text":"x","metadata":{"event_type":%q,"event_payload":{"key":%q}}}`, ts, author, eventType, key)
}

func page(next string, messages ...string) answer {
	return says(fmt.Sprintf(`{"ok":true,"messages":[%s],"has_more":%v,"response_metadata":{"next_cursor":%q}}`, strings.Join(messages, ","), next != "", next))
}

// A reply to a message that was deleted meanwhile is at the top level.
func TestFindPostOfADeletedThread(t *testing.T) {
	t.Parallel()
	gone := says(`{"ok":false,"error":"thread_not_found"}`)
	ours := keyed("1700000005.000100", `"user":"UBOT","bot_id":"BBOT"`, "myao_reply", "k1")
	for want, there := range map[string]answer{"1700000005.000100": page("", ours), "": page("")} {
		f, c := newFake(t, gone, there)
		ts, found, err := c.FindPost(t.Context(), "C1", "1700000000.000100", "1700000000.000100", "k1", me)
		if err != nil || ts != want || found != (want != "") {
			t.Errorf("got %q, %v, %v; want %q", ts, found, err, want)
		}
		calls := f.seen()
		if len(calls) != 2 || calls[1].method != "conversations.history" || calls[1].form.Get("oldest") != "1700000000.000100" {
			t.Errorf("calls %v", calls)
		}
	}
}

func TestFindPost(t *testing.T) {
	t.Parallel()
	own := `"user":"UBOT","bot_id":"BBOT"`
	theirs := keyed("1700000001.000100", `"user":"U1"`, "myao_reply", "k1")
	other := keyed("1700000002.000100", own, "myao_reply", "k2")
	foreign := keyed("1700000003.000100", own, "deploy", "k1")
	malformed := `{"type":"message","ts":"1700000004.000100","user":"U1","blocks":[{"type":7}],"attachments":"x","metadata":3}`
	ours := keyed("1700000005.000100", own, "myao_reply", "k1")
	for _, tc := range []struct {
		name    string
		thread  string
		answers []answer
		ts      string
		calls   int
		err     string
	}{
		{name: "found on the second page", thread: "1700000000.000100", answers: []answer{page("c1", theirs, other, foreign, malformed), page("", ours)}, ts: "1700000005.000100", calls: 2},
		{name: "found at the top level", answers: []answer{page("c1", malformed, ours)}, ts: "1700000005.000100", calls: 1},
		{name: "only bot_id", answers: []answer{page("", keyed("1700000005.000100", `"bot_id":"BBOT","subtype":"bot_message"`, "myao_reply", "k1"))}, ts: "1700000005.000100", calls: 1},
		{name: "no author", answers: []answer{page("", keyed("1700000005.000100", `"subtype":"bot_message"`, "myao_reply", "k1"))}, ts: "1700000005.000100", calls: 1},
		{name: "another app's, with our key", answers: []answer{page("", keyed("1700000005.000100", `"bot_id":"BOTHER","subtype":"bot_message"`, "myao_reply", "k1"))}, calls: 1},
		{name: "not there", answers: []answer{page("c1", theirs), page("", other, foreign)}, calls: 2},
		{name: "empty", answers: []answer{page("")}, calls: 1},
		{name: "no such channel", answers: []answer{says(`{"ok":false,"error":"channel_not_found"}`)}, calls: 1, err: "channel_not_found"},
		{name: "the thread cannot be read", thread: "1700000000.000100", answers: []answer{says(`{"ok":false,"error":"internal_error"}`), page("")}, calls: 1, err: "internal_error"},
		{name: "fails on the second page", answers: []answer{page("c1", theirs), status(500)}, calls: 2, err: "http_500"},
		{name: "more without a cursor", answers: []answer{says(`{"ok":true,"messages":[],"has_more":true}`)}, calls: 1, err: "unreadable_answer"},
		{name: "without end", answers: []answer{page("c1", theirs)}, calls: maxPages, err: "too_many_pages"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, c := newFake(t, tc.answers...)
			ts, found, err := c.FindPost(t.Context(), "C1", tc.thread, "1699999999.000000", "k1", me)
			if tc.err != "" {
				if e := asError(t, err); e.Code != tc.err {
					t.Errorf("got %+v", e)
				}
			} else if err != nil || ts != tc.ts || found != (tc.ts != "") {
				t.Errorf("got %q, %v, %v", ts, found, err)
			}
			calls := f.seen()
			if len(calls) != tc.calls {
				t.Fatalf("%d calls", len(calls))
			}
			form, method := calls[0].form, "conversations.history"
			if tc.thread != "" {
				method = "conversations.replies"
			}
			if calls[0].method != method || form.Get("ts") != tc.thread || form.Get("oldest") != "1699999999.000000" ||
				form.Get("inclusive") != "1" || form.Get("include_all_metadata") != "1" || form.Has("cursor") {
				t.Errorf("%s %v", calls[0].method, form)
			}
			if tc.calls > 1 && calls[1].form.Get("cursor") != "c1" {
				t.Errorf("second call %v", calls[1].form)
			}
		})
	}
	_, c := newFake(t, page(""))
	if _, _, err := c.FindPost(t.Context(), "C1", "", "", "k1", Identity{}); asError(t, err).Kind != Final {
		t.Errorf("without an identity: %v", err)
	}
}

// The buttons stand under the text in each form that Slack may take, and nothing of what a model wrote
// becomes markup.
func TestChoices(t *testing.T) {
	t.Parallel()
	open := Choice{
		ID: "p1", Text: "desk › create\n• title: <!channel> *x*", Undecidable: "No buttons.",
		Buttons: []Button{{Action: ActionApprove, Label: "Approve", Primary: true}, {Action: ActionDecline, Label: "Decline"}},
	}
	refusal := says(`{"ok":false,"error":"invalid_blocks"}`)
	f, c := newFake(t, refusal, refusal, says(posted))
	if _, err := c.Post(t.Context(), Post{Channel: "C1", ThreadTS: "1699999999.000100", Text: "**hi**", Key: "k1", Choices: []Choice{open}}); err != nil {
		t.Fatal(err)
	}
	below := `{"type":"section","text":{"type":"plain_text","text":"desk › create\n• title: \u003c!channel\u003e *x*","emoji":false}},` +
		`{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Approve","emoji":false},"action_id":"myao_approve","value":"p1","style":"primary"},` +
		`{"type":"button","text":{"type":"plain_text","text":"Decline","emoji":false},"action_id":"myao_decline","value":"p1"}]}]`
	for i, above := range []string{`[{"type":"markdown","text":"**hi**"},`, `[{"type":"section","text":{"type":"mrkdwn","text":"*hi*"}},`} {
		form := f.seen()[i].form
		if got := form.Get("blocks"); got != above+below {
			t.Errorf("form %d: %s", i, got)
		}
		if got, want := form.Get("text"), "*hi*\n\ndesk › create\n• title: &lt;!channel&gt; *x*"; got != want || form.Get("thread_ts") == "" {
			t.Errorf("form %d: text %q", i, got)
		}
	}

	if last := f.seen()[2].form; last.Has("blocks") || !strings.HasSuffix(last.Get("text"), " *x*\nNo buttons.") {
		t.Errorf("without blocks: %v", last)
	}

	done := open
	done.Outcome = "Approved by <@U1>: done."
	f, c = newFake(t, refusal, refusal, says(posted), says(`{"ok":false,"error":"message_not_found"}`))
	if existed, err := c.Update(t.Context(), Update{Channel: "C1", TS: "1700000000.000100", Text: "**hi**", Key: "k1", Choices: []Choice{done}}); err != nil || !existed {
		t.Errorf("updated: %v, %v", existed, err)
	}
	calls := f.seen()
	if len(calls) != 3 || calls[0].method != "chat.update" || !strings.Contains(calls[0].form.Get("blocks"), "Approved by \\u003c@U1\\u003e") || strings.Contains(calls[0].form.Get("blocks"), "myao_") ||
		calls[2].form.Has("blocks") || !strings.HasSuffix(calls[2].form.Get("text"), done.Outcome) {
		t.Errorf("calls %v", calls)
	}
	// A form at which Slack fails twice gives way to the next, here or in the next call.
	fails := says(`{"ok":false,"error":"internal_error"}`)
	f, c = newFake(t, fails, fails, fails, says(posted))
	if existed, err := c.Update(t.Context(), Update{Channel: "C1", TS: "1700000000.000100", Text: "**hi**", Key: "k1", Choices: []Choice{done}}); err != nil || !existed {
		t.Errorf("updated: %v, %v", existed, err)
	}
	if calls := f.seen(); len(calls) != 4 || calls[1].form.Get("blocks") != calls[0].form.Get("blocks") || calls[3].form.Get("blocks") != calls[2].form.Get("blocks") || calls[2].form.Get("blocks") == calls[1].form.Get("blocks") {
		t.Errorf("calls %v", calls)
	}
	for plainer, want := range []string{`"type":"markdown"`, `"type":"section","text":{"type":"mrkdwn","text":"*hi*"`, "", ""} {
		f, c = newFake(t, fails)
		if ts, err := c.Post(t.Context(), Post{Channel: "C1", Text: "**hi**", Key: "k1", Choices: []Choice{open}, Plainer: plainer}); ts != "" || err == nil || len(f.seen()) != 1 {
			t.Errorf("posted %q, %v", ts, err)
		}
		if got := f.seen()[0].form.Get("blocks"); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("form %d: %s", plainer, got)
		}
	}
	// Slack refuses a longer text, even where blocks are shown in its place.
	f, c = newFake(t, says(posted), says(posted), says(`{"ok":false,"error":"message_not_found"}`))
	long := done
	long.Text = "desk › create\n" + strings.Repeat("x", MaxChoice-20)
	for i, text := range []string{strings.Repeat("y", DefaultLimit-100), strings.Repeat("&", DefaultLimit)} {
		if _, err := c.Update(t.Context(), Update{Channel: "C1", TS: "1700000000.000100", Text: text, Key: "k1", Choices: []Choice{long}}); err != nil {
			t.Error(err)
		}
		form := f.seen()[i].form
		if got := form.Get("text"); utf8.RuneCountInString(got) > 4000 || i == 0 && !strings.HasSuffix(got, "y\n\ndesk › create\n"+done.Outcome) || !strings.Contains(form.Get("blocks"), "xxx") {
			t.Errorf("update %d: %s", i, got)
		}
	}
	if existed, err := c.Update(t.Context(), Update{Channel: "C1", TS: "1700000000.000100", Text: "hi", Key: "k1"}); err != nil || existed {
		t.Errorf("of a deleted message: %v, %v", existed, err)
	}
}

// The buttons to rate a reply stand below everything else, and go before anything else does if Slack
// refuses the blocks.
func TestFeedbackButtons(t *testing.T) {
	t.Parallel()
	open := Choice{ID: "p1", Text: "desk › create", Buttons: []Button{{Action: ActionApprove, Label: "Approve", Primary: true}}}
	const buttons = `{"type":"context_actions","block_id":"k1","elements":[{"type":"feedback_buttons","action_id":"myao_feedback",` +
		`"positive_button":{"text":{"type":"plain_text","text":"Good","emoji":false},"value":"up","accessibility_label":"Good"},` +
		`"negative_button":{"text":{"type":"plain_text","text":"Bad","emoji":false},"value":"down","accessibility_label":"Bad"}}]}`
	post := Post{Channel: "C1", Text: "hi", Key: "k1", Choices: []Choice{open}, Feedback: Feedback{Up: "Good", Down: "Bad"}}
	f, c := newFake(t, says(`{"ok":false,"error":"invalid_blocks"}`), says(posted))
	if _, err := c.Post(t.Context(), post); err != nil {
		t.Fatal(err)
	}
	first, second := f.seen()[0].form, f.seen()[1].form
	without := second.Get("blocks")
	if got, want := first.Get("blocks"), strings.TrimSuffix(without, "]")+","+buttons+"]"; got != want || !strings.Contains(without, ActionApprove) || first.Get("text") != second.Get("text") || first.Get("metadata") != second.Get("metadata") {
		t.Errorf("blocks\n%s\nwant\n%s", got, want)
	}
	post.Text = strings.Repeat("x", DefaultLimit)
	for range 4 {
		post.Choices = append(post.Choices, Choice{ID: "p", Text: strings.Repeat("y", MaxChoice), Buttons: open.Buttons})
	}
	f, c = newFake(t, says(posted))
	if _, err := c.Post(t.Context(), post); err != nil {
		t.Fatal(err)
	}
	var blocks []any
	if err := json.Unmarshal([]byte(f.seen()[0].form.Get("blocks")), &blocks); err != nil || len(blocks) != 1+2*len(post.Choices)+1 {
		t.Errorf("%d blocks, %v", len(blocks), err)
	}

	_, c = newFake(t, says(`{"ok":true,"view":{}}`), says(`{"ok":false,"error":"expired_trigger_id"}`))
	form := ReasonForm(Form{Title: "Bad", Submit: "Send", Close: "Skip"}, "Why?", "k1")
	if err := c.OpenForm(t.Context(), "t.1", form); err != nil {
		t.Error(err)
	}
	if e, ok := errors.AsType[*Error](c.OpenForm(t.Context(), "t.1", form)); !ok || e.Code != "expired_trigger_id" || e.Kind != Final {
		t.Errorf("late: %v", e)
	}
}
