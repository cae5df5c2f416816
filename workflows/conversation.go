package workflows

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
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

// work is the activities whose results the policy waits for. Only a look has several.
type work struct {
	parts  []workPart
	cancel workflow.CancelFunc
}

// detached is the record of something in the ledger, or the update of a message.
type detached struct {
	what, trigger string
	future        workflow.Future
}

type workPart struct {
	id     string // of the proposal for an approved call, of the promise for its end
	future workflow.Future
	// result converts the activity's result into an event; nil where other work continues it.
	result func(workflow.Future) conversation.Event
}

// ready is the index of a part that has ended, or -1.
func (w *work) ready() int {
	if w == nil {
		return -1
	}
	return firstReady(w.parts)
}

func firstReady(parts []workPart) int {
	return slices.IndexFunc(parts, func(p workPart) bool { return p.future.IsReady() })
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

// collectResults applies the result of the work in flight, and of work that follows it at once. It takes in whatever
// else await waits for, or that would not block again.
func (r *conversationRun) collectResults() {
	for i := r.work.ready(); i >= 0; i = r.work.ready() {
		done := r.work.parts[i]
		if r.work.parts = slices.Delete(r.work.parts, i, i+1); len(r.work.parts) == 0 {
			r.work = nil
		}
		if e := done.result(done.future); e != nil {
			r.apply(e)
		}
	}
	for i := firstReady(r.acts); i >= 0; i = firstReady(r.acts) {
		done := r.acts[i]
		r.acts = slices.Delete(r.acts, i, i+1)
		r.apply(done.result(done.future))
	}
	r.collectDetached()
	r.timer.clearFired()
}

// collectDetached forgets what has ended of the detached work, the oldest first. The ledger lacks what failed, so the
// log has it.
func (r *conversationRun) collectDetached() {
	for len(r.detached) > 0 && r.detached[0].future.IsReady() {
		d := r.detached[0]
		r.detached = r.detached[1:]
		if err := d.future.Get(r.ctx, nil); err != nil {
			workflow.GetLogger(r.ctx).Error(d.what+" failed", "trigger", d.trigger, "error", err)
		}
	}
}

// detach has an activity run that the conversation does not wait for.
func (r *conversationRun) detach(ctx workflow.Context, what, trigger string, activity, in any) {
	r.detached = append(r.detached, detached{what, trigger, workflow.ExecuteActivity(ctx, activity, in)})
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
	case conversation.Judge, conversation.Check, conversation.Compose, conversation.Look, conversation.Post, conversation.Act, conversation.EndPromise:
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
		r.recordOrder(order{conversation.Order{By: byCancellation}, conversation.UpdateDrop + "/" + workflow.GetInfo(r.ctx).WorkflowExecution.RunID, conversation.UpdateDrop})
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
		return r.signals.Len() > 0 || r.ordersDone != ordersDone || r.cancellable.Err() != cancelled || r.timer.fired() ||
			r.work.ready() >= 0 || firstReady(r.acts) >= 0 ||
			(len(r.detached) > 0 && r.detached[0].future.IsReady())
	})
}

func (r *conversationRun) now() time.Time { return workflow.Now(r.ctx).UTC() }

// activityOptions are the options of every activity. It heartbeats, so that a dead worker is
// noticed within seconds, and is retried until total is over.
func activityOptions(attempt, total time.Duration, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    attempt,
		ScheduleToCloseTimeout: total,
		HeartbeatTimeout:       10 * time.Second,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		},
	}
}

// modelOptions are the options of an activity that calls a model: it has a task queue of its
// own. The activity itself decides when a model has failed too often. A missing worker or
// database is no failure of the model, so these retries last a day.
func modelOptions(summary string) workflow.ActivityOptions {
	o := activityOptions(2*time.Minute, 24*time.Hour, summary)
	o.TaskQueue = conversation.ModelTaskQueue
	return o
}

// replyPriority puts replies that somebody waits for first, where the server knows priorities: not those
// that keep a promise. Other activities inherit the workflow's priority, 3 by default. All inherit its
// fairness key, the channel.
func replyPriority(addressed bool, occasion string) temporal.Priority {
	if _, _, promise := conversation.ParsePromiseKey(occasion); addressed && !promise {
		return temporal.Priority{PriorityKey: 1}
	}
	return temporal.Priority{}
}

func (r *conversationRun) start(o workflow.ActivityOptions, activity, in any, result func(workflow.Future) conversation.Event) {
	r.failure = ""
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(r.ctx, o))
	r.work = &work{cancel: cancel, parts: []workPart{{future: workflow.ExecuteActivity(ctx, activity, in), result: result}}}
}

var do *activities.Activities // names the activities; never called

func (r *conversationRun) task(epoch int, trigger conversation.Item) activities.Task {
	return activities.Task{
		Conversation: r.in.Conversation, Trigger: trigger.TS, Revision: trigger.Revision, Decision: r.decisionKey(epoch), Epoch: epoch,
	}
}

// taskOf is the task of a reply that may tell an occasion.
func (r *conversationRun) taskOf(epoch int, trigger conversation.Item, occasion string) activities.Task {
	t := r.task(epoch, trigger)
	t.Occasion = occasion
	return t
}

