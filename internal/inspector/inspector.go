// Package inspector lets one look into the bot's head while it thinks: where a
// conversation stands, what was decided in it and why, what is remembered there, and
// what the model was sent. It also passes on what a visitor of the sandbox wants done:
// orders to a conversation, and trouble for the worker and the model. It speaks HTTP and
// JSON; who may come in is decided before.
package inspector

import (
	"fmt"
	"net/http"
	"regexp"
	"sync/atomic"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm/tap"
	"myao/internal/operator"
)

// WorkerState is what has become of the worker.
type WorkerState string

// The states.
const (
	Starting WorkerState = "starting" // or coming back by itself
	Running  WorkerState = "running"
	Stopped  WorkerState = "stopped" // by Kill, until Start
)

// Worker is the program without which no conversation gets on.
type Worker interface {
	State() WorkerState
	// Kill ends it as a crash does, and returns when it is gone. Then it stays away.
	Kill() error
	// Start starts it again after Kill, and returns before it is up.
	Start()
}

// Model is what stands before the model.
type Model interface {
	Down() bool
	SetDown(down bool)
	// Exchanges are those kept that were made for a decision, oldest first.
	Exchanges(decision string) []tap.Exchange
}

// Inspector shows what there is to see, and has done what can be done. All fields are required.
type Inspector struct {
	// Team is the workspace's id.
	Team string
	// Config is what the bot is run by.
	Config config.Config
	// WebUI is what stands before an escaped workflow id in the address of Temporal's Web
	// UI; empty for no addresses.
	WebUI  string
	Worker Worker
	Model  Model
	// Faults names what of Slack's misbehaviour is switched on.
	Faults func() []string
	Clock  func() time.Time

	system atomic.Pointer[operator.Operator]
}

// Open has the window show conversations. Before, it says that all is still starting.
func (w *Inspector) Open(o *operator.Operator) { w.system.Store(o) }

// Handler serves /sandbox/mind and what is below.
func (w *Inspector) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sandbox/mind", w.watch)
	mux.HandleFunc("GET /sandbox/mind/prompts", w.prompts)
	mux.Handle("POST /sandbox/mind/order", action(w.order))
	mux.Handle("POST /sandbox/mind/worker", action(w.worker))
	mux.Handle("POST /sandbox/mind/model", action(w.model))
	mux.Handle("POST /sandbox/mind/remember", action(w.remember))
	return mux
}

// slackID is the form of Slack's ids of channels and users.
var slackID = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,30}$`)

// conversation is the one that a request is about.
func (w *Inspector) conversation(channel, thread string) (chat.Conversation, error) {
	switch {
	case !slackID.MatchString(channel):
		return chat.Conversation{}, fmt.Errorf("channel %q: want the id of a channel, such as C0123456789", channel)
	case thread != "" && !chat.ValidTS(thread):
		return chat.Conversation{}, fmt.Errorf("thread %q: want the ts of a message, such as 1700000000.000100", thread)
	}
	return chat.Conversation{Team: w.Team, Channel: channel, Thread: thread}, nil
}
