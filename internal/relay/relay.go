// Package relay carries changes from the database to the workflows of their
// conversations. It leases a conversation, sends all that waits for it in one
// signal, in order of ts, and marks what the signal took. In the normal case that
// is as soon as a change is stored; a sweep finds what was left behind, by
// whatever process, so that Temporal may be away for an hour and nothing is
// missed or overtaken.
package relay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Sender takes a signal to a conversation's workflow, and starts the workflow if
// none runs. requestID is the same for the same batch, so that the server can
// tell a repetition.
type Sender interface {
	Send(ctx context.Context, c chat.Conversation, s conversation.Signal, requestID string) error
}

const (
	// batch is how many changes one signal carries at most.
	batch = 200
	// leaseFor is how long a conversation is held: longer than a signal may take.
	leaseFor = 30 * time.Second
	// signalFor is how long one signal may take.
	signalFor = 10 * time.Second
	// sweepEvery is the sweeper's pace.
	sweepEvery = 2 * time.Second
	// sweepAtOnce is how many conversations one look at the backlog takes on.
	sweepAtOnce = 200
	// workers is how many conversations are relayed side by side.
	workers = 8
)

// Relay carries changes. Make one with New.
type Relay struct {
	store   *store.Store
	sender  Sender
	policy  func(ctx context.Context, c chat.Conversation) conversation.Policy
	clock   func() time.Time
	logger  *slog.Logger
	metrics *Metrics

	kicks chan chat.Conversation
}

// New makes a relay; policy is the timing by which a conversation shall go.
func New(s *store.Store, sender Sender, policy func(context.Context, chat.Conversation) conversation.Policy,
	clock func() time.Time, logger *slog.Logger, metrics *Metrics) *Relay {
	return &Relay{
		store: s, sender: sender, policy: policy, clock: clock, logger: logger, metrics: metrics,
		kicks: make(chan chat.Conversation, 1024),
	}
}

// Kick says that a conversation has something new. It never blocks: what does not
// fit is found by the sweep.
func (r *Relay) Kick(c chat.Conversation) {
	select {
	case r.kicks <- c:
	default:
	}
}

// Run relays until the context ends.
func (r *Relay) Run(ctx context.Context) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case c := <-r.kicks:
					r.drain(ctx, c)
				}
			}
		})
	}
	group.Go(func() { r.sweep(ctx) })
	group.Wait()
}

// sweep takes up what waits without a relay at work on it.
func (r *Relay) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		r.sweepOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (r *Relay) sweepOnce(ctx context.Context) {
	ids, err := r.store.Backlog(ctx, sweepAtOnce)
	if err != nil {
		r.tell(ctx, "backlog not read", err)
		return
	}
	var group sync.WaitGroup
	todo := make(chan chat.Conversation)
	failed := make(chan struct{})
	var once sync.Once
	for range workers {
		group.Go(func() {
			for c := range todo {
				if !r.drain(ctx, c) {
					once.Do(func() { close(failed) })
				}
			}
		})
	}
feed:
	for _, id := range ids {
		c, err := chat.ParseConversation(id)
		if err != nil {
			r.logger.Error("a conversation in the backlog has no address", "error", err)
			continue
		}
		select {
		case todo <- c:
		case <-failed:
			break feed // Temporal is away: the rest would only wait for the same refusal
		case <-ctx.Done():
			break feed
		}
	}
	close(todo)
	group.Wait()
}

// drain sends what waits for one conversation and reports whether Temporal took
// it. Another relay at work on it is as good.
func (r *Relay) drain(ctx context.Context, c chat.Conversation) bool {
	id, me := c.ID(), uuid.NewString()
	for {
		mine, err := r.store.Claim(ctx, id, me, r.clock().Add(leaseFor))
		if err != nil {
			r.tell(ctx, "conversation not claimed", err)
			return true
		}
		if !mine {
			return true // its holder looks again after it lets go
		}
		sent, err := r.send(ctx, c)
		if released := r.release(ctx, id, me); released != nil {
			r.tell(ctx, "conversation not released", released)
		}
		if err != nil {
			r.metrics.failed.Inc()
			r.tell(ctx, "changes not relayed; they wait", err)
			return false
		}
		if sent == 0 {
			return true
		}
		// What came between the last look and the release found the conversation
		// claimed: look once more.
	}
}

// release lets go of a conversation even when the relay is told to stop, or
// nobody could take it up before the lease ends.
func (r *Relay) release(ctx context.Context, id, me string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return r.store.Release(ctx, id, me)
}

// send sends one batch and returns how many changes it held.
func (r *Relay) send(ctx context.Context, c chat.Conversation) (int, error) {
	waiting, err := r.store.Waiting(ctx, c.ID(), batch)
	if err != nil || len(waiting) == 0 {
		return 0, err
	}
	signal := conversation.Signal{Policy: r.policy(ctx, c)}
	ids := make([]int64, len(waiting))
	hash := sha256.New()
	_, _ = hash.Write([]byte(c.ID()))
	for i, w := range waiting {
		ids[i] = w.ID
		signal.Changes = append(signal.Changes, w.Change)
		_, _ = hash.Write([]byte("\n" + w.Change.ID()))
	}
	ctx, cancel := context.WithTimeout(ctx, signalFor)
	defer cancel()
	if err := r.sender.Send(ctx, c, signal, fmt.Sprintf("%x", hash.Sum(nil)[:16])); err != nil {
		return 0, fmt.Errorf("signal %s: %w", c.ID(), err)
	}
	if err := r.store.Relayed(ctx, ids); err != nil {
		return 0, err
	}
	r.metrics.relayed.Add(float64(len(ids)))
	return len(ids), nil
}

// tell logs a failure that the next sweep will mend, unless it is only the end.
func (r *Relay) tell(ctx context.Context, what string, err error) {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		r.logger.Warn(what, "error", err)
	}
}