// judge starts a judgment. A failed one is silence.
func (r *conversationRun) judge(e conversation.Judge) {
	in := activities.JudgeInput{Task: r.task(e.Epoch, e.Trigger), MaxDelay: r.state.Policy.MaxDelay, Pending: r.state.PendingTS()}
	r.start(modelOptions("judge message "+e.Trigger.TS), do.Judge, in, func(f workflow.Future) conversation.Event {
		var out activities.JudgeOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Warn("no judgment", "trigger", e.Trigger.TS, "error", err)
			r.failure = message(err)
			return conversation.Judged{Epoch: e.Epoch, Failed: true}
		}
		return conversation.Judged{Epoch: e.Epoch, Verdict: out.Verdict, Gone: out.Rule == conversation.RuleNothingLeft}
	})
}

func (r *conversationRun) compose(e conversation.Compose) {
	in := activities.ComposeInput{
		Task: r.taskOf(e.Epoch, e.Trigger, e.Occasion), Addressed: e.Addressed, Notice: e.Notice, Stop: e.Stop, Ordered: e.Ordered, Oldest: e.Oldest, Round: e.Round, Until: e.Until,
	}
	o := modelOptions("compose reply to " + e.Trigger.TS)
	switch {
	case e.Stop != conversation.NoStop: // calls no model, as below
		o = activityOptions(time.Minute, 12*time.Hour, "answer the stop "+e.Trigger.TS)
	case e.Notice:
		o = activityOptions(time.Minute, 12*time.Hour, "say that there is no answer to "+e.Trigger.TS)
	}
	o.Priority = replyPriority(e.Addressed, e.Occasion)
	r.start(o, do.Compose, in, func(f workflow.Future) conversation.Event {
		var out activities.ReplyOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Warn("no reply composed", "trigger", e.Trigger.TS, "error", err)
			r.failure = message(err)
			return conversation.Composed{Epoch: e.Epoch, Round: e.Round, Result: conversation.Failed}
		}
		return conversation.Composed{Epoch: e.Epoch, Round: e.Round, Result: out.Result, By: out.By, Steps: out.Steps}
	})
}

// look executes the steps that are not done, side by side, each by an activity of its own. A step that
// fails for good is one without a result, which the next round tells the model. Its attempts are bounded
// by the activity; the total bounds the time without a worker.
func (r *conversationRun) look(e conversation.Look) {
	r.failure = ""
	ctx, cancel := workflow.WithCancel(r.ctx)
	r.work = &work{cancel: cancel}
	for _, step := range r.state.Steps {
		if step.Done {
			continue
		}
		o := activityOptions(30*time.Second, 10*time.Minute, step.Tool)
		o.TaskQueue, o.Priority = conversation.ToolsTaskQueue, replyPriority(e.Addressed, e.Occasion)
		in := activities.LookInput{Task: r.taskOf(e.Epoch, e.Trigger, e.Occasion), Step: step.ID, Addressed: e.Addressed}
		r.work.parts = append(r.work.parts, workPart{future: workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), do.Look, in), result: func(f workflow.Future) conversation.Event {
			if err := f.Get(r.ctx, nil); err != nil {
				workflow.GetLogger(r.ctx).Warn("step not done", "trigger", e.Trigger.TS, "tool", step.Tool, "error", err)
			}
			return conversation.Looked{Epoch: e.Epoch, Step: step.ID}
		}})
	}
}

// post first tries a local activity, within this workflow task. That saves the server a third
// of its work for a reply, and the reader a round trip. If the reply is not posted so, an
// activity on the queue continues, where it may wait and be retried.
func (r *conversationRun) post(e conversation.Post) {
	in := activities.PostInput{Task: r.taskOf(e.Epoch, e.Trigger, e.Occasion), Addressed: e.Addressed}
	ctx := workflow.WithLocalActivityOptions(r.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 15 * time.Second, // Slack may take eight seconds, and recording the end five
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             "post reply to " + e.Trigger.TS,
	})
	r.failure = ""
	r.work = &work{cancel: func() {}, parts: []workPart{{future: workflow.ExecuteLocalActivity(ctx, do.PostAtOnce, in), result: func(f workflow.Future) conversation.Event {
		var out activities.ReplyOutput
		err := f.Get(r.ctx, &out)
		switch {
		case err != nil:
			workflow.GetLogger(r.ctx).Warn("reply not posted at once", "trigger", e.Trigger.TS, "error", err)
		case out.Result != "":
			return conversation.Posted{Epoch: e.Epoch, Result: out.Result, Opened: out.Opened, Promised: out.Promised}
		}
		if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.NextRetryDelay() > 0 {
			in.NotBefore = r.now().Add(failed.NextRetryDelay())
		}
		r.postFromQueue(e, in)
		return nil
	}}}}
}

