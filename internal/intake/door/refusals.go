package door

import (
	"errors"
	"sync"
	"time"

	"myao/internal/slack"
)

// refusalInterval is how long no refusal opens a gap after a verified request, or after the last gap that one opened.
const refusalInterval = time.Hour

// refusals decides when a refused request opens a gap. Anybody may send such requests, and a gap has all channels
// read. So one opens a gap only if it may be Slack's, and only while nothing shows that Slack's requests pass.
type refusals struct {
	mu sync.Mutex
	// since is when a request was last verified, or a refusal last opened a gap.
	since time.Time
	// doubt is set if a request that may be Slack's was refused after that.
	doubt bool
}

// verified notes that Slack's requests pass.
func (r *refusals) verified(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since, r.doubt = now, false
}

// opensGap reports whether a request that was refused for a reason opens a gap. Slack's own requests are signed, fresh
// and small. With a wrong signing secret they look forged; under load they may be cut off.
func (r *refusals) opensGap(why error, now time.Time) bool {
	for _, never := range []error{slack.ErrUnsigned, slack.ErrRepeated, slack.ErrStale, errTooLarge} {
		if errors.Is(why, never) {
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.since.IsZero() && now.Sub(r.since) < refusalInterval {
		r.doubt = true
		return false
	}
	r.since, r.doubt = now, false
	return true
}

// inDoubt reports whether what was refused last may have been Slack's, without a gap.
func (r *refusals) inDoubt() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubt
}

// Ending opens a gap if the door ends in doubt: the next one may have the signing secret that this one lacks. It is
// called before the door ends.
func (d *Door) Ending() {
	if d.refusals.inDoubt() {
		d.missed("requests were refused until the end")
	}
}
