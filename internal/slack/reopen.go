package slack

import (
	"context"
	"log/slog"
	"time"
)

const (
	// lastingTime is how long a connection must stay for the door to count as open again, after others have
	// not. It is also how short a connection may be without a pause before the next.
	lastingTime = 10 * time.Second
	// firstPause is the longest pause after one connection that did not last. It doubles with each.
	firstPause = time.Second
	maxPause   = 15 * time.Second
)

// The reasons for which Slack ends a connection
// (docs.slack.dev/apis/events-api/using-socket-mode#disconnect).
const (
	// reasonWarning comes some ten seconds before the end, reasonRefresh with it. A new connection is wanted.
	reasonWarning = "warning"
	reasonRefresh = "refresh_requested"
	// reasonDisabled: Socket Mode was turned off in the app's settings.
	reasonDisabled = "link_disabled"
	// reasonTooMany: the app has as many connections as it may have.
	reasonTooMany = "too_many_websockets"
)

// reopening paces the connections of a socket.
type reopening struct {
	wait   func(ctx context.Context, d time.Duration) bool
	jitter func() float64 // at least 0, less than 1
	now    func() time.Time
	after  func(d time.Duration) <-chan time.Time
	log    *slog.Logger

	opened time.Time // when the last connection was opened; zero if there was none, or the last try failed
	failed int       // how many connections in a row did not last
	reason string    // why Slack ended the last one; empty: it did not say
}

// before waits before a connection is opened, if the last one did not last. It returns false if the context ended
// first.
func (r *reopening) before(ctx context.Context) bool {
	d := r.pause()
	return d == 0 || r.wait(ctx, d)
}

// pause notes how the last connection ended, and returns how long to wait before the next one.
func (r *reopening) pause() time.Duration {
	reason := r.reason
	r.reason = ""
	switch {
	case r.opened.IsZero():
		return 0
	case r.now().Sub(r.opened) < lastingTime:
		r.failed++
	default:
		r.failed = 0
	}
	d := pauseAfter(r.failed, reason, r.jitter())
	about := []any{"reason", logName(reason), "in_a_row", r.failed, "next_try_in", d}
	switch {
	case reason == reasonDisabled:
		r.log.Error("Socket Mode is turned off in the app's settings; no events arrive until it is on again", about...)
	case reason == reasonTooMany:
		r.log.Warn("Slack closes the connection: the app has as many as it may have, so other programs use this "+
			"app-level token",
			append(about, "limit", MaxConnections)...)
	case r.failed > 0 && reason != reasonRefresh && reason != reasonWarning || r.failed > 1:
		r.log.Warn("socket mode connection did not last", about...)
	default:
		r.log.Info("socket mode connection is replaced", about...)
	}
	return d
}

// pauseAfter returns how long to wait before a connection is opened, after so many that did not last, the last of
// which ended for a reason. jitter is at least 0 and less than 1.
func pauseAfter(failed int, reason string, jitter float64) time.Duration {
	longest := maxPause
	switch {
	case reason == reasonDisabled:
	case failed == 0, failed == 1 && (reason == reasonRefresh || reason == reasonWarning):
		return 0
	default:
		longest = min(maxPause, firstPause<<min(failed-1, 10))
	}
	return time.Duration((1 + jitter) / 2 * float64(longest))
}
