// Package relay carries changes from the database to the workflows of their
// conversations. It leases a conversation, sends all its pending changes in one signal, in
// order of ts, and marks those that the signal took. Normally that happens as soon as a
// change is stored. A sweep finds what any process left behind: Temporal may be away for an
// hour, and nothing is missed or overtaken. Slack's channels take turns, however busy one is.
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
	"myao/internal/runtime/failpoint"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/telemetry"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
)

// Sender sends a signal to a conversation's workflow, and starts the workflow if none
// runs. The same batch has the same requestID, by which the server detects a repetition.
type Sender interface {
	Send(ctx context.Context, c chat.Conversation, s conversation.Signal, requestID string) error
}

const (
	// batchSize is how many changes one signal carries at most.
	batchSize = 200
	// leaseDuration is how long a conversation is leased: longer than batchTimeout.
	leaseDuration = 30 * time.Second
	// leaseTimeout bounds claiming a conversation, and releasing it.
	leaseTimeout = 5 * time.Second
	// batchTimeout bounds the relay of one batch, whether the database or Temporal is slow.
	batchTimeout = 20 * time.Second
	// signalTimeout bounds one signal.
	signalTimeout = 10 * time.Second
	// sweepInterval is the time between sweeps. While a sweep finds much and the workers
	// keep up, the next one comes after busySweepInterval.
	sweepInterval     = 2 * time.Second
	busySweepInterval = 200 * time.Millisecond
	// handOverInterval is the time between looks for proposals and promises that their conversations have lost.
	handOverInterval = time.Minute
	// sweepLimit is how many conversations one sweep queues. Each sweep reads past
	// everything that is pending, so one has to be worth it.
	sweepLimit = 1000
	// workers is how many conversations are relayed at the same time. They mostly wait for
	// Temporal, and need one of the database's 8 connections for a moment.
	workers = 16
	// followerDelay is how long the other conversations of a message wait for the one with
	// the answer: about until its workflow has started its first activity.
	followerDelay = 150 * time.Millisecond
	// failureBackoff is how long a worker pauses after a failure while nothing succeeds.
	failureBackoff = time.Second
)

// Relay carries changes to workflows. Create one with New.
type Relay struct {
	store   *store.Store
	sender  Sender
	policy  func(ctx context.Context, c chat.Conversation) conversation.Policy
	clock   func() time.Time
	logger  *slog.Logger
	metrics *Metrics
	// Tracer creates the spans of signals; nil: no spans.
	Tracer trace.Tracer

	queue *queue
	// failures counts the failures since the last success.
	failures atomic.Int32
	backoff  func(ctx context.Context)
	report   backlogReport
	// handedOver is when proposals and promises were last looked for. Only the sweep uses it.
	handedOver time.Time
}

// New creates a relay. policy returns the timing that a conversation is to follow.
func New(s *store.Store, sender Sender, policy func(context.Context, chat.Conversation) conversation.Policy,
	clock func() time.Time, logger *slog.Logger, metrics *Metrics) *Relay {
	return &Relay{
		store: s, sender: sender, policy: policy, clock: clock, logger: logger, metrics: metrics,
		queue: newQueue(clock), backoff: func(ctx context.Context) { pause.For(ctx, failureBackoff) },
	}
}

// Notify queues conversations that have new changes. One in which somebody waits for an
// answer goes first. The others that come with it follow a little later, such as the channel
// at whose top level a mention stands: they only have to know. Notify never blocks; the sweep
// finds what does not fit the queue.
func (r *Relay) Notify(targets ...store.Target) {
	first := normal
	if slices.ContainsFunc(targets, func(t store.Target) bool { return t.Awaited }) {
		first = awaited
	}
	for _, t := range targets {
		if first == awaited && !t.Awaited {
			r.queue.afterFunc(followerDelay, func() { r.queue.push(t.Conversation, normal) })
			continue
		}
		r.queue.push(t.Conversation, first)
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
			r.warn(ctx, "changes not relayed; they wait", err, "conversation", c.ID())
		}
		r.queue.done(c, more)
		switch {
		case err == nil:
			r.failures.Store(0)
		case r.failures.Add(1) >= workers:
			// Temporal is away, and would refuse the next conversation too. A single
			// conversation that fails among successes does not get here.
			r.backoff(ctx)
		}
	}
}

// sweep queues what is pending without a relay at work on it.
func (r *Relay) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		queued, more := r.sweepOnce(ctx)
		for slept := time.Duration(0); slept < sweepInterval && ctx.Err() == nil; slept += busySweepInterval {
			pause.For(ctx, busySweepInterval)
			if more && r.queue.countPending(queued) < len(queued)/2 {
				break
			}
		}
	}
}

// sweepOnce queues a part of the backlog. It returns the conversations that were not queued
// already. more says that the backlog may hold others: most of this full part was new.
func (r *Relay) sweepOnce(ctx context.Context) (queued []chat.Conversation, more bool) {
	r.handOver(ctx)
	backlog, err := r.backlog(ctx)
	if err != nil {
		r.warn(ctx, "backlog not read", err)
		return nil, false
	}
	r.reportBacklog(ctx, len(backlog) > 0)
	for _, left := range backlog {
		c, err := chat.ParseConversation(left.WorkflowID)
		if err != nil {
			r.logger.ErrorContext(ctx, "backlog has an invalid conversation id", "error", err)
			continue
		}
		p := overdue
		if left.Addressed && c.AnswersHere() {
			p = awaited
		}
		if r.queue.push(c, p) {
			queued = append(queued, c)
		}
	}
	return queued, len(backlog) == sweepLimit && len(queued) > sweepLimit/2
}

