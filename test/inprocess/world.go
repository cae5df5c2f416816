// Package inprocess gives tests what surrounds a worker, within their own process: a database, Slack, a model
// behind HTTP, and a clock. Slack is a workspace behind HTTP or, where ids and failures matter more than the
// protocol, a value in memory. Only tests import it.
package inprocess

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/storetest"
)

// Prompts renders the embedded templates. It is made once: every template is rendered with it.
var Prompts = sync.OnceValue(func() *prompt.Renderer {
	prompts, err := prompt.New(prompt.Config{})
	if err != nil {
		panic(err)
	}
	return prompts
})

// Options are what tests may want otherwise.
type Options struct {
	Database string           // its URL; a new SQLite database if empty
	Sandbox  workspace.Config // of the workspace; the team, the token and the clock are the world's
	At       time.Time        // where the clock stands; it goes if zero
	Model    llmtest.Handler
	// Wrap stands between the workspace and its clients.
	Wrap func(http.Handler) http.Handler
	// Client calls Slack. Without one, calls end only when they are canceled, because the machine may stand still.
	Client *http.Client
}

// World is a database, a workspace in which alice talks with the bot in general, and a model.
type World struct {
	*testing.T
	Database  *store.Store
	url       string // of it
	Time      *Clock
	Workspace *workspace.Workspace
	API       *httptest.Server // of the workspace
	Client    *slack.Client
	Model     *llmtest.Running
	Alice     workspace.User
	General   string
}

// Context is the test's, with limits of hours: the machine may stand still.
func (w *World) Context() context.Context { return timeout.Extend(w.T.Context()) }

// New makes a world.
func New(t *testing.T, o Options) *World {
	t.Helper()
	w := NewWithoutWorkspace(t, o)
	if o.Wrap == nil {
		o.Wrap = func(h http.Handler) http.Handler { return h }
	}
	if o.Client == nil {
		o.Client = &http.Client{Transport: patientTransport{}}
	}
	o.Sandbox.Team, o.Sandbox.BotToken, o.Sandbox.Clock = "T1", "xoxb-1", w.Time.Now
	if o.Sandbox.Logger == nil {
		o.Sandbox.Logger = Silent
	}
	w.Workspace = workspace.New(o.Sandbox)
	t.Cleanup(w.Workspace.Close)
	w.API = httptest.NewServer(o.Wrap(w.Workspace.Handler()))
	t.Cleanup(w.API.Close)
	w.Client = slack.New(slack.Config{Token: o.Sandbox.BotToken, APIURL: w.API.URL + "/api/", HTTPClient: o.Client})
	w.Alice = w.Workspace.AddUser("alice")
	w.General = w.Workspace.AddChannel(workspace.Public, "general", w.Workspace.Bot().UserID, w.Alice.ID)
	return w
}

// NewWithoutWorkspace makes a world for tests that have a Directory or another Slack in memory.
func NewWithoutWorkspace(t *testing.T, o Options) *World {
	t.Helper()
	if o.Database == "" {
		o.Database = storetest.SQLite(t)
	}
	w := &World{T: t, Database: storetest.OpenURL(t, o.Database), url: o.Database, Time: &Clock{at: o.At}}
	if o.Model != nil {
		w.Model = llmtest.New(t, o.Model)
	}
	return w
}

// EachDatabase runs a test on both databases.
func EachDatabase(t *testing.T, run func(t *testing.T, url string)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(testing.TB) string{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open(t))
		})
	}
}

// Silent logs nothing.
var Silent = slog.New(slog.DiscardHandler)

// NewDirectory makes the directory of channels that the programs have, with these settings.
func (w *World) NewDirectory(from channels.Slack, settings channels.Config) *channels.Directory {
	return &channels.Directory{Store: w.Database, Slack: from, Config: settings, Clock: w.Time.Now, Logger: Silent}
}

// Mention is a text for the bot.
func (w *World) Mention(text string) string { return "<@" + w.Workspace.Bot().UserID + "> " + text }