// postFromQueue tries for longer when somebody waits for the answer: a late answer is better
// than none to them, and worse than none to anybody else. An attempt may be long too: it may
// look for an earlier post of unknown outcome, and it posts all parts of a reply.
func (r *conversationRun) postFromQueue(e conversation.Post, in activities.PostInput) {
	total := time.Hour
	if e.Addressed {
		total = 12 * time.Hour
	}
	o := activityOptions(10*time.Minute, total, "post reply to "+e.Trigger.TS)
	o.Priority = replyPriority(e.Addressed, e.Occasion)
	r.start(o, do.Post, in, func(f workflow.Future) conversation.Event {
		var out activities.ReplyOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Error("reply not posted", "trigger", e.Trigger.TS, "error", err)
			r.failure = message(err)
			return conversation.Posted{Epoch: e.Epoch, Result: conversation.Failed}
		}
		return conversation.Posted{Epoch: e.Epoch, Result: out.Result, Opened: out.Opened, Promised: out.Promised}
	})
}

// act makes an approved call, beside the other work and uncancelled. The database sees to it that it is
// made once, so an attempt may follow another one. One that is in flight is left alone: a second activity
// would find that it has begun, and take its worker for dead.
func (r *conversationRun) act(e conversation.Act) {
	if slices.ContainsFunc(r.acts, func(p workPart) bool { return p.id == e.ID }) {
		return
	}
	o := activityOptions(2*time.Minute, 24*time.Hour, "do what was approved")
	o.TaskQueue, o.Priority = conversation.ToolsTaskQueue, replyPriority(true, "")
	in := activities.ProposalInput{Conversation: r.in.Conversation, Trigger: e.TS, Proposal: e.ID}
	r.acts = append(r.acts, workPart{id: e.ID, future: workflow.ExecuteActivity(workflow.WithActivityOptions(r.ctx, o), do.Act, in), result: func(f workflow.Future) conversation.Event {
		var out activities.ActOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Error("approved call not made", "trigger", e.TS, "proposal", e.ID, "error", err)
		}
		return conversation.Acted{ID: e.ID, Tell: out.Tell, Asker: out.Asker}
	}})
}

// check asks what is to be done about a promise that is due. Where no answer can be had, it is kept.
func (r *conversationRun) check(e conversation.Check) {
	in := activities.CheckInput{Task: r.taskOf(e.Epoch, e.Trigger, e.Occasion)}
	r.start(modelOptions("look whether a promise is still wanted"), do.CheckPromise, in, func(f workflow.Future) conversation.Event {
		var out activities.CheckOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Warn("promise not checked", "trigger", e.Trigger.TS, "error", err)
			out.Result = conversation.CheckPlain
		}
		return conversation.Checked{Epoch: e.Epoch, Result: out.Result, Until: out.Until, Number: out.Number, By: out.By, Verdict: out.Verdict}
	})
}

// endPromise records what has become of a promise, beside the other work. If that fails for good, the row
// stays open, and the relay hands the promise over again.
func (r *conversationRun) endPromise(e conversation.EndPromise) {
	if slices.ContainsFunc(r.acts, func(p workPart) bool { return p.id == e.ID }) {
		return
	}
	ctx := workflow.WithActivityOptions(r.ctx, activityOptions(30*time.Second, 24*time.Hour, "record a promise as "+string(e.End)))
	in := activities.EndPromiseInput{Conversation: r.in.Conversation, Trigger: e.TS, Promise: e.ID, Number: e.Number, End: e.End, By: e.By}
	r.acts = append(r.acts, workPart{id: e.ID, future: workflow.ExecuteActivity(ctx, do.EndPromise, in), result: func(f workflow.Future) conversation.Event {
		var out activities.EndPromiseOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Error("end of a promise not recorded", "trigger", e.TS, "promise", e.ID, "error", err)
		}
		return conversation.PromiseEnded{ID: e.ID, Number: e.Number, Next: out.Next}
	}})
}

// showProposal has the message of a proposal or a promise show what has become of it. The conversation does not wait
// for it.
func (r *conversationRun) showProposal(e conversation.ShowProposal) {
	ctx := workflow.WithActivityOptions(r.ctx, activityOptions(30*time.Second, time.Hour, "show what became of a proposal"))
	in := activities.ProposalInput{Conversation: r.in.Conversation, Trigger: e.TS, Proposal: e.ID, Close: e.Close}
	r.detach(ctx, "show what became of a proposal", e.TS, do.ShowProposal, in)
}

// message is the activity's own error message, without what Temporal adds.
func message(err error) string {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failed.Message()
	}
	return err.Error()
}

// settle records the outcome of a decision. The conversation does not wait for it.
func (r *conversationRun) settle(e conversation.Settle) {
	ctx := workflow.WithActivityOptions(r.ctx, activityOptions(10*time.Second, time.Hour, "write down: "+string(e.Outcome)))
	in := activities.SettleInput{
		Task: r.taskOf(e.Epoch, e.Trigger, e.Occasion), Addressed: e.Addressed, Outcome: e.Outcome, By: e.By,
	}
	if e.Outcome == conversation.Unsent {
		in.By = r.failure
	}
	r.detach(ctx, "write down the outcome "+string(e.Outcome), e.Trigger.TS, do.Settle, in)
}
