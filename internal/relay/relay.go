// Package relay carries changes from the database to the workflows of their
// conversations. It leases a conversation, sends all that waits for it in one
// signal, in order of ts, and marks what the signal took. In the normal case that
// is as soon as a change is stored; a sweep finds what was left behind, by
// whatever process, so that Temporal may be away for an hour and nothing is
// missed or overtaken. The channels of Slack take turns, however much one of them
// brings.
package relay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/failpoint"
	"myao/internal/store"
	"myao/internal/telemetry"
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
	// leaseFor is how long a conversation is held: longer than a turn may take.
	leaseFor = 30 * time.Second
	// leasing is how long it may take to lease a conversation, and to let go of it.
	leasing = 5 * time.Second
	// turnFor is how long one turn may take, whether the database or Temporal is slow.
	turnFor = 20 * time.Second
	// signalFor is how long one signal may take.
	signalFor = 10 * time.Second
	// sweepEvery is the sweeper's pace, and sweepSoon while it finds much and that is
	// worked off.
	sweepEvery = 2 * time.Second
	sweepSoon  = 200 * time.Millisecond
	// sweepAtOnce is how many conversations one look at the backlog takes on. A look
	// passes all that wait, so one has to be worth it.
	sweepAtOnce = 1000
	// workers is how many conversations are relayed side by side. They mostly wait for
	// Temporal, and need one of the database's 8 connections for a moment.
	workers = 16
	// letGoFirst is how long the others of a message's conversations let the first go
	// before: about until its workflow has begun what it has to do.
	letGoFirst = 150 * time.Millisecond
	// restFor is how long a worker rests between two failures while nothing succeeds.
	restFor = time.Second
)

// Relay carries changes. Make one with New.
type Relay struct {
	store   *store.Store
	sender  Sender
	policy  func(ctx context.Context, c chat.Conversation) conversation.Policy
	clock   func() time.Time
	logger  *slog.Logger
	metrics *Metrics
	// Tracer makes the spans of signals; nil: none are made.
	Tracer trace.Tracer

	queue *queue
	// failures counts those since the last success.
	failures atomic.Int32
	rest     func(ctx context.Context)
	telling  telling
}

// New makes a relay; policy is the timing by which a conversation shall go.
func New(s *store.Store, sender Sender, policy func(context.Context, chat.Conversation) conversation.Policy,
	clock func() time.Time, logger *slog.Logger, metrics *Metrics) *Relay {
	return &Relay{
		store: s, sender: sender, policy: policy, clock: clock, logger: logger, metrics: metrics,
		queue: newQueue(clock), rest: func(ctx context.Context) { sleep(ctx, restFor) },
	}
}

// Notify says that conversations have something new. One in which somebody waits for an
// answer goes first; the others with it, as the channel at whose top level a mention
// stands, only have to know. Kick never blocks: what does not fit is found by the sweep.
func (r *Relay) Notify(targets ...store.Target) {
	all := calm
	if slices.ContainsFunc(targets, func(t store.Target) bool { return t.Awaited }) {
		all = urgent
	}
	for _, t := range targets {
		if all == urgent && !t.Awaited {
			r.queue.after(letGoFirst, func() { r.queue.push(t.Conversation, calm) })
			continue
		}
		r.queue.push(t.Conversation, all)
	}
}

// Run relays until the context ends.
func (r *Relay) Run(ctx context.Context) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { r.work(ctx) })
	}
	group.Go(func() { r.sweep(ctx) })
	group.Wait()
}

// work relays one conversation after the other.
func (r *Relay) work(ctx context.Context) {
	for {
		c, ok := r.queue.take(ctx)
		if !ok {
			return
		}
		more, err := r.drain(ctx, c)
		if err != nil {
			r.tell(ctx, "changes not relayed; they wait", err, "conversation", c.ID())
		}
		r.queue.done(c, more)
		switch {
		case err == nil:
			r.failures.Store(0)
		case r.failures.Add(1) >= workers:
			// Temporal is away: the next would only meet the same refusal. One
			// conversation that is refused among others that are taken does not count.
			r.rest(ctx)
		}
	}
}

// sleep waits, or returns early when the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sweep takes up what waits without a relay at work on it.
func (r *Relay) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		fed, more := r.sweepOnce(ctx)
		for slept := time.Duration(0); slept < sweepEvery && ctx.Err() == nil; slept += sweepSoon {
			sleep(ctx, sweepSoon)
			if more && r.queue.untaken(fed) < len(fed)/2 {
				break
			}
		}
	}
}