// handOver tells conversations of the proposals and promises that they have lost.
func (r *Relay) handOver(ctx context.Context) {
	if r.clock().Sub(r.handedOver) < handOverInterval {
		return
	}
	r.handedOver = r.clock()
	for what, read := range map[string]func(context.Context) ([]store.Target,
		error){"proposal": r.store.HandOverProposals, "promise": r.store.HandOverPromises} {
		ctx, cancel := timeout.After(ctx, batchTimeout)
		lost, err := read(ctx)
		cancel()
		if err != nil {
			r.warn(ctx, "overdue "+what+"s not read", err)
			continue
		}
		for _, t := range lost {
			r.logger.WarnContext(ctx, "a "+what+" is overdue, and handed to its conversation again", "conversation",
				t.ID())
		}
		r.Notify(lost...)
	}
}

func (r *Relay) backlog(ctx context.Context) ([]store.BacklogItem, error) {
	ctx, cancel := timeout.After(ctx, batchTimeout)
	defer cancel()
	return r.store.Backlog(ctx, sweepLimit)
}

// drain relays one conversation, batch after batch as long as they are full. It reports
// whether more changes have come meanwhile: they wait for the conversation's next turn, so
// that more of them share a signal. Where another relay holds the lease, drain does nothing.
func (r *Relay) drain(ctx context.Context, c chat.Conversation) (more bool, err error) {
	for holder, full := uuid.NewString(), true; full; {
		if full, more, err = r.relayBatch(ctx, c, holder); err != nil {
			return false, err // the sweep comes back to it
		}
		full = full && more
	}
	return more, nil
}

// relayBatch leases a conversation for one batch. It reports whether the batch was full, and
// whether more changes are pending.
func (r *Relay) relayBatch(ctx context.Context, c chat.Conversation, holder string) (full, more bool, err error) {
	// The batch ends before its lease does, so nobody else sends meanwhile.
	bounded, cancel := timeout.After(ctx, batchTimeout)
	defer cancel()
	id := c.ID()
	changes, err := r.claim(ctx, id, holder)
	if err != nil || len(changes) == 0 {
		return false, false, err // whoever holds the lease sees new changes on release
	}
	failpoint.Here("relay: claimed")
	err = r.send(bounded, c, changes)
	more, released := r.release(ctx, id, holder)
	if released != nil {
		r.warn(ctx, "conversation not released", released, "conversation", id)
	}
	return len(changes) == batchSize, more, err
}

// claim leases a conversation. It is not cancelled when the relay stops: the database might
// grant the lease all the same, and nobody would release it before it ends.
func (r *Relay) claim(ctx context.Context, id, holder string) ([]store.PendingChange, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := timeout.After(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	return r.store.Claim(ctx, id, holder, r.clock().Add(timeout.Of(ctx, leaseDuration)), batchSize)
}

// release ends a lease. It is not cancelled when the relay stops: nobody else could relay the
// conversation before the lease ends.
func (r *Relay) release(ctx context.Context, id, holder string) (more bool, err error) {
	ctx, cancel := timeout.After(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	return r.store.Release(ctx, id, holder)
}

// send signals one batch, and marks its changes as relayed.
func (r *Relay) send(ctx context.Context, c chat.Conversation, changes []store.PendingChange) error {
	signal := conversation.Signal{Policy: r.policy(ctx, c)}
	ids := make([]int64, len(changes))
	hash := sha256.New()
	_, _ = hash.Write([]byte(c.ID()))
	for i, w := range changes {
		ids[i] = w.ID
		signal.Changes = append(signal.Changes, w.Change)
		_, _ = hash.Write([]byte("\n" + w.Change.ID()))
	}
	traced, span := r.startSpan(ctx, c, changes)
	defer span.End()
	if err := r.signal(traced, c, signal, fmt.Sprintf("%x", hash.Sum(nil)[:16])); err != nil {
		r.metrics.fail(err)
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

// startSpan starts the span of a signal.
func (r *Relay) startSpan(
	ctx context.Context, c chat.Conversation, changes []store.PendingChange,
) (context.Context, trace.Span) {
	if r.Tracer == nil {
		return ctx, noop.Span{}
	}
	traces := make([]telemetry.MessageTrace, len(changes))
	for i, w := range changes {
		traces[i] = telemetry.MessageTrace{TS: w.TS, Traceparent: w.Trace}
	}
	return telemetry.StartSignalSpan(ctx, r.Tracer, c.ID(), traces)
}

func (r *Relay) signal(ctx context.Context, c chat.Conversation, s conversation.Signal, requestID string) error {
	ctx, cancel := timeout.After(ctx, signalTimeout)
	defer cancel()
	return r.sender.Send(ctx, c, s, requestID)
}

// warn logs a failure that the next sweep will make up for, unless the relay is stopping.
func (r *Relay) warn(ctx context.Context, message string, err error, attrs ...any) {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		r.logger.WarnContext(ctx, message, append(attrs, "error", err)...)
	}
}
