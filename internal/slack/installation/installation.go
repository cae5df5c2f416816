// Package installation knows whether Slack takes the bot's token. Slack's events say when it no longer
// does, and so does a call that is refused. The database tells all programs. While the token is not
// taken, the Slack client makes no calls, so that what waits goes on waiting. A token that Slack takes
// again, or another one after a restart, ends that.
package installation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/runtime/pause"
	"myao/internal/slack"
	"myao/internal/store"
)

const (
	// pollInterval is how often the database is asked.
	pollInterval = 2 * time.Second
	// checkInterval is how often Slack is asked about a token that it did not take, and how long it gets
	// to refuse it everywhere before that.
	checkInterval = 15 * time.Second
	// checkTimeout bounds a statement or a question to Slack.
	checkTimeout = 5 * time.Second
)

// Watch knows whether Slack takes one token. It implements slack.Gate.
type Watch struct {
	token  string // a hash
	clock  func() time.Time
	logger *slog.Logger

	state atomic.Pointer[store.Revocation] // nil while Slack takes the token
	store atomic.Pointer[store.Store]

	mu      sync.Mutex // held while the state changes
	unsaved bool       // the state has yet to be saved
	checked time.Time
}

// New makes a Watch and registers its metric.
func New(token string, clock func() time.Time, logger *slog.Logger, r prometheus.Registerer) *Watch {
	sum := sha256.Sum256([]byte(token))
	w := &Watch{token: hex.EncodeToString(sum[:8]), clock: clock, logger: logger}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "myao_slack_revoked", Help: "1 while Slack does not take the bot's token, as after the app was " +
			"uninstalled; otherwise 0.",
	}, func() float64 {
		if w.Closed() {
			return 1
		}
		return 0
	}))
	return w
}

// Closed reports whether Slack no longer takes the token.
func (w *Watch) Closed() bool { return w.state.Load() != nil }

// Refused says that Slack has refused the token by a code.
func (w *Watch) Refused(code string) {
	if code == slack.CodeExpired || code == slack.CodeNotGranted { // the token of the configuration is not concerned
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.Load() == nil {
		w.unsaved = true
		w.set(&store.Revocation{Cause: code, At: w.clock()})
	}
}

// Revoke records that Slack no longer takes the token. The zero time is now.
func (w *Watch) Revoke(ctx context.Context, r store.Revocation) error {
	if r.At.IsZero() {
		r.At = w.clock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.state.Load(); known == nil || r.Cause == store.AppUninstalled {
		w.unsaved = true
		w.set(&r)
	}
	return w.sync(ctx)
}

// Ready returns an error while Slack does not take the token. It is a check of /readyz.
func (w *Watch) Ready(context.Context) error {
	r := w.state.Load()
	if r == nil {
		return nil
	}
	return fmt.Errorf("slack: %s", describe(*r))
}

// describe says what happened, and what to do.
func describe(r store.Revocation) string {
	at := r.At.UTC().Format(time.RFC3339)
	if r.Cause == store.AppUninstalled {
		return "the app was uninstalled from the workspace at " + at +
			"; install it again, set slack.bot_token to its token, and restart the programs"
	}
	return fmt.Sprintf("Slack has not taken the bot's token since %s (%s); install the app again, set "+
		"slack.bot_token to its token, and restart the programs", at, r.Cause)
}

// Run keeps the state up to date until the context ends. test asks Slack whether it takes the token.
func (w *Watch) Run(ctx context.Context, s *store.Store, test func(context.Context) error) error {
	w.store.Store(s)
	for {
		w.poll(ctx, test)
		if !pause.For(ctx, pollInterval) {
			return ctx.Err()
		}
	}
}

// poll reads the state or saves it, and asks Slack from time to time while that is bad.
func (w *Watch) poll(ctx context.Context, test func(context.Context) error) {
	w.mu.Lock()
	err := w.sync(ctx)
	now, r := w.clock(), w.state.Load()
	due := r != nil && now.Sub(r.At) >= checkInterval && now.Sub(w.checked) >= checkInterval
	if due {
		w.checked = now
	}
	w.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		w.logger.WarnContext(ctx, "not known whether Slack's token was revoked", "error", err)
	}
	if !due {
		return
	}
	// Without the lock: a refusal calls Refused.
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if test(limited) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.store.Load().Restore(limited, w.token); err != nil {
		w.logger.WarnContext(ctx, "Slack takes the token again, and that was not saved", "error", err)
		return
	}
	w.unsaved = false
	w.set(nil)
}

// sync saves a state that has yet to be saved, or else reads it. Without a database it does nothing.
func (w *Watch) sync(ctx context.Context) error {
	s := w.store.Load()
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if w.unsaved {
		if err := s.Revoke(ctx, w.token, *w.state.Load()); err != nil {
			return err
		}
		w.unsaved = false
	}
	known, err := s.Revoked(ctx, w.token)
	if err == nil {
		w.set(known)
	}
	return err
}

// set changes the state, and logs whether Slack takes the token.
func (w *Watch) set(r *store.Revocation) {
	switch before := w.state.Swap(r); {
	case before == nil && r != nil:
		w.logger.Error("nothing is sent to Slack any more: " + describe(*r))
	case before != nil && r == nil:
		w.logger.Warn("Slack takes the token again; what waited goes on")
	}
}
