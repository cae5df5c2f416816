package workspace

import (
	"encoding/json"
	"sync"
)

// change is what open pages receive when something happens.
type change struct {
	Kind    string   `json:"kind"` // message, deleted, ephemeral, modal, status, workspace, faults, home
	Channel string   `json:"channel,omitempty"`
	TS      string   `json:"ts,omitempty"`
	User    string   `json:"user,omitempty"`
	Message *Message `json:"message,omitempty"`
	Modal   *Modal   `json:"modal,omitempty"`
	// Status and Left are those of the thread TS.
	Status string `json:"status,omitempty"`
	Left   int64  `json:"left,omitempty"`
	// Home is the blocks of the user's Home tab.
	Home json.RawMessage `json:"home,omitempty"`
}

// hub sends changes to the open pages. A page that cannot keep up is disconnected; it then
// reconnects and loads everything again.
type hub struct {
	mu     sync.Mutex
	pages  map[chan change]struct{}
	closed bool
}

const maxBehind = 256

func newHub() *hub { return &hub{pages: map[chan change]struct{}{}} }

func (h *hub) send(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for page := range h.pages {
		select {
		case page <- c:
		default:
			delete(h.pages, page)
			close(page)
		}
	}
}

// subscribe returns the changes from now on. The channel is closed when the page falls
// behind or the workspace closes.
func (h *hub) subscribe() (changes <-chan change, cancel func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	page := make(chan change, maxBehind)
	if h.closed {
		close(page)
		return page, func() {}
	}
	h.pages[page] = struct{}{}
	return page, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, open := h.pages[page]; open {
			delete(h.pages, page)
			close(page)
		}
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for page := range h.pages {
		delete(h.pages, page)
		close(page)
	}
}