// Held returns a message as Slack has it.
func (w *World) Held(channel, ts string) workspace.Message {
	w.Helper()
	for _, m := range w.Workspace.Messages(channel) {
		if m.TS == ts {
			return m
		}
	}
	w.Fatalf("there is no message %s", ts)
	return workspace.Message{}
}

// Record records a message, and changes of its conversation.
func (w *World) Record(m chat.Message, kinds ...conversation.Kind) chat.Message {
	w.Helper()
	entry := store.Entry{Message: &m, Handled: true}
	for _, kind := range kinds {
		entry.Changes = append(entry.Changes, store.Change{
			Conversation: chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS},
			Change:       conversation.Change{TS: m.TS, Kind: kind},
		})
	}
	if _, err := w.Database.Record(w.Context(), m, func(store.Known) store.Entry { return entry }); err != nil {
		w.Fatal(err)
	}
	return m
}

// SaveMemories saves the memories of a scope, made at a time. An empty text is none.
func (w *World) SaveMemories(s chat.Scope, made time.Time, long, short string, sources ...string) {
	w.Helper()
	update := store.MemoryUpdate{
		Scope: s, Cursor: store.Cursor{Newest: made}, Read: made, Long: store.WithdrawMemory, Short: store.WithdrawMemory,
	}
	for _, m := range []struct {
		term   chat.Term
		text   string
		action *store.MemoryAction
	}{{chat.LongTerm, long, &update.Long}, {chat.ShortTerm, short, &update.Short}} {
		if m.text == "" {
			continue
		}
		*m.action = store.RenewMemory
		draft := store.Memory{Scope: s, Term: m.term, Text: m.text, Made: made, Sources: sources}
		if err := w.Database.SaveDraft(w.Context(), draft, update.Cursor); err != nil {
			w.Fatal(err)
		}
	}
	if err := w.Database.SaveMemories(w.Context(), update); err != nil {
		w.Fatal(err)
	}
}

// FillTable has an SQLite database refuse rows of a table, as a full disk does, until empty is called.
func (w *World) FillTable(table string) (empty func()) {
	w.Helper()
	db, err := sql.Open("sqlite3", strings.TrimPrefix(w.url, "sqlite:"))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = db.Close() })
	execute := func(statement string) {
		w.Helper()
		if _, err := db.ExecContext(w.Context(), statement); err != nil {
			w.Fatal(err)
		}
	}
	execute("CREATE TRIGGER full BEFORE INSERT ON " + table + " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")
	return func() { execute("DROP TRIGGER full") }
}

// WantWords fails unless a text contains the words, and lacks those that begin with a "!".
func (w *World) WantWords(what, text string, words ...string) {
	w.Helper()
	for _, word := range words {
		word, absent := strings.CutPrefix(word, "!")
		if strings.Contains(text, word) == absent {
			w.Errorf("%s: %q in it is %v, in\n%s", what, word, !absent, text)
		}
	}
}

// Clock stands where it was set, or goes.
type Clock struct {
	mu    sync.Mutex
	at    time.Time
	ahead time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return time.Now().Add(c.ahead)
	}
	return c.at
}

// Set stops the clock at a time.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// SetAhead has a clock that goes be ahead of the time, or behind it.
func (c *Clock) SetAhead(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = d
}

// patientTransport ignores deadlines. It obeys cancellation.
type patientTransport struct{}

func (patientTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(req.Context()))
	obey := func() {
		if errors.Is(req.Context().Err(), context.Canceled) {
			cancel(context.Cause(req.Context()))
		}
	}
	obey() // AfterFunc calls it in a goroutine, perhaps too late
	context.AfterFunc(req.Context(), obey)
	return http.DefaultTransport.RoundTrip(req.WithContext(ctx))
}

// Identity is who the bot is.
func (w *World) Identity() slack.Identity {
	w.Helper()
	own, err := w.Client.Identity(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return own
}
