package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
	"myao/test/storetest"
)

// asServer has this test's program be a server that speaks over standard input and output.
const asServer = "MYAO_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		_ = desk().Run(context.Background(), &sdk.StdioTransport{})
		return
	}
	os.Exit(m.Run())
}

type said struct {
	Text string `json:"text"`
}

var readOnly = &sdk.ToolAnnotations{ReadOnlyHint: true}

// desk is a server of the SDK with one tool of each sort.
func desk() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "find", Description: "Finds a ticket.", Annotations: readOnly}, func(_ context.Context, _ *sdk.CallToolRequest, in said) (*sdk.CallToolResult, any, error) {
		var picture bytes.Buffer
		_ = png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2)))
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "found " + in.Text}, &sdk.ImageContent{MIMEType: "image/gif", Data: picture.Bytes()}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("none")},
			&sdk.ResourceLink{URI: "https://desk.example/7", Name: "ticket 7"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "desk://7", Text: "seven"}}, &sdk.AudioContent{Data: []byte("x"), MIMEType: "audio/wav"},
		}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "count", Annotations: readOnly}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, map[string]int, error) {
		return nil, map[string]int{"open": 3}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "refuse", Annotations: readOnly}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("no such ticket")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "die", Annotations: readOnly}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "env", Annotations: readOnly}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("pid %d of %d: %s", os.Getpid(), syscall.Getpgrp(), strings.Join(os.Environ(), " "))}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "close.ticket", Description: "Closes a ticket."}, func(_ context.Context, _ *sdk.CallToolRequest, in said) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "closed " + in.Text}}}, nil, nil
	})
	return s
}

// log is a log that may be read while it is written.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type bundle struct {
	*Client
	t     *testing.T
	db    *store.Store
	log   *log
	place tools.Place
}

func setup(t *testing.T, servers map[string]config.MCPServer) *bundle {
	t.Helper()
	b := &bundle{t: t, db: storetest.Open(t), log: &log{}, place: tools.Place{Conversation: chat.Conversation{Team: "T1", Channel: "C0000001"}, ChannelName: "general", Addressed: true}}
	b.Client = patient(Options{
		Servers: servers, Store: b.db, Material: func(s string) string { return "«" + s + "»" }, Clock: time.Now,
		Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	t.Cleanup(b.Close)
	return b
}

// patient makes a Client that waits for its servers for as long as the machine stands still.
func patient(o Options) *Client {
	c := New(o)
	c.ctx = timeout.Extend(c.ctx)
	return c
}

func (b *bundle) offered() (names []string) {
	b.t.Helper()
	offers, err := b.Offered(timeout.Extend(b.t.Context()), b.place)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, o := range offers {
		name := strings.TrimPrefix(o.Name, o.Server+chat.ServerSeparator)
		if o.Act {
			name += " (acts)"
		}
		names = append(names, name)
	}
	return names
}

func (b *bundle) run(name, input string) tools.Result {
	b.t.Helper()
	r, err := b.Run(timeout.Extend(b.t.Context()), b.place, name, json.RawMessage(input))
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bundle) await(what string, done func() bool) {
	b.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s did not come", what)
		}
	}
}

