package workspace

import (
	"slices"
	"time"
)

// statusTime is how long a status is shown (docs.slack.dev/reference/methods/assistant.threads.setStatus).
const statusTime = 2 * time.Minute

// threadStatus is what the page shows behind the bot's name in a thread.
type threadStatus struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"` // of the thread's root
	Status  string `json:"status"`
	// Left is how much longer it is shown, in milliseconds.
	Left int64 `json:"left"`

	until time.Time
}

// setStatus shows a status in a thread, or takes it away
// (docs.slack.dev/reference/methods/assistant.threads.setStatus).
func (c *call) setStatus() (reply, error) {
	// Either scope will do (docs.slack.dev/changelog/2026/03/05/set-status-scope-update).
	if !c.granted("chat:write") && !c.granted("assistant:write") {
		return nil, apiError("missing_scope")
	}
	ch := c.channelByID(c.Get("channel_id"))
	switch {
	case ch == nil, !c.botIn(ch):
		return nil, apiError("channel_not_found")
	case ch.find(c.Get("thread_ts")) == nil:
		return nil, apiError("invalid_thread_ts")
	}
	c.show(ch.ID, c.Get("thread_ts"), c.Get("status"))
	return reply{}, nil
}

// show changes the status of a thread. Callers hold mu.
func (w *Workspace) show(channel, thread, status string) {
	shown := len(w.statuses)
	w.statuses = slices.DeleteFunc(w.statuses, func(s threadStatus) bool {
		return s.Channel == channel &&
			s.TS == thread
	})
	if status == "" && len(w.statuses) == shown {
		return
	}
	s := threadStatus{Channel: channel, TS: thread, Status: status, Left: statusTime.Milliseconds(),
		until: w.cfg.Clock().Add(statusTime)}
	if status != "" {
		w.statuses = append(w.statuses, s)
	}
	w.hub.send(change{Kind: "status", Channel: channel, TS: thread, Status: status, Left: s.Left})
	w.notify()
}

// shownStatuses are the statuses that have not lapsed. Callers hold mu.
func (w *Workspace) shownStatuses() []threadStatus {
	now := w.cfg.Clock()
	w.statuses = slices.DeleteFunc(w.statuses, func(s threadStatus) bool { return !now.Before(s.until) })
	shown := slices.Clone(w.statuses)
	for i := range shown {
		shown[i].Left = shown[i].until.Sub(now).Milliseconds()
	}
	return shown
}

// Status is what is shown behind the bot's name in a thread; empty for nothing.
func (w *Workspace) Status(channel, thread string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.shownStatuses() {
		if s.Channel == channel && s.TS == thread {
			return s.Status
		}
	}
	return ""
}
