package catchup

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/intake/record"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
	"myao/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

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
	*inprocess.World
	*Reader
	recorder *recorder
	config   *config.Config
	log      *strings.Builder
}

// options are the options of setup.
type options struct {
	workspace.Config
	url      string // of the database; SQLite if empty
	response config.Response
}

func setup(t *testing.T, o options) *bundle {
	t.Helper()
	b := prepare(t, o)
	b.Time.Set(noon.AddDate(0, 0, -30))
	b.sync()
	b.Time.Set(noon.AddDate(0, 0, -1))
	b.catchUp()
	b.recorder.taken()
	b.Time.Set(noon)
	return b
}

// prepare is setup with a channel that is not known yet, at noon.
func prepare(t *testing.T, o options) *bundle {
	t.Helper()
	b := &bundle{World: inprocess.New(t, inprocess.Options{Database: o.url, Sandbox: o.Config, At: noon}), log: &strings.Builder{}}
	if o.response.MaxMessageAgeSeconds == 0 {
		o.response.MaxMessageAgeSeconds = 12 * 3600
	}
	b.config = &config.Config{Response: o.response}
	directory := b.NewDirectory(b.Client, b.config)
	b.recorder = &recorder{Recorder: &record.Recorder{Store: b.Database, Directory: directory}}
	b.Reader = &Reader{
		Store: b.Database, Own: b.Identity(), Slack: b.Client, Recorder: b.recorder, Directory: directory, FirstWindow: 24 * time.Hour, ThreadWindow: 7 * 24 * time.Hour,
		Clock: b.Time.Now, Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	}
	return b
}

func (b *bundle) sync() store.SyncResult {
	b.Helper()
	s, err := b.Sync(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bundle) catchUp() Result {
	b.Helper()
	r, err := b.Channel(b.Context(), b.General)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// say posts a message a time before noon, without an event.
func (b *bundle) say(before time.Duration, text string, opts ...workspace.SayOption) string {
	return b.Workspace.Say(b.General, b.Alice.ID, text, append(opts, workspace.At(noon.Add(-before)))...)
}

// standing returns a message as Slack holds it.
func (b *bundle) standing(ts string) chat.Message {
	b.Helper()
	m := b.Held(b.General, ts)
	out := chat.Message{Team: "T1", Channel: b.General, TS: ts, UserID: m.User, Text: m.Text}
	if m.Edited != nil {
		out.Revision = m.Edited.TS
	}
	if m.Reply() {
		out.ThreadTS = m.ThreadTS
	}
	return out
}

// hear delivers the event of a message as it is now, and returns how many conversations have something
// new.
func (b *bundle) hear(m chat.Message) int {
	b.Helper()
	targets, err := b.record(slack.MessageEvent{Kind: slack.Posted, Message: m, Mention: chat.Mentions(m.Text, b.Workspace.Bot().UserID)})
	if err != nil {
		b.Fatal(err)
	}
	return len(targets)
}

// record records an event like the door.
func (b *bundle) record(e slack.MessageEvent) ([]store.Target, error) {
	return b.recorder.Recorder.Record(b.Context(), e, slack.Identity{TeamID: "T1", UserID: b.Workspace.Bot().UserID})
}

// marks returns the channel's row, with its marks.
func (b *bundle) marks() store.Channel {
	b.Helper()
	known, err := b.Store.Channels(b.Context(), "T1", []string{b.General})
	if err != nil {
		b.Fatal(err)
	}
	return known[b.General]
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
			m, err := b.Store.Message(b.Context(), "T1", b.General, c.TS)
			if err != nil {
				b.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %s %q", kind, c.Kind, strings.TrimPrefix(m.Text, b.Mention(""))))
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
	if got := strings.ReplaceAll(b.recorder.taken(), b.Mention(""), "@"); got != want {
		b.Errorf("taken\n got %q\nwant %q", got, want)
	}
}

// calls returns how often a method was called.
func (b *bundle) calls(method string) int { return len(b.Workspace.Calls(method)) }
