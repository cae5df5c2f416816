package tap

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"myao/internal/llm"
	"myao/internal/llm/openai"
	"myao/test/llmtest"
)

// The provider receives the bot's request unchanged, and the bot its answer.
func TestRequestsPassThrough(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		b.provider.Key = key
		b.provider.Handle(func(c llmtest.Call) llmtest.Reply {
			if c.Judgment() {
				return llmtest.Yes("asked", 0.9, 5)
			}
			return llmtest.Reply{Text: "re: " + c.User, InputTokens: 50, OutputTokens: 7, ThoughtTokens: 30}
		})
		free, judged := request("run/1/7.000000"), request("run/1/7.000000")
		free.Prompt, free.MaxOutputTokens = "What <b>now</b>?", 77
		judged.Schema = llm.VerdictSchema(600)
		direct := adapter(t, b.kind, b.provider.URL+b.base)
		for _, r := range []llm.Request{judged, free} {
			want, err := direct.Generate(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.bot.Generate(t.Context(), r)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
			calls := b.provider.Calls()
			with, without := calls[1], calls[0]
			if with.Path != without.Path || with.Query != without.Query || !same(t, with.Body, without.Body) || string(with.Schema) != string(without.Schema) {
				t.Errorf("by the tap:\n%s?%s %s\nwithout:\n%s?%s %s", with.Path, with.Query, with.Body, without.Path, without.Query, without.Body)
			}
			for _, name := range []string{"Authorization", "X-Goog-Api-Key", "X-Client-Request-Id", "Content-Type", "User-Agent", "X-Goog-Request-Params", "Content-Length"} {
				if !reflect.DeepEqual(with.Header[name], without.Header[name]) {
					t.Errorf("%s by the tap: %q, without: %q", name, with.Header[name], without.Header[name])
				}
			}
			b.provider.Reset()
		}
		all := b.Exchanges("run/1/7.000000")
		if len(all) != 2 {
			t.Fatalf("kept %+v", all)
		}
		for i := range all {
			all[i].At = time.Time{}
		}
		want := []Exchange{
			{Purpose: llm.PurposeJudgment, Model: "m-1", System: "You are kind.", Prompt: "Answer now.", Answer: llmtest.Yes("asked", 0.9, 5).Text},
			{Purpose: llm.PurposeResponse, Model: "m-1", System: "You are kind.", Prompt: "What <b>now</b>?", Answer: "re: What <b>now</b>?"},
		}
		if !reflect.DeepEqual(all, want) {
			t.Errorf("kept %+v\nwant %+v", all, want)
		}
		noKey(t, b.Tap)
	})
}

func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// The tap keeps what the model was offered, what it called, and what came of it.
func TestToolsPassThrough(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		b.provider.Handle(llmtest.Script(llmtest.Reply{Text: "I look.", ThoughtTokens: 3, Calls: []llm.Call{
			llmtest.ToolCall("search", `{"query":"a"}`), llmtest.ToolCall("search", `{"query":"b"}`)}},
			llmtest.Reply{Status: 400, Message: "gemma3 does not support tools"}, llmtest.Text("At noon.")))
		r := request("x")
		r.Tools = []llm.Tool{{Name: "search", Description: "Searches.", Schema: json.RawMessage(`{"$comment":"as it is","type":"object"}`)}}
		first, err := b.bot.Generate(t.Context(), r)
		if err != nil || first.Turn == nil {
			t.Fatalf("got %+v, %v", first, err)
		}
		turn := *first.Turn
		for i, c := range turn.Calls {
			turn.Results = append(turn.Results, llm.ToolResult{CallID: c.ID, Name: c.Name, Text: "nothing " + key, Failed: i == 1})
		}
		r.Turns = []llm.Turn{turn}
		fails(t, b.bot, r, llm.ErrInvalid, 400, "does not support tools")
		if res, err := b.bot.Generate(t.Context(), r); err != nil || res.Text != "At noon." {
			t.Fatalf("got %+v, %v", res, err)
		}
		all := b.Exchanges("x")
		const tools = "search: Searches.\n" + `{"$comment":"as it is","type":"object"}`
		failed := "← failed:"
		if b.kind == "openai" { // has no mark for failures
			failed = "←"
		}
		if want := "I look.\n→ search {\"query\":\"a\"}\n→ search {\"query\":\"b\"}"; all[0].Answer != want || all[0].Error != "" || all[0].Tools != tools || all[0].LookedUp != "" {
			t.Errorf("kept %+v\nwant %s", all[0], want)
		}
		if !strings.Contains(all[1].Error, "does not support tools") {
			t.Errorf("kept %+v", all[1])
		}
		want := "I look.\n\n→ search {\"query\":\"a\"}\n← nothing [key]\n\n→ search {\"query\":\"b\"}\n" + failed + " nothing [key]"
		if x := all[2]; x.LookedUp != want || x.Tools != tools || x.Answer != "At noon." || x.Prompt != "Answer now." {
			t.Errorf("kept %+v\nwant %s", x, want)
		}
		noKey(t, b.Tap)
	})
}

