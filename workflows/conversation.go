package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/internal/conversation"
)

// Conversation is the workflow of one thread, or of the top level of one channel. It completes
// after it has been idle for long enough; the next message starts a new run.
func Conversation(ctx workflow.Context, in conversation.Input) error {
	r := newConversationRun(ctx, in)
	if err := r.registerHandlers(); err != nil {
		return err
	}
	return r.run()
}

// conversationRun is one run of the Conversation workflow. It interprets the policy of package
// conversation: signals, results, time and updates become events, and effects become
// activities.
type conversationRun struct {
	cancellable workflow.Context   // the run's own context; it ends when the run is cancelled
	ctx         workflow.Context   // is not cancelled, so that work in flight can be completed
	in          conversation.Input // its phase is the search attribute's value
	state       *conversation.State
	signals     workflow.ReceiveChannel

	work       *work      // the judge, compose, look or post activities in flight
	failure    string     // why the newest work failed, for the ledger
	detached   []detached // in flight; only the end of the run waits for them
	acts       []workPart // the approved calls and the ends of promises in flight, beside the work
	timer      deadlineTimer
	ordersDone int  // counts completed updates, to wake await
	deferred   bool // an effect was left to the next run

	silenceMutex workflow.Mutex // held while the end of a silence is recorded
}

func newConversationRun(ctx workflow.Context, in conversation.Input) *conversationRun {
	disconnected, _ := workflow.NewDisconnectedContext(ctx)
	r := &conversationRun{
		cancellable: ctx, ctx: disconnected, in: in, state: in.State,
		signals: workflow.GetSignalChannel(disconnected, conversation.SignalName),
	}
	r.silenceMutex = workflow.NewMutex(disconnected)
	if r.state == nil {
		r.state = conversation.New(in.Conversation)
	}
	return r
}

// run is the main loop: drain signals, collect results, let time pass, show the state, await.
//
// A run ends only in a workflow task in which a drain came back empty and nothing has blocked
// since: a signal delivered to a run that closes is lost. Where each wake is a signal, the
// loop therefore drains a second time in the same task.
func (r *conversationRun) run() error {
	r.resume()
	for {
		drained := r.drainSignals()
		r.collectResults()
		r.apply(conversation.Tick{})
		cancelled := r.cancellable.Err() != nil
		if cancelled {
			r.dropCancelled()
		}
		closing := cancelled && r.state.Phase == conversation.Idle || r.state.ShouldClose(r.now())
		continuing := !cancelled && (r.deferred || shouldContinueAsNew(r.ctx) || r.state.ShouldRenew(r.now()))
		r.show()
		if !r.quiescent() || !closing && !continuing {
			if err := r.await(); err != nil {
				return err
			}
			continue
		}
		if drained {
			continue // without blocking, for an empty drain in this very task
		}
		if closing {
			return r.cancellable.Err()
		}
		if r.state.ShouldRenew(r.now()) {
			r.state.Renew(r.now())
		}
		r.in.State = r.state
		return continueAsNew(r.ctx, conversation.WorkflowType, r.in)
	}
}

// drainSignals receives all signals that have arrived and reports whether there were any.
// Their changes are one event, so that a burst is handled once.
func (r *conversationRun) drainSignals() bool {
	var received bool
	var changes conversation.Changes
	var s conversation.Signal
	for r.signals.ReceiveAsync(&s) {
		received = true
		r.state.Policy = s.Policy
		changes = append(changes, s.Changes...)
		s = conversation.Signal{}
	}
	if len(changes) > 0 {
		r.apply(changes)
	}
	return received
}

// apply passes an event to the policy and executes the effects.
func (r *conversationRun) apply(e conversation.Event) {
	for _, effect := range r.state.Apply(e, r.now()) {
		if !r.defers(effect) {
			r.execute(effect)
		}
	}
}

func (r *conversationRun) execute(effect conversation.Effect) {
	switch effect := effect.(type) {
	case conversation.Cancel:
		if r.work != nil {
			r.work.cancel()
			r.work = nil
		}
	case conversation.Judge:
		r.judge(effect)
	case conversation.Check:
		r.check(effect)
	case conversation.Compose:
		r.compose(effect)
	case conversation.Look:
		r.look(effect)
	case conversation.Post:
		r.post(effect)
	case conversation.Act:
		r.act(effect)
	case conversation.EndPromise:
		r.endPromise(effect)
	case conversation.ShowProposal:
		r.showProposal(effect)
	case conversation.Settle:
		r.settle(effect)
	}
}

// resume starts the work that the state waits for and that the previous run deferred.
func (r *conversationRun) resume() {
	for _, effect := range r.state.InFlight() {
		r.execute(effect)
	}
}

// defers reports whether an effect is left to the next run, which finds it in the state. A
// run that should continue as new starts no work: where people address the bot without a
// pause, one reply follows the other, and the run would never become quiescent.
//
// The server suggests a new run after 4,096 events, and terminates one after 51,200. A reply
// takes some ten events, a step of it four, and a message up to four. At a message a second and a reply every
// four seconds, that limit is two hours away.
func (r *conversationRun) defers(effect conversation.Effect) bool {
	switch effect.(type) {
	case conversation.Judge, conversation.Check, conversation.Compose, conversation.Look, conversation.Post,
		conversation.Act, conversation.EndPromise:
		r.deferred = r.deferred || shouldContinueAsNew(r.ctx)
		return r.deferred
	}
	return false
}

// byCancellation stands for the operator's name when a run was cancelled.
const byCancellation = "cancellation"

// dropCancelled drops what is pending after the run was cancelled. The run can end once it is idle: a post in
// flight is completed first.
func (r *conversationRun) dropCancelled() {
	if r.state.Phase != conversation.Idle && !r.state.Posting {
		// A conversation that only waits has no decision in the ledger: this record explains it.
		r.recordOrder(order{conversation.Order{By: byCancellation}, conversation.UpdateDrop + "/" +
			workflow.GetInfo(r.ctx).WorkflowExecution.RunID, conversation.UpdateDrop})
	}
	r.dropAll(byCancellation)
	if r.deferred { // a post: no other run will resume it
		r.deferred = false
		r.resume()
	}
}

// dropAll drops what is pending, and what was kept for later. A promise waits.
func (r *conversationRun) dropAll(by string) {
	for r.state.Phase != conversation.Idle && !r.state.Posting {
		r.apply(conversation.Drop{By: by, Silence: true})
	}
}

// quiescent reports whether nothing is in flight that would be lost with the run.
func (r *conversationRun) quiescent() bool {
	return r.work == nil && len(r.acts) == 0 && len(r.detached) == 0 && workflow.AllHandlersFinished(r.ctx)
}

// await blocks until a signal, a result, an update or the deadline. There is one timer. A
// later deadline leaves it alone, so that a message costs no timer of its own.
func (r *conversationRun) await() error {
	// Work in flight keeps a run that should close, and wakes it: a timer would only spin.
	if !r.state.ShouldClose(r.now()) && !r.state.ShouldRenew(r.now()) {
		r.timer.set(r.ctx, r.state.NextTick(), timerSummary(r.state))
	}
	ordersDone, cancelled := r.ordersDone, r.cancellable.Err()
	return workflow.Await(r.ctx, func() bool {
		return r.signals.Len() > 0 || r.ordersDone != ordersDone || r.cancellable.Err() != cancelled ||
			r.timer.fired() ||
			r.work.ready() >= 0 || firstReady(r.acts) >= 0 ||
			(len(r.detached) > 0 && r.detached[0].future.IsReady())
	})
}

func (r *conversationRun) now() time.Time { return workflow.Now(r.ctx).UTC() }
