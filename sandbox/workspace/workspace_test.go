package workspace

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

// fixture is a workspace with alice, bob and the bot in #general, a receiver of its events,
// and a Slack client for it.
type fixture struct {
	*Workspace
	api        *slack.Client
	url        string
	alice, bob string
	general    string

	mu      sync.Mutex
	got     []received
	receive http.HandlerFunc // if set, answers the events
}

type received struct {
	header http.Header
	body   []byte
	envelope
}

type envelope struct {
	EventID   string         `json:"event_id"`
	Type      string         `json:"type"`
	TeamID    string         `json:"team_id"`
	Shared    bool           `json:"is_ext_shared_channel"`
	EventTime int64          `json:"event_time"`
	Event     map[string]any `json:"event"`
}

func setup(t *testing.T, cfg Config) *fixture {
	t.Helper()
	b := &fixture{}
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the workspace was closed meanwhile
		}
		in := received{header: r.Header, body: body}
		if err := json.Unmarshal(body, &in.envelope); err != nil {
			t.Errorf("event is no JSON: %v", err)
		}
		b.mu.Lock()
		b.got = append(b.got, in)
		receive := b.receive
		b.mu.Unlock()
		if receive != nil {
			receive(rw, r)
		}
	}))
	cfg.EventsURL = receiver.URL
	if cfg.RetryAfter == nil {
		cfg.RetryAfter = []time.Duration{0, time.Millisecond, 2 * time.Millisecond}
	}
	if cfg.AckTimeout == 0 {
		cfg.AckTimeout = time.Minute
	}
	cfg.TriggerLife = time.Hour
	b.Workspace = New(cfg)
	server := httptest.NewServer(b.Handler())
	t.Cleanup(func() {
		b.Close()
		server.CloseClientConnections()
		server.Close()
		receiver.Close()
	})
	b.url = server.URL
	b.api = slack.New(b.cfg.BotToken, slack.OptionAPIURL(server.URL+"/api/"), slack.OptionAppLevelToken(b.cfg.AppToken))
	b.alice, b.bob = b.AddUser("alice").ID, b.AddUser("bob").ID
	b.general = b.AddChannel(Public, "general", b.alice, b.bob, b.Bot().UserID)
	return b
}

// events waits until all events are delivered and returns those since the last call.
func (b *fixture) events(t *testing.T) []received {
	t.Helper()
	if err := b.AwaitDeliveries(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.got
	b.got = nil
	return got
}

func (b *fixture) answer(h http.HandlerFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.receive = h
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func kinds(events []received) []string {
	var out []string
	for _, e := range events {
		kind, _ := e.Event["type"].(string)
		if sub, _ := e.Event["subtype"].(string); sub != "" {
			kind += "/" + sub
		}
		out = append(out, kind)
	}
	return out
}

func TestTimestampsAreUniqueAndIncreaseWithAStoppedClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := setup(t, Config{Clock: func() time.Time { return at }})
	last := ""
	for range 50 {
		ts := b.Say(b.general, b.alice, "x")
		if ts <= last {
			t.Fatalf("ts %s after %s", ts, last)
		}
		last = ts
	}
	if want := "1767323045.0000"; last[:len(want)] != want {
		t.Errorf("ts = %s, want it to begin with %s", last, want)
	}
	old := b.Say(b.general, b.alice, "backlog", At(at.Add(-time.Hour)), WithoutEvent())
	if got := b.Messages(b.general)[0].TS; got != old {
		t.Errorf("first message is %s, want the backdated %s", got, old)
	}
}

func TestAwaitSeesChangesAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	go b.Say(b.general, b.alice, "hello")
	if err := b.Await(within(t, time.Minute), func() bool { return len(b.Messages(b.general)) == 1 }); err != nil {
		t.Fatal(err)
	}
	if err := b.Await(within(t, 10*time.Millisecond), func() bool { return false }); err == nil {
		t.Error("Await returned although done was false")
	}
}