// The bot sees a failure as it does without the tap, and the tap keeps its text.
func TestFailuresPassThrough(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		direct := adapter(t, b.kind, b.provider.URL+b.base)
		for name, c := range map[string]struct {
			reply  llmtest.Reply
			says   string // is in the kept error
			answer string
		}{
			"limited":    {llmtest.Reply{Status: 429, RetryAfter: "7", Message: "slow down"}, "slow down", ""},
			"overloaded": {llmtest.Reply{Status: 503, Message: "overloaded"}, "overloaded", ""},
			"refused":    {llmtest.Reply{Status: 400, Message: "no such field"}, "no such field", ""},
			"key":        {llmtest.Reply{Status: 401, Message: "Incorrect API key provided: " + key}, "Incorrect API key provided: [key]", ""},
			"malformed":  {llmtest.Reply{Malformed: true}, "not a JSON object", ""},
			"blocked":    {llmtest.Reply{Blocked: true, InputTokens: 9}, "blocked", ""},
			"cut":        {llmtest.Reply{Text: "Half of", Cut: true, InputTokens: 9, OutputTokens: 2}, "cut at the token limit", "Half of"},
			"empty":      {llmtest.Reply{InputTokens: 9, OutputTokens: 1}, "empty answer", ""},
		} {
			b.provider.Handle(llmtest.Script(c.reply))
			r := request(name)
			wantResponse, wantErr := direct.Generate(t.Context(), r)
			gotResponse, gotErr := b.bot.Generate(t.Context(), r)
			if !reflect.DeepEqual(gotResponse, wantResponse) || !reflect.DeepEqual(gotErr, wantErr) {
				t.Errorf("%s: got %+v, %v\nwant %+v, %v", name, gotResponse, gotErr, wantResponse, wantErr)
			}
			x := one(t, b.Tap, name)
			if !strings.Contains(x.Error, c.says) || x.Answer != c.answer || x.Prompt != "Answer now." {
				t.Errorf("%s: kept %+v, want %q with %q", name, x, c.answer, c.says)
			}
		}
		noKey(t, b.Tap)
	})
}

func TestAnswerThatQuotesTheKey(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		b.provider.Handle(func(c llmtest.Call) llmtest.Reply {
			return llmtest.Text("You sent " + c.Header.Get("Authorization") + c.Header.Get("X-Goog-Api-Key") + c.Header.Get("X-Api-Key") + ".")
		})
		if got, err := b.bot.Generate(t.Context(), request("x")); err != nil || !strings.Contains(got.Text, key) {
			t.Errorf("got %+v, %v", got, err)
		}
		if x := one(t, b.Tap, "x"); !strings.Contains(x.Answer, "[key].") {
			t.Errorf("kept %q", x.Answer)
		}
		noKey(t, b.Tap)
	})
}

func TestUnreachableProvider(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		b.provider.Handle(llmtest.Script(llmtest.Reply{Drop: true}))
		fails(t, b.bot, request("drop"), llm.ErrUnavailable, http.StatusBadGateway, "no answer from 127.0.0.1:")
		b.provider.Close()
		e := fails(t, b.bot, request("away"), llm.ErrUnavailable, http.StatusBadGateway, "connection refused")
		if !e.Retryable() {
			t.Errorf("%v is for good", e)
		}
		if x := one(t, b.Tap, "away"); !strings.Contains(x.Error, "connection refused") || x.Answer != "" {
			t.Errorf("kept %+v", x)
		}
	})
}

func TestProviderSwitchedOff(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		b.SetDown(true)
		fails(t, b.bot, request("x"), llm.ErrUnavailable, http.StatusServiceUnavailable, "switched off")
		if n := len(b.provider.Calls()); n != 0 {
			t.Errorf("%d questions passed", n)
		}
		b.SetDown(false)
		if _, err := b.bot.Generate(t.Context(), request("x")); err != nil {
			t.Error(err)
		}
		if all := b.Exchanges("x"); len(all) != 2 || !strings.Contains(all[0].Error, "switched off") || all[1].Answer != "ok" {
			t.Errorf("kept %+v", all)
		}
	})
}

// Switching the model off does not interrupt a running request.
func TestSwitchedOffDuringARequest(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		b.provider.Handle(func(llmtest.Call) llmtest.Reply { b.SetDown(true); return llmtest.Text("still here") })
		if got, err := b.bot.Generate(t.Context(), request("x")); err != nil || got.Text != "still here" {
			t.Errorf("got %q, %v", got.Text, err)
		}
	})
}

func TestBotHangsUp(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		ctx, hangUp := context.WithCancel(t.Context())
		b.provider.Handle(func(llmtest.Call) llmtest.Reply { hangUp(); return llmtest.Reply{Text: "late", Delay: time.Hour} })
		if _, err := b.bot.Generate(ctx, request("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		await(t, "the exchange", func() bool { return len(b.Exchanges("x")) == 1 })
		if x := one(t, b.Tap, "x"); !strings.Contains(x.Error, "stopped waiting") {
			t.Errorf("kept %+v", x)
		}
	})
}

