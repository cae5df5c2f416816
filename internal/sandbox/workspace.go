package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Config says what workspace to build. The zero value is a working one that
// delivers no events.
type Config struct {
	// Team is the workspace's id; T0SANDBOX if empty.
	Team string
	// BotToken and AppToken are what callers must present; xoxb-sandbox and xapp-sandbox if empty.
	BotToken, AppToken string
	// Scopes are what every answer of the Web API says that the token may do; nil, and none
	// says so. Conversations are listed only with the scope for each kind that is asked for;
	// else nothing is refused for want of one.
	Scopes []string
	// SigningSecret signs events; "sandbox" if empty.
	SigningSecret string
	// EventsURL receives events; empty, and none are sent by HTTP (see also SetEventsURL).
	EventsURL string
	// SocketMode sends events by socket from the beginning; without it, from the
	// first connection on.
	SocketMode bool
	// BotName is the bot's user name; myao if empty.
	BotName string
	// TemporalUI is the base address that the page's links to workflows begin with; empty for no links.
	TemporalUI string
	// Namespace is the workflows' namespace there; default if empty.
	Namespace string
	// Hint is a line shown above the composer on the page.
	Hint string
	// Mind serves what the page shows of the bot's own mind, at /sandbox/mind and below;
	// nil, and there is nothing. As all that the page asks for it is asked by pages of
	// this machine only, and told what to do in JSON.
	Mind http.Handler

	// Clock gives messages their ts. Requests are signed with the machine's own
	// clock all the same, since the receiver checks them against its own.
	Clock  func() time.Time
	Logger *slog.Logger

	// RetryAfter are the pauses before the retries of an event that was not
	// acknowledged. Slack: at once, one minute, five minutes
	// (docs.slack.dev/apis/events-api, "Retries").
	RetryAfter []time.Duration
	// AckTimeout is how long an acknowledgement may take. Slack: 3 s (same page).
	AckTimeout time.Duration
	// Deliverers bounds how many events are in flight at once; 1 if zero, which
	// keeps the order in which things happened.
	Deliverers int

	// LogLimit is how many deliveries and how many calls are kept at least half of;
	// 20,000 if zero.
	LogLimit int

	// PageSize caps every page below the limit asked for. Slack may return fewer
	// items than the limit while more remain (docs.slack.dev/apis/web-api/pagination).
	PageSize int
	// RepeatRoot makes every page of conversations.replies begin with the root.
	// Slack's reference does not say whether it does; accounts differ, so callers must bear both.
	RepeatRoot bool
	// OldestPageFirst makes conversations.history, told oldest and not latest, begin with
	// the page next to oldest and go forward in time; each page is newest first all the
	// same. So did channels.history, which it replaced
	// (api.slack.com/methods/channels.history); of itself Slack's reference does not
	// say, so callers must bear both.
	OldestPageFirst bool
}

// Bot is the app's own user.
type Bot struct {
	UserID string `json:"user_id"`
	BotID  string `json:"bot_id"`
	AppID  string `json:"app_id"`
	Name   string `json:"name"`
}

// Workspace is the whole of it. Its methods are safe for concurrent use.
type Workspace struct {
	cfg    Config
	bot    Bot
	faults *Faults
	out    *dispatcher
	hub    *hub
	socket *sockets
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	lastTS    int64 // microseconds
	seq       int
	users     []*User
	channels  []*Channel
	posts     []Post
	calls     []Call
	ephemeral []Post
	asked     map[string]*Interaction // by response_url
	said      map[*Interaction][]Response
	host      string        // by which the Web API was called last
	changed   chan struct{} // closed and replaced whenever something happened
}

// New builds a workspace with the bot in it and nothing else. Close releases it.
func New(cfg Config) *Workspace {
	setDefault(&cfg.Team, "T0SANDBOX")
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
	if cfg.Deliverers == 0 {
		cfg.Deliverers = 1
	}
	if cfg.LogLimit == 0 {
		cfg.LogLimit = maxLog
	}
	w := &Workspace{
		cfg:     cfg,
		bot:     Bot{UserID: "U0BOT", BotID: "B0BOT", AppID: "A0SANDBOX", Name: cfg.BotName},
		faults:  &Faults{},
		hub:     newHub(),
		asked:   map[string]*Interaction{},
		said:    map[*Interaction][]Response{},
		changed: make(chan struct{}),
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.socket = newSockets(w)
	w.out = newDispatcher(w)
	w.users = append(w.users, &User{ID: w.bot.UserID, Name: w.bot.Name, RealName: w.bot.Name, Team: cfg.Team, Bot: true, BotID: w.bot.BotID})
	return w
}

func setDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

// Close stops all deliveries and waits for those under way.
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

// SetEventsURL says where events go from now on, for receivers whose address is
// known only after the workspace has started. What happens while there is
// neither an address nor a socket is told to nobody.
func (w *Workspace) SetEventsURL(url string) { w.out.setURL(url) }

// Handler serves the Web API under /api/, the page at /, and the page's own API
// under /sandbox/, with Config.Mind.
func (w *Workspace) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", local(http.HandlerFunc(w.serveAPI)))
	mux.HandleFunc("/socket", w.socket.serve)     // opened with a ticket that only the API hands out
	mux.HandleFunc("/commands/", w.serveResponse) // opened with a secret that only a request holds
	w.routePage(mux)
	return mux
}

// Await returns nil once done reports true. It asks again after everything that
// happens in the workspace: a message, a call, a delivery.
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

// notify wakes those who Await. Callers hold mu.
func (w *Workspace) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// nextTS is a ts that no other message or event of this workspace has, later
// than all before it. Callers hold mu.
func (w *Workspace) nextTS() string {
	w.lastTS = max(w.lastTS+1, w.cfg.Clock().UnixMicro())
	return formatTS(w.lastTS)
}

func formatTS(micros int64) string { return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6) }

// nextID makes an id of Slack's look: a letter that tells the kind, then a number. Callers hold mu.
func (w *Workspace) nextID(kind string) string {
	w.seq++
	return fmt.Sprintf("%s0%06d", kind, w.seq)
}
