package catchup

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/channels"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/record"
	"myao/internal/sandbox"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/store/storetest"
	"myao/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is the clock of Slack and of the reader.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// recorder is the real one. It remembers the texts that it recorded, and can fail.
type recorder struct {
	*record.Recorder
	mu    sync.Mutex
	texts []string
	fail  func(n int) error // is called before event n, counted from 0
}

func (r *recorder) Record(ctx context.Context, e slack.MessageEvent, own slack.Identity) ([]store.Target, error) {
	r.mu.Lock()
	n, fail := len(r.texts), r.fail
	r.mu.Unlock()
	if fail != nil {
		if err := fail(n); err != nil {
			return nil, err
		}
	}
	targets, err := r.Recorder.Record(ctx, e, own)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, e.Message.Text)
	return targets, err
}

// taken returns the texts that were recorded since the last call.
func (r *recorder) taken() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.texts = nil }()
	return strings.Join(r.texts, ", ")
}

// bundle is a workspace without a door. alice writes in a channel that the bot has known for a month,
// and that was read a day before noon.
type bundle struct {
	*testing.T
	*Reader
	w        *sandbox.Workspace
	clock    *clock
	recorder *recorder
	config   *config.Config
	log      *strings.Builder
	alice    string
	channel  string
}

// options are the options of setup.
type options struct {
	sandbox.Config
	url      string // of the database; SQLite if empty
	response config.Response
}

func setup(t *testing.T, o options) *bundle {
	t.Helper()
	b := prepare(t, o)
	b.clock.set(noon.AddDate(0, 0, -30))
	b.sync()
	b.clock.set(noon.AddDate(0, 0, -1))
	b.catchUp(true)
	b.recorder.taken()
	b.clock.set(noon)
	return b
}

// prepare is setup with a channel that is not known yet, at noon.
func prepare(t *testing.T, o options) *bundle {
	t.Helper()
	if o.url == "" {
		o.url = storetest.SQLite(t)
	}
	db := storetest.OpenURL(t, o.url)
	b := &bundle{T: t, clock: &clock{at: noon}, log: &strings.Builder{}}
	o.Team, o.BotToken, o.Clock = "T1", "xoxb-catchup", b.clock.now
	b.w = sandbox.New(o.Config)
	t.Cleanup(b.w.Close)
	api := httptest.NewServer(b.w.Handler())
	t.Cleanup(api.Close)
	b.alice = b.w.AddUser("alice").ID
	b.channel = b.w.AddChannel(sandbox.Public, "general", b.w.Bot().UserID, b.alice)

	if o.response.MaxMessageAgeSeconds == 0 {
		o.response.MaxMessageAgeSeconds = 12 * 3600
	}
	client := slack.New(slack.Config{Token: o.BotToken, APIURL: api.URL + "/api/"})
	b.config = &config.Config{Response: o.response}
	directory := &channels.Directory{Store: db, Slack: client, Config: b.config, Clock: b.clock.now, Logger: slog.New(slog.DiscardHandler)}
	b.recorder = &recorder{Recorder: &record.Recorder{Store: db, Directory: directory}}
	b.Reader = &Reader{
		Store: db, Slack: client, Recorder: b.recorder, Directory: directory, FirstWindow: 24 * time.Hour, ThreadWindow: 7 * 24 * time.Hour,
		Clock: b.clock.now, Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	}
	return b
}

func eachDatabase(t *testing.T, run func(t *testing.T, url string)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, storetest.Postgres(t))
	})
}

func (b *bundle) sync() store.SyncResult {
	b.Helper()
	s, err := b.Sync(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bundle) catchUp(threads bool) Result {
	b.Helper()
	r, err := b.Channel(b.Context(), b.channel, threads)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// say posts a message a time before noon, without an event.
func (b *bundle) say(before time.Duration, text string, opts ...sandbox.SayOption) string {
	return b.w.Say(b.channel, b.alice, text, append(opts, sandbox.At(noon.Add(-before)))...)
}

func (b *bundle) mention(text string) string { return "<@" + b.w.Bot().UserID + "> " + text }

// standing returns a message as Slack holds it.
func (b *bundle) standing(ts string) chat.Message {
	b.Helper()
	for _, m := range b.w.Messages(b.channel) {
		if m.TS == ts {
			out := chat.Message{Team: "T1", Channel: b.channel, TS: ts, ThreadTS: m.ThreadTS, UserID: m.User, Text: m.Text}
			if m.Edited != nil {
				out.Revision = m.Edited.TS
			}
			if !m.Reply() {
				out.ThreadTS = ""
			}
			return out
		}
	}
	b.Fatalf("no message %s", ts)
	return chat.Message{}
}

// hear delivers the event of a message as it is now, and returns how many conversations have something
// new.
func (b *bundle) hear(m chat.Message) int {
	b.Helper()
	targets, err := b.record(slack.MessageEvent{Kind: slack.Posted, Message: m, Mention: chat.Mentions(m.Text, b.w.Bot().UserID)})
	if err != nil {
		b.Fatal(err)
	}
	return len(targets)
}

// record records an event like the door.
func (b *bundle) record(e slack.MessageEvent) ([]store.Target, error) {
	return b.recorder.Recorder.Record(b.Context(), e, slack.Identity{TeamID: "T1", UserID: b.w.Bot().UserID})
}

// marks returns the channel's row, with its marks.
func (b *bundle) marks() store.Channel {
	b.Helper()
	known, err := b.Store.Channels(b.Context(), "T1", []string{b.channel})
	if err != nil {
		b.Fatal(err)
	}
	return known[b.channel]
}

// changes returns the pending changes, as conversation, kind and text.
func (b *bundle) changes() []string {
	b.Helper()
	backlog, err := b.Store.Backlog(b.Context(), 1000)
	if err != nil {
		b.Fatal(err)
	}
	var out []string
	for _, left := range backlog {
		waiting, err := b.Store.PendingChanges(b.Context(), left.WorkflowID, 1000)
		if err != nil {
			b.Fatal(err)
		}
		kind, _, _ := strings.Cut(left.WorkflowID, "/")
		for _, c := range waiting {
			m, err := b.Store.Message(b.Context(), "T1", b.channel, c.TS)
			if err != nil {
				b.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %s %q", kind, c.Kind, strings.TrimPrefix(m.Text, b.mention(""))))
		}
	}
	slices.Sort(out)
	return out
}

func (b *bundle) wantChanges(want ...string) {
	b.Helper()
	slices.Sort(want)
	if got := b.changes(); !slices.Equal(got, want) {
		b.Errorf("changes\n got %q\nwant %q", got, want)
	}
}

func (b *bundle) wantTaken(want string) {
	b.Helper()
	if got := strings.ReplaceAll(b.recorder.taken(), b.mention(""), "@"); got != want {
		b.Errorf("taken\n got %q\nwant %q", got, want)
	}
}

// calls returns how often a method was called.
func (b *bundle) calls(method string) int { return len(b.w.Calls(method)) }
