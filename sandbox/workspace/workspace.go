// Package workspace is a Slack workspace on this machine. It answers Slack's Web API and
// delivers signed Events API requests (or Socket Mode envelopes) for what its people say.
// It also serves a page on which a visitor plays those people.
//
// It speaks Slack's wire format only. The programs reach it through slack.api_url and
// cannot tell it from Slack. The project's tests use the same server, so it imitates
// Slack's oddities. Every imitation names the page of Slack's documentation, or the public
// report, that describes it.
//
// Faults make it misbehave on purpose: Fault for the Web API, EventFault for
// deliveries, SuppressEvents for a time in which no event is delivered.
package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// Config describes a workspace. The zero value is valid and delivers no events.
type Config struct {
	// Team is the workspace's id; T0SANDBOX if empty. Name is what people call it; Sandbox if empty.
	Team, Name string
	// BotToken and AppToken are the tokens that callers must present; xoxb-sandbox and
	// xapp-sandbox if empty.
	BotToken, AppToken string
	// Scopes are the token's scopes, sent with every answer of the Web API; nil sends none.
	// Listing conversations needs the scope of each requested kind, reading files needs
	// files:read, and a status needs chat:write. Nothing else checks scopes.
	Scopes []string
	// Host is a host name, beside those of this machine, by which programs reach the Web API and
	// files, such as a container's name. The page is for this machine alone.
	Host string
	// SigningSecret signs events; "sandbox" if empty.
	SigningSecret string
	// EventsURL receives events; empty sends none by HTTP (see also SetEventsURL).
	EventsURL string
	// SocketMode sends events by socket from the beginning. Otherwise they go by socket from
	// the first connection on.
	SocketMode bool
	// BotName is the bot's user name; myao if empty.
	BotName string
	// TemporalUI is the base URL of Temporal's Web UI, for the page's links to workflows;
	// empty for no links.
	TemporalUI string
	// Namespace is the workflows' Temporal namespace; default if empty.
	Namespace string
	// Hint is a line that the page shows above the composer.
	Hint string
	// Mind serves the state of the bot at /sandbox/mind and below; nil serves nothing there.
	// It only gets requests from pages of this machine, and writes only as JSON.
	Mind http.Handler

	// Clock gives messages their ts. Signatures use the machine's clock, because the
	// receiver checks them against its own.
	Clock  func() time.Time
	Logger *slog.Logger

	// RetryAfter are the pauses before the retries of an unacknowledged event. Slack: at
	// once, one minute, five minutes (docs.slack.dev/apis/events-api, "Retries").
	RetryAfter []time.Duration
	// AckTimeout is how long an acknowledgement may take. Slack: 3 s
	// (docs.slack.dev/apis/events-api).
	AckTimeout time.Duration
	// TriggerLife is how long a trigger_id opens a modal. Slack: 3 s
	// (docs.slack.dev/reference/methods/views.open).
	TriggerLife time.Duration
	// Deliverers limits the events in flight; 1 if zero, which keeps events in order.
	Deliverers int

	// LogLimit limits the log of deliveries and the log of calls; 20,000 if zero. A log that
	// exceeds it drops its older half.
	LogLimit int

	// PageSize, if positive, caps every page. Slack may return fewer items than the limit
	// while more remain (docs.slack.dev/apis/web-api/pagination).
	PageSize int
	// RepeatRoot makes every page of conversations.replies begin with the root. Slack's
	// reference does not say whether it does, and reports differ. Callers must handle both.
	RepeatRoot bool
	// OldestPageFirst changes conversations.history with oldest and without latest: it begins
	// with the page after oldest and goes forward in time. Each page is still newest first.
	// Its predecessor did so (api.slack.com/methods/channels.history); Slack's reference
	// does not say. Callers must handle both.
	OldestPageFirst bool

	number int // is part of all ids
}

// Bot is the app's own user.
type Bot struct {
	UserID string `json:"user_id"`
	BotID  string `json:"bot_id"`
	AppID  string `json:"app_id"`
	Name   string `json:"name"`
}

// Workspace is a Slack workspace. Its methods are safe for concurrent use.
type Workspace struct {
	cfg    Config
	bot    Bot
	faults *Faults
	out    *dispatcher
	hub    *hub
	socket *sockets
	ctx    context.Context
	cancel context.CancelFunc

	mu           *common
	seq          int
	users        []*User
	channels     []*Channel
	posts        []Post
	files        map[string]*storedFile // by id
	calls        []Call
	ephemeral    []Post
	statuses     []threadStatus
	interactions map[string]*Interaction // by response_url
	triggers     map[string]*trigger     // by trigger_id
	modals       []Modal                 // that are open
	responses    map[*Interaction][]Response
	homes        map[string]json.RawMessage // the blocks of the Home tabs, by user
	installation                            // the app here
	slack        *Slack                     // or nil: only the bot token of the configuration counts
	org          *Organisation              // or nil
	serve        http.Handler               // what the app serves for this workspace
	host         string                     // of the last call of the Web API
	changed      chan struct{}              // closed and replaced whenever something happens

	skew atomic.Int64 // how far its clock is ahead of the machine's, in nanoseconds
}