// The transports of the bot and of the tap accept compressed answers.
func TestCompressedAnswer(t *testing.T) {
	t.Parallel()
	const answer = `{"choices":[{"message":{"role":"assistant","content":"unpacked"},"finish_reason":"stop"}]}`
	packed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("the provider is not told that its answer may be packed")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(answer))
		_ = z.Close()
	}))
	t.Cleanup(packed.Close)
	tap := proxy(t, packed.URL)
	got, err := adapter(t, "openai", serve(t, tap)).Generate(t.Context(), request("x"))
	if x := one(t, tap, "x"); err != nil || got.Text != "unpacked" || x.Answer != got.Text || x.Error != "" {
		t.Errorf("got %q, %v, kept %+v", got.Text, err, x)
	}
}

// The status alone shows a refusal; an incomplete success is an error.
func TestIncompleteAnswer(t *testing.T) {
	t.Parallel()
	for status, c := range map[int]struct {
		kind   error
		status int
	}{429: {llm.ErrRateLimited, 429}, 200: {llm.ErrUnavailable, http.StatusBadGateway}} {
		broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"choices":[{"message":`))
		}))
		t.Cleanup(broken.Close)
		tap := proxy(t, broken.URL)
		fails(t, adapter(t, "openai", serve(t, tap)), request("x"), c.kind, c.status, "")
		if x := one(t, tap, "x"); x.Error == "" || x.Answer != "" {
			t.Errorf("%d: kept %+v", status, x)
		}
	}
}

// The tap reads an answer even after the bot has hung up.
func TestReadingAfterTheBotHungUp(t *testing.T) {
	t.Parallel()
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
	for provider, body := range map[string]string{
		"openai": `{"choices":[{"message":{"content":"hi"}}]}`,
		"gemini": `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"hi"}]}}]}`,
	} {
		if text, fault := newReader().read(ctx, llmtest.Call{Provider: provider}, res, []byte(body)); text != "hi" || fault != "" {
			t.Errorf("%s: got %q, %q", provider, text, fault)
		}
	}
}

func TestAnswerTooLong(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		b.provider.Handle(llmtest.Script(llmtest.Text(strings.Repeat("x", llm.BodyLimit))))
		fails(t, b.bot, request("x"), llm.ErrUnavailable, http.StatusBadGateway, "longer than 8 MiB")
	})
}

// The hosts are out of a test's reach, so a transport captures the requests to them.
func TestForwardingToServersOfOpenAIsProtocol(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ upstream, key, url, limit, header, value string }{
		{"https://api.openai.com/v1", key, "https://api.openai.com/v1/chat/completions", "max_completion_tokens", "Authorization", "Bearer " + key},
		{"https://us.openai.azure.com/openai/v1/?api-version=v1", key, "https://us.openai.azure.com/openai/v1/chat/completions?api-version=v1",
			"max_completion_tokens", "Api-Key", key},
		{"http://localhost:11434/v1", "", "http://localhost:11434/v1/chat/completions", "max_tokens", "", ""},
		{"http://me:pass@models.example/v1", "", "http://models.example/v1/chat/completions", "max_tokens", "Authorization", "Basic bWU6cGFzcw=="},
	} {
		upstream, err := url.Parse(c.upstream)
		if err != nil {
			t.Fatal(err)
		}
		var sent *http.Request
		var body []byte
		tap := newTap(providerBackend(upstream, roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
			return nil, errors.New("no network in tests")
		})))
		bot, err := openai.New(openai.Config{APIKey: c.key, BaseURL: serve(t, tap)})
		if err != nil {
			t.Fatal(err)
		}
		r := request("x")
		r.MaxOutputTokens, r.Schema = 9, llm.VerdictSchema(600)
		e := fails(t, bot, r, llm.ErrUnavailable, http.StatusBadGateway, "no network in tests")
		if strings.Contains(e.Error(), "pass") {
			t.Errorf("%s: the error tells the password: %v", c.upstream, e)
		}
		if got := sent.URL.String(); got != c.url || sent.Host != "" && sent.Host != sent.URL.Host {
			t.Errorf("%s: sent to %s, host %q, want %s", c.upstream, got, sent.Host, c.url)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(body, &fields); err != nil || int64(len(body)) != sent.ContentLength {
			t.Fatalf("%s: %d bytes sent, %d announced, %v", c.upstream, len(body), sent.ContentLength, err)
		}
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			if (string(fields[name]) == "9") != (name == c.limit) {
				t.Errorf("%s: %s is %s", c.upstream, name, fields[name])
			}
		}
		if !bytes.Contains(body, r.Schema.JSONSchema()) {
			t.Errorf("%s: the schema's order is lost: %s", c.upstream, body)
		}
		for _, name := range []string{"Authorization", "Api-Key"} {
			if want := map[bool]string{true: c.value}[name == c.header]; sent.Header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", c.upstream, name, sent.Header.Get(name), want)
			}
		}
		noKey(t, tap)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
