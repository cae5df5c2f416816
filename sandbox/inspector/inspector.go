// Package inspector serves the sandbox's inspector: a conversation's state, its timeline and
// decisions, its memories, and what the model was sent. It also carries out what a visitor orders:
// orders to a conversation, killing the worker, switching the model off. It speaks HTTP and JSON;
// access is checked elsewhere.
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
	"myao/internal/operate/operator"
	"myao/internal/runtime/required"
	"myao/sandbox/desk"
)

// WorkerState is the state of the worker's process.
type WorkerState string

// The states.
const (
	Starting WorkerState = "starting" // or restarting automatically
	Running  WorkerState = "running"
	Stopped  WorkerState = "stopped" // by Kill, until Start
)

// Worker is the worker's process, without which no conversation advances.
type Worker interface {
	State() WorkerState
	// Kill ends it as a crash does, and returns when it is gone. It stays away until Start.
	Kill() error
	// Start starts it again after Kill. It returns before the worker is up.
	Start()
}

// Model stands in front of the model.
type Model interface {
	Down() bool
	SetDown(down bool)
	// Exchanges are the exchanges still kept for a decision, oldest first.
	Exchanges(decision string) []tap.Exchange
}

// Inspector serves the inspector's requests. Its fields are set before Open.
type Inspector struct {
	// Team is the workspace's id.
	Team string
	// Config is the bot's configuration.
	Config config.Config
	// WebUI is the URL prefix for an escaped workflow id in Temporal's Web UI; empty for no links.
	WebUI  string
	Worker Worker
	Model  Model
	// Faults names Slack's faults that are switched on.
	Faults func() []string
	// Tickets returns the tickets of the ticket desk; nil if there is no desk.
	Tickets func() ([]desk.Ticket, error) `nil:"ok"`
	Clock   func() time.Time

	system atomic.Pointer[operator.Operator]
}

// Open lets the inspector show conversations. Before, it answers that everything is still starting. It panics with the
// name of a field that is missing.
func (w *Inspector) Open(o *operator.Operator) { required.Fields(w).system.Store(o) }

// Handler serves /sandbox/mind and everything below it.
func (w *Inspector) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sandbox/mind", w.watch)
	mux.HandleFunc("GET /sandbox/mind/prompts", w.prompts)
	mux.Handle("POST /sandbox/mind/order", action(w.order))
	mux.Handle("POST /sandbox/mind/worker", action(w.worker))
	mux.Handle("POST /sandbox/mind/model", action(w.model))
	mux.Handle("POST /sandbox/mind/remember", action(w.remember))
	mux.Handle("POST /sandbox/mind/forget-note", action(w.forgetNote))
	return mux
}

// slackID matches Slack's ids of channels and users.
var slackID = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,30}$`)

// conversation is the conversation that a request names.
func (w *Inspector) conversation(channel, thread string) (chat.Conversation, error) {
	switch {
	case !slackID.MatchString(channel):
		return chat.Conversation{}, fmt.Errorf("channel %q: want the id of a channel, such as C0123456789", channel)
	case thread != "" && !chat.ValidTS(thread):
		return chat.Conversation{}, fmt.Errorf("thread %q: want the ts of a message, such as 1700000000.000100", thread)
	}
	return chat.Conversation{Team: w.Team, Channel: channel, Thread: thread}, nil
}
