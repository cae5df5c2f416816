package channels

import (
	"context"
	"sync"
	"time"

	"myao/internal/chat"
)

const (
	// nameFor is how long a name is kept in memory.
	nameFor = 5 * time.Minute
	// namesKept bounds how many names are kept. One more, and all are read anew.
	namesKept = 1000
)

// names keeps names of channels in memory, so that a signal costs no query of its own.
type names struct {
	mu    sync.Mutex
	known map[chat.Scope]named
}

type named struct {
	name  string
	until time.Time
}

func (n *names) get(key chat.Scope) named {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[key]
}

func (n *names) put(key chat.Scope, v named) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= namesKept {
		n.known = map[chat.Scope]named{}
	}
	n.known[key] = v
}

// Name returns what the database calls a channel, or called it up to five minutes ago. It is
// empty for a direct message and for a name that is not known, which is read again next time.
func (d *Directory) Name(ctx context.Context, team, id string) string {
	if (chat.Conversation{Channel: id}).Direct() {
		return ""
	}
	key, now := chat.Scope{Team: team, Channel: id}, d.Clock()
	known := d.names.get(key)
	if now.Before(known.until) {
		return known.name
	}
	read, err := d.Store.Channels(ctx, team, []string{id})
	if err != nil || read[id].Name == "" {
		return known.name // an expired name is better than none
	}
	d.names.put(key, named{read[id].Name, now.Add(nameFor)})
	return read[id].Name
}