func serve(t *testing.T, s *sdk.Server, see func(*http.Request)) string {
	t.Helper()
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if see != nil {
			see(r)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func itself(env map[string]config.Secret) config.MCPServer {
	program, _ := os.Executable()
	all := map[string]config.Secret{asServer: "1"}
	for k, v := range env {
		all[k] = v
	}
	return config.MCPServer{Command: program, Env: all, Channels: []string{"all"}}
}

const closeTicket = "desk__close_ticket_" // and a hash

// Both transports list and call alike.
func TestListsAndCalls(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(t *testing.T) config.MCPServer{
		"over HTTP": func(t *testing.T) config.MCPServer {
			return config.MCPServer{URL: serve(t, desk(), func(r *http.Request) {
				if r.Header.Get("X-Key") != "k1" {
					t.Error("a request lacks the header")
				}
			}), Headers: map[string]config.Secret{"X-Key": "k1"}, Channels: []string{"general"}}
		},
		"as a child": func(*testing.T) config.MCPServer { return itself(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, map[string]config.MCPServer{"desk": server(t)})
			offered := b.offered()
			if len(offered) != 6 || !slices.Contains(offered, "find") || !slices.ContainsFunc(offered, func(n string) bool { return strings.HasPrefix(n, "close_ticket_") && strings.HasSuffix(n, " (acts)") }) {
				t.Fatalf("offered %q\n%s", offered, b.log)
			}
			found := b.run("desk__find", `{"text":"7"}`)
			want := "«found 7\n(a picture that cannot be shown was left out)\nLink to ticket 7: https://desk.example/7 \ndesk://7:\nseven\n(a sound was left out)»"
			if found.Text != want || found.Failed || len(found.Files) != 1 || found.Files[0].MIME != "image/png" {
				t.Errorf("got %+v", found)
			}
			for _, c := range []struct{ name, input, want string }{
				{"desk__refuse", "", "no such ticket"},
				{"desk__find", `{"text":7}`, "The input of desk__find is wrong"},
				{"desk__find", `[]`, "is not a JSON object"},
				{"desk__find", `{"text":"\u0000"}`, "NUL"},
				{"desk__find", `{"text":"` + strings.Repeat("あ", maxInput) + `"}`, "has 2004 characters, at most 2000 are sent"},
				{"desk__nothing", `{}`, "There is no tool"},
				{closeTicket + nameOf("desk", "close.ticket")[len(closeTicket):], `{"text":"7"}`, "runs only when people have approved it"},
			} {
				if got := b.run(c.name, c.input); !got.Failed || !strings.Contains(got.Text, c.want) {
					t.Errorf("%s %s: got %+v, want %s", c.name, c.input, got, c.want)
				}
			}
			if got := b.run("desk__count", ""); got.Failed || !strings.Contains(got.Text, `{"open":3}`) {
				t.Errorf("got %+v", got)
			}
			b.place.Approved = "p1"
			if got := b.run(nameOf("desk", "close.ticket"), `{"text":"7"}`); got.Failed || got.Text != "«closed 7»" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// What a tool that reads is sent is bounded, except where its schema bounds it. A tool that acts is sent what
// people have seen.
func TestInputsAreBounded(t *testing.T) {
	t.Parallel()
	tool := store.MCPTool{Name: "desk__find", Schema: `{"type":"object","properties":{"q":{"type":"string"},"body":{"type":"string","maxLength":4000},"all":{"type":"string","maxLength":20001},"words":{"type":"array"}}}`}
	long := strings.Repeat("a", maxInput)
	for _, c := range []struct {
		input   string
		act, ok bool
	}{
		{`{"q":"` + long[1:] + `"}`, false, true},
		{`{"q":"` + long + `"}`, false, false},
		{`{"q":"` + long + `"}`, true, true},
		{`{"body":"` + long + long + `","q":"x"}`, false, true},
		{`{"body":"` + long + long + `a"}`, false, false},
		{`{"all":"` + long + `"}`, false, false},
		{`{"words":["` + long[1000:] + `",{"x":"` + long[1000:] + `"}]}`, false, false},
		{`{"` + long + `":1}`, false, false},
	} {
		if wrong := check(tool, c.act, json.RawMessage(c.input)); (wrong == "") != c.ok {
			t.Errorf("%.60s, acts %v: %.200s", c.input, c.act, wrong)
		}
	}
}

// A child sees only the environment that is named, leads its own group, is started again after it has
// died, and dies with the client. One that is not used is closed.
func TestChild(t *testing.T) {
	t.Setenv("MYAO_TEST_OWN", "own")
	b := setup(t, map[string]config.MCPServer{"desk": itself(map[string]config.Secret{"GIVEN": "yes"})})
	b.offered()
	pid := func() (pid int) {
		t.Helper()
		text, group := b.run("desk__env", "{}").Text, 0
		if _, err := fmt.Sscanf(text, "«pid %d of %d:", &pid, &group); err != nil || pid != group || !strings.Contains(text, "GIVEN=yes") || strings.Contains(text, "PATH=") || strings.Contains(text, "MYAO_TEST_OWN") {
			t.Fatalf("got %q, %v", text, err)
		}
		return pid
	}
	alive := func(pid int) bool { return syscall.Kill(pid, 0) == nil }
	first := pid()
	if got := b.run("desk__die", "{}"); !got.Failed || !strings.Contains(got.Text, "The server desk does not answer") {
		t.Errorf("got %+v", got)
	}
	b.await("the end of the child", func() bool { return !alive(first) })
	var second int
	b.await("another child", func() bool {
		if r := b.run("desk__count", "{}"); r.Failed {
			return false
		}
		second = pid()
		return true
	})
	if second == first {
		t.Error("it is the same child")
	}
	b.servers[0].idle = time.Millisecond
	pid()
	b.await("the end of the idle child", func() bool { return !alive(second) })
	b.servers[0].idle = time.Hour
	third := pid()
	b.Close()
	if alive(third) {
		t.Error("the child outlives the client")
	}
	if got := b.run("desk__count", "{}"); !got.Failed {
		t.Errorf("a closed client answers %+v", got)
	}
	if strings.Contains(b.log.String(), "GIVEN") {
		t.Errorf("the log has the environment:\n%s", b.log)
	}
}

// A server that is away keeps what is remembered of it, fails its calls with a line in the log, and is
// asked again.
func TestServerIsAwayAndBack(t *testing.T) {
	t.Parallel()
	url := serve(t, desk(), nil)
	b := setup(t, map[string]config.MCPServer{"desk": {URL: url, Channels: []string{"all"}}})
	b.offered()
	var passed atomic.Int64
	began := time.Now()
	clock := func() time.Time { return began.Add(time.Duration(passed.Load())) }
	away := patient(Options{Servers: map[string]config.MCPServer{"desk": {URL: "http://127.0.0.1:1/?key=LEAK", Channels: []string{"all"}}}, Store: b.db, Material: b.Material, Clock: clock, Logger: b.Logger})
	defer away.Close()
	back := b.Client
	b.Client = away
	if got := b.offered(); len(got) != 6 {
		t.Errorf("offered %q", got)
	}
	for range 2 { // the second within the distance to the next attempt
		if got := b.run("desk__count", "{}"); !got.Failed || got.Text != "The server desk does not answer. Do without it, and say so." {
			t.Errorf("got %+v", got)
		}
	}
	b.place.Approved = "p1"
	if got := b.run(nameOf("desk", "close.ticket"), `{"text":"7"}`); !got.Failed || !strings.Contains(got.Text, "does not answer") {
		t.Errorf("got %+v", got)
	}
	if text := b.log.String(); strings.Count(text, "MCP server does not answer") != 1 || strings.Contains(text, "LEAK") {
		t.Errorf("the log has\n%s", text)
	}
	away.servers[0].config.URL = url
	passed.Store(int64(maxDistance))
	b.await("the server", func() bool { return !b.run("desk__count", "{}").Failed })
	b.Client = back
}

// Of an act whose answer is lost nobody knows whether it was done; a look is asked again.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	lose := make(chan struct{}, 10)
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return desk() }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(bytes.Buffer)
		_, _ = body.ReadFrom(r.Body)
		r.Body = struct {
			*bytes.Reader
			noClose
		}{bytes.NewReader(body.Bytes()), noClose{}}
		if strings.Contains(body.String(), `"tools/call"`) {
			select {
			case <-lose:
				panic(http.ErrAbortHandler)
			default:
			}
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	b := setup(t, map[string]config.MCPServer{"desk": {URL: web.URL, Channels: []string{"all"}}})
	b.offered()
	lose <- struct{}{}
	if got := b.run("desk__count", "{}"); got.Failed {
		t.Errorf("got %+v", got)
	}
	b.place.Approved = "p1"
	lose <- struct{}{}
	got, err := b.Run(timeout.Extend(t.Context()), b.place, nameOf("desk", "close.ticket"), json.RawMessage(`{"text":"7"}`))
	if err == nil || errors.Is(err, tools.ErrNotCalled) {
		t.Errorf("got %+v, %v", got, err)
	}
}

type noClose struct{}

func (noClose) Close() error { return nil }

// What is offered where.
func TestPlaces(t *testing.T) {
	t.Parallel()
	url := serve(t, desk(), nil)
	b := setup(t, map[string]config.MCPServer{
		"here": {URL: url, Channels: []string{"#general"}, Tools: []string{"find", "close.ticket"}},
		"ext":  {URL: url, Channels: []string{"all"}, Tools: []string{"find", "count"}, External: true, Act: []string{"count"}},
		"off":  {URL: url},
		"none": {URL: url, Channels: []string{"all"}, Tools: []string{}},
		"told": {URL: url, Channels: []string{"C0000001"}, Tools: []string{"close.ticket"}, Look: []string{"close.ticket"}},
	})
	acts := nameOf("here", "close.ticket")[len("here__"):] + " (acts)"
	told := nameOf("told", "close.ticket")[len("told__"):]
	for _, c := range []struct {
		name   string
		change func(p *tools.Place)
		want   []string
	}{
		{"addressed", func(*tools.Place) {}, []string{"count (acts)", "find", acts, "find", told}},
		{"not addressed", func(p *tools.Place) { p.Addressed = false }, []string{"find", "find", told}},
		{"another channel", func(p *tools.Place) { p.Conversation.Channel, p.ChannelName = "C0000002", "random" }, []string{"count (acts)", "find"}},
		{"of unknown name", func(p *tools.Place) { p.Conversation.Channel, p.ChannelName = "C0000002", "" }, []string{"count (acts)", "find"}},
		{"with outsiders", func(p *tools.Place) { p.Outsiders = true }, []string{"count (acts)", "find"}},
		{"shared", func(p *tools.Place) { p.Shared = true }, []string{"count (acts)", "find"}},
		{"narrowed", func(p *tools.Place) { p.Remote = []string{"here__find"} }, []string{"find"}},
		{"narrowed to the server's own name", func(p *tools.Place) { p.Remote = []string{"told__close.ticket"} }, []string{told}},
		{"narrowed to none", func(p *tools.Place) { p.Remote = []string{} }, nil},
	} {
		before := b.place
		c.change(&b.place)
		if got := b.offered(); !slices.Equal(got, c.want) {
			t.Errorf("%s: offered %q, want %q", c.name, got, c.want)
		}
		b.place = before
	}
	b.place.Outsiders = true
	if got := b.run("here__find", `{"text":"7"}`); !got.Failed {
		t.Errorf("it runs where outsiders read: %+v", got)
	}
}

// A server that changes its tools is noticed, and flips nothing.
func TestChangedTools(t *testing.T) {
	t.Parallel()
	s := desk()
	b := setup(t, map[string]config.MCPServer{"desk": {URL: serve(t, s, nil), Channels: []string{"all"}}})
	acts := nameOf("desk", "close.ticket")[len("desk__"):] + " (acts)"
	if got := b.offered(); !slices.Contains(got, acts) {
		t.Fatalf("offered %q", got)
	}
	none := func(context.Context, *sdk.CallToolRequest, said) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	}
	sdk.AddTool(s, &sdk.Tool{Name: "close.ticket", Description: "Only looks.", Annotations: readOnly}, none)
	sdk.AddTool(s, &sdk.Tool{Name: "close2", Description: "Only looks, too.", Annotations: readOnly}, none)
	sdk.AddTool(s, &sdk.Tool{Name: "find", Description: "Acts now."}, none)
	sdk.AddTool(s, &sdk.Tool{Name: "count", Description: "Reads otherwise.", Annotations: readOnly}, none)
	b.await("the news", func() bool { return slices.Contains(b.offered(), "close2 (acts)") })
	if got, want := b.offered(), []string{"close2 (acts)", "count", "die", "env", "refuse"}; !slices.Equal(got, want) {
		t.Errorf("offered %q, want %q", got, want)
	}
	if changed, err := b.db.AllowTools(t.Context(), "", "desk", ""); err != nil || len(changed) != 3 {
		t.Errorf("allowed %+v, %v", changed, err)
	}
	if got, want := b.offered(), []string{acts[:len(acts)-len(" (acts)")], "close2", "count", "die", "env", "find (acts)", "refuse"}; !slices.Equal(got, want) {
		t.Errorf("offered %q, want %q", got, want)
	}
	if _, err := b.db.AllowTools(t.Context(), "", "desk", "nothing"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// The headers may hold a key, so no redirect is followed.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked, with the key %q", r.URL, r.Header.Get("X-Key"))
	}))
	t.Cleanup(elsewhere.Close)
	web := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(web.Close)
	b := setup(t, map[string]config.MCPServer{"desk": {URL: web.URL, Headers: map[string]config.Secret{"X-Key": "k1"}, Channels: []string{"all"}}})
	if got := b.offered(); len(got) > 0 {
		t.Errorf("offered %q", got)
	}
}
