package temporal

import (
	"context"
	"sync"
	"time"

	"myao/internal/chat"
)

const (
	// nameFor is for how long a channel is called what it was called.
	nameFor = 5 * time.Minute
	// namesKept bounds how many names are kept; then they are asked for anew.
	namesKept = 1000
)

// Names keeps what channels are called, so that a signal costs no query of its own.
type Names struct {
	ask   func(ctx context.Context, team, channel string) (string, error)
	clock func() time.Time

	mu    sync.Mutex
	known map[chat.Scope]named
}

type named struct {
	name  string
	until time.Time
}

// NewNames asks for a name where it does not know one. An empty name, and one that
// could not be had, is asked for again the next time.
func NewNames(ask func(ctx context.Context, team, channel string) (string, error), clock func() time.Time) *Names {
	return &Names{ask: ask, clock: clock, known: map[chat.Scope]named{}}
}

// Name is what a channel is called; empty for a direct message, and where that is not known.
func (n *Names) Name(ctx context.Context, team, channel string) string {
	if (chat.Conversation{Channel: channel}).Direct() {
		return ""
	}
	key := chat.Scope{Team: team, Channel: channel}
	now := n.clock()
	n.mu.Lock()
	known, ok := n.known[key]
	n.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.name
	}
	name, err := n.ask(ctx, team, channel)
	if err != nil || name == "" {
		return known.name // the one that has expired is better than none
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= namesKept {
		clear(n.known)
	}
	n.known[key] = named{name, now.Add(nameFor)}
	return name
}