// sweepOnce puts a part of the backlog in line. It returns what was not in line
// already, and whether there may be more than that: then most of this part was new.
func (r *Relay) sweepOnce(ctx context.Context) (fed []chat.Conversation, more bool) {
	backlog, err := r.backlog(ctx)
	if err != nil {
		r.tell(ctx, "backlog not read", err)
		return nil, false
	}
	r.tellBacklog(ctx, len(backlog) > 0)
	for _, left := range backlog {
		c, err := chat.ParseConversation(left.WorkflowID)
		if err != nil {
			r.logger.ErrorContext(ctx, "a conversation in the backlog has no address", "error", err)
			continue
		}
		h := late
		if left.Addressed && c.AnswersHere() {
			h = urgent
		}
		if r.queue.push(c, h) {
			fed = append(fed, c)
		}
	}
	return fed, len(backlog) == sweepAtOnce && len(fed) > sweepAtOnce/2
}

func (r *Relay) backlog(ctx context.Context) ([]store.BacklogItem, error) {
	ctx, cancel := context.WithTimeout(ctx, turnFor)
	defer cancel()
	return r.store.Backlog(ctx, sweepAtOnce)
}

// drain sends what waits for one conversation, batch after batch as long as they are
// full, and reports whether more has come meanwhile. That may wait until the
// conversation comes in hand again, so that more comes together. Another relay at work
// on it is as good.
func (r *Relay) drain(ctx context.Context, c chat.Conversation) (more bool, err error) {
	for me, full := uuid.NewString(), true; full; {
		if full, more, err = r.turn(ctx, c, me); err != nil {
			return false, err // the sweep comes back to it
		}
		full = full && more
	}
	return more, nil
}

// turn leases a conversation for one batch and reports whether the batch was full,
// and whether more waits.
func (r *Relay) turn(ctx context.Context, c chat.Conversation, me string) (full, more bool, err error) {
	// The turn is over before its lease is: nobody else sends meanwhile.
	bounded, cancel := context.WithTimeout(ctx, turnFor)
	defer cancel()
	id := c.ID()
	waiting, err := r.take(ctx, id, me)
	if err != nil || len(waiting) == 0 {
		return false, false, err // a holder sees what has come when it lets go
	}
	failpoint.Here("relay: claimed")
	err = r.send(bounded, c, waiting)
	more, released := r.release(ctx, id, me)
	if released != nil {
		r.tell(ctx, "conversation not released", released, "conversation", id)
	}
	return len(waiting) == batch, more, err
}

// take leases a conversation. It is not called off when the relay is told to stop: the
// database might lease it all the same, and nobody would let go of it before the lease ends.
func (r *Relay) take(ctx context.Context, id, me string) ([]store.PendingChange, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leasing)
	defer cancel()
	return r.store.Claim(ctx, id, me, r.clock().Add(leaseFor), batch)
}

// release lets go of a conversation even when the relay is told to stop, or
// nobody could take it up before the lease ends.
func (r *Relay) release(ctx context.Context, id, me string) (more bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leasing)
	defer cancel()
	return r.store.Release(ctx, id, me)
}

// send sends one batch.
func (r *Relay) send(ctx context.Context, c chat.Conversation, waiting []store.PendingChange) error {
	signal := conversation.Signal{Policy: r.policy(ctx, c)}
	ids := make([]int64, len(waiting))
	hash := sha256.New()
	_, _ = hash.Write([]byte(c.ID()))
	for i, w := range waiting {
		ids[i] = w.ID
		signal.Changes = append(signal.Changes, w.Change)
		_, _ = hash.Write([]byte("\n" + w.Change.ID()))
	}
	traced, span := r.trace(ctx, c, waiting)
	defer span.End()
	if err := r.signal(traced, c, signal, fmt.Sprintf("%x", hash.Sum(nil)[:16])); err != nil {
		r.metrics.failed.Inc()
		telemetry.Fail(span, "signal")
		return fmt.Errorf("signal %s: %w", c.ID(), err)
	}
	r.metrics.signals.Inc()
	failpoint.Here("relay: signalled")
	if err := r.store.MarkRelayed(ctx, ids); err != nil {
		return err
	}
	failpoint.Here("relay: marked")
	r.metrics.relayed.Add(float64(len(ids)))
	return nil
}

// trace begins the span of a signal.
func (r *Relay) trace(ctx context.Context, c chat.Conversation, waiting []store.PendingChange) (context.Context, trace.Span) {
	if r.Tracer == nil {
		return ctx, noop.Span{}
	}
	origins := make([]telemetry.MessageTrace, len(waiting))
	for i, w := range waiting {
		origins[i] = telemetry.MessageTrace{TS: w.TS, Traceparent: w.Trace}
	}
	return telemetry.StartSignalSpan(ctx, r.Tracer, c.ID(), origins)
}

func (r *Relay) signal(ctx context.Context, c chat.Conversation, s conversation.Signal, requestID string) error {
	ctx, cancel := context.WithTimeout(ctx, signalFor)
	defer cancel()
	return r.sender.Send(ctx, c, s, requestID)
}

// tell logs a failure that the next sweep will mend, unless it is only the end.
func (r *Relay) tell(ctx context.Context, what string, err error, about ...any) {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		r.logger.WarnContext(ctx, what, append(about, "error", err)...)
	}
}