// New builds a workspace with the bot in it and nothing else. Close releases it.
func New(cfg Config) *Workspace {
	setDefault(&cfg.Team, "T0SANDBOX")
	setDefault(&cfg.Name, "Sandbox")
	setDefault(&cfg.BotToken, "xoxb-sandbox")
	setDefault(&cfg.AppToken, "xapp-sandbox")
	setDefault(&cfg.SigningSecret, "sandbox")
	setDefault(&cfg.BotName, "myao")
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.RetryAfter == nil {
		cfg.RetryAfter = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	if cfg.AckTimeout == 0 {
		cfg.AckTimeout = 3 * time.Second
	}
	if cfg.TriggerLife == 0 {
		cfg.TriggerLife = 3 * time.Second
	}
	if cfg.Deliverers == 0 {
		cfg.Deliverers = 1
	}
	if cfg.LogLimit == 0 {
		cfg.LogLimit = maxLog
	}
	w := &Workspace{
		cfg:          cfg,
		mu:           &common{},
		bot:          Bot{fmt.Sprintf("U%dBOT", cfg.number), fmt.Sprintf("B%dBOT", cfg.number), "A0SANDBOX", cfg.BotName},
		faults:       &Faults{},
		hub:          newHub(),
		files:        map[string]*storedFile{},
		interactions: map[string]*Interaction{},
		triggers:     map[string]*trigger{},
		responses:    map[*Interaction][]Response{},
		homes:        map[string]json.RawMessage{},
		changed:      make(chan struct{}),
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.socket = newSockets(w)
	w.out = newDispatcher(w)
	w.users = append(w.users, &User{ID: w.bot.UserID, Name: w.bot.Name, RealName: w.bot.Name, Team: cfg.Team, Bot: true,
		BotID: w.bot.BotID})
	return w
}

func setDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

// Close stops all deliveries and waits for the ones under way.
func (w *Workspace) Close() {
	w.cancel()
	w.out.close()
	w.socket.close()
	w.hub.close()
}

// Bot is the app's own user, whose token the Web API takes.
func (w *Workspace) Bot() Bot { return w.bot }

// Team is the workspace's id.
func (w *Workspace) Team() string { return w.cfg.Team }

// Faults switches misbehaviour on and off.
func (w *Workspace) Faults() *Faults { return w.faults }

// SetEventsURL sets where events go from now on, for receivers whose address is known only
// after the workspace has started. Without a URL or a socket, events are discarded.
func (w *Workspace) SetEventsURL(url string) { w.out.setURL(url) }

// Handler serves the Web API under /api/, the content of files under /files-pri/ and their transcripts under
// /files-tmb/, the page at /, and the page's own API under /sandbox/, with Config.Mind.
func (w *Workspace) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", requireHost(w.cfg.Host, http.HandlerFunc(w.serveAPI)))
	for _, files := range []string{filePaths, clipPaths} {
		mux.Handle("GET "+files, requireHost(w.cfg.Host, http.HandlerFunc(w.serveFile)))
	}
	mux.HandleFunc("/socket", w.socket.serve)     // needs a ticket that only the API hands out
	mux.HandleFunc("/commands/", w.serveResponse) // needs a secret from the request's response_url
	w.routePage(mux)
	return mux
}

// Await returns nil once done reports true. It calls done again whenever something happens
// in the workspace: a message, a call, a delivery.
func (w *Workspace) Await(ctx context.Context, done func() bool) error {
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("await: %w", ctx.Err())
		}
	}
}

// notify wakes the callers of Await. Callers hold mu.
func (w *Workspace) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// SkewClock sets how far the workspace's clock is ahead of the machine's, as whoever has a clock that is
// slow by so much sees it: in the ts of messages, in signatures and in the header Date.
func (w *Workspace) SkewClock(by time.Duration) { w.skew.Store(int64(by)) }

func (w *Workspace) skewed(t time.Time) time.Time { return t.Add(time.Duration(w.skew.Load())) }

// nextTS returns a unique ts, later than all others of this workspace. Callers hold mu.
func (w *Workspace) nextTS() string {
	w.mu.lastTS = max(w.mu.lastTS+1, w.skewed(w.cfg.Clock()).UnixMicro())
	return formatTS(w.mu.lastTS)
}

func formatTS(micros int64) string { return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6) }

// nextID makes an id like Slack's: a letter for the kind, then a number. Callers hold mu.
func (w *Workspace) nextID(kind string) string {
	w.seq++
	return fmt.Sprintf("%s%d%06d", kind, w.cfg.number, w.seq)
}
