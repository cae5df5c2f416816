package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

// Conversation is the life of one thread, or of the top level of one channel. It
// ends when it has been idle for long enough; the next message starts a new run.
func Conversation(ctx workflow.Context, in conversation.Input) error {
	t := newTalk(ctx, in)
	if err := t.serve(); err != nil {
		return err
	}
	return t.live()
}

// talk interprets one conversation's policy.
type talk struct {
	run     workflow.Context // is cancelled with the run
	ctx     workflow.Context // goes on, so that what was begun is brought to its end
	in      conversation.Input
	state   *conversation.State
	signals workflow.ReceiveChannel

	work   *work             // the judging, composing or posting under way
	why    string            // why the newest work failed, for the ledger
	loose  []workflow.Future // records that nothing waits for
	timer  alarm
	phase  conversation.Phase // as the search attribute has it
	orders int                // updates carried out; wakes run
	left   bool               // work was left to the next run

	silencing workflow.Mutex // held while until when to be silent is written down
}

// work is the one activity whose end the policy waits for.
type work struct {
	future workflow.Future
	cancel workflow.CancelFunc
	// end makes the activity's result an event; nil where the work goes on otherwise.
	end func(workflow.Future) conversation.Event
}

func newTalk(run workflow.Context, in conversation.Input) *talk {
	ctx, _ := workflow.NewDisconnectedContext(run)
	t := &talk{run: run, ctx: ctx, in: in, state: in.State, signals: workflow.GetSignalChannel(ctx, conversation.SignalName)}
	t.silencing = workflow.NewMutex(ctx)
	if t.state == nil {
		t.state = conversation.New(in.Conversation)
	}
	t.phase = t.state.Phase
	if in.State == nil && in.Phase != "" {
		t.phase = in.Phase
	}
	return t
}

// live is the story: hear what happened, take in what was done, act, show, rest.
//
// A run ends only in a workflow task in which hear came back with nothing, and
// nothing has blocked since: a signal delivered to a run that closes is lost. With
// each wake a signal, that takes a second look in the same task.
func (t *talk) live() error {
	t.takeUp() // what the run before has left
	for {
		heard := t.hear()
		t.finish()
		t.apply(conversation.Tick{})
		closing := t.calledOff() || t.state.ShouldClose(t.now())
		handing := t.run.Err() == nil && (t.left || outgrown(t.ctx))
		t.show()
		if !t.resting() || !closing && !handing {
			if err := t.rest(); err != nil {
				return err
			}
			continue
		}
		if heard {
			continue // at once, for a drain that comes back empty in this very task
		}
		if closing {
			return t.run.Err()
		}
		t.in.State = t.state
		return anew(t.ctx, conversation.WorkflowType, t.in)
	}
}

// hear drains the signals that have come and reports whether there were any.
// What came together is taken in together: a burst is one thing.
func (t *talk) hear() bool {
	var heard bool
	var changes conversation.Changes
	var s conversation.Signal
	for t.signals.ReceiveAsync(&s) {
		heard = true
		t.state.Policy = s.Policy
		changes = append(changes, s.Changes...)
		s = conversation.Signal{}
	}
	if len(changes) > 0 {
		t.apply(changes)
	}
	return heard
}

// finish takes in the end of the work under way.
func (t *talk) finish() {
	for t.work != nil && t.work.future.IsReady() {
		w := t.work
		t.work = nil
		if e := w.end(w.future); e != nil {
			t.apply(e)
		}
	}
}

// apply puts an event to the policy and carries out what it answers.
func (t *talk) apply(e conversation.Event) {
	for _, effect := range t.state.Apply(e, t.now()) {
		if !t.leaves(effect) {
			t.carryOut(effect)
		}
	}
}

func (t *talk) carryOut(effect conversation.Effect) {
	switch effect := effect.(type) {
	case conversation.Cancel:
		if t.work != nil {
			t.work.cancel()
			t.work = nil
		}
	case conversation.Judge:
		t.judge(effect)
	case conversation.Compose:
		t.compose(effect)
	case conversation.Post:
		t.post(effect)
	case conversation.Settle:
		t.settle(effect)
	}
}

// takeUp begins what the state waits for, and nobody has begun.
func (t *talk) takeUp() {
	for _, effect := range t.state.InFlight() {
		t.carryOut(effect)
	}
}

// leaves reports whether an effect is left to the next run, which finds it in the
// state. A run that is to hand over begins no work: where people address the bot
// without a pause, one reply follows the other, and it would never rest. The server
// asks for a new run after 4,096 events and ends an old one after 51,200, and what
// it knows with it: a reply is some ten events, a message up to 4, so that a message a
// second and a reply every four of them would get there in two hours.
func (t *talk) leaves(effect conversation.Effect) bool {
	switch effect.(type) {
	case conversation.Judge, conversation.Compose, conversation.Post:
		t.left = t.left || outgrown(t.ctx)
		return t.left
	}
	return false
}

// cancellation is by whom what waits is dropped when the run is cancelled.
const cancellation = "cancellation"

// calledOff reports whether the run has been cancelled and nothing keeps it any
// more. What waits is dropped then; a post that has begun is not called back.
func (t *talk) calledOff() bool {
	if t.run.Err() == nil {
		return false
	}
	if t.state.Phase != conversation.Idle && !t.state.Posting {
		// What waited without a decision yet has no row in the ledger: this explains it.
		t.writeDown(order{conversation.Order{By: cancellation}, conversation.UpdateDrop + "/" + workflow.GetInfo(t.ctx).WorkflowExecution.RunID, conversation.UpdateDrop})
	}
	t.dropAll(cancellation)
	if t.left { // a post: no other run takes it over
		t.left = false
		t.takeUp()
	}
	return t.state.Phase == conversation.Idle
}

// dropAll drops what waits, and what was to be attended to after it.
func (t *talk) dropAll(by string) {
	for t.state.Phase != conversation.Idle && !t.state.Posting {
		t.apply(conversation.Drop{By: by})
	}
}

// resting reports whether nothing is under way that would be lost with the run.
func (t *talk) resting() bool {
	for len(t.loose) > 0 && t.loose[0].IsReady() {
		t.loose = t.loose[1:]
	}
	return t.work == nil && len(t.loose) == 0 && workflow.AllHandlersFinished(t.ctx)
}

// rest waits for a signal, the end of work, an order, or the time to act. There
// is one timer, which a later deadline leaves alone: it is set anew when it fires
// early, so that a message costs no timer of its own.
func (t *talk) rest() error {
	// A run that is to close is kept by something, and woken by its end: a timer would only spin.
	if !t.state.ShouldClose(t.now()) {
		t.timer.set(t.ctx, t.state.NextTick(), timerSummary(t.state.Phase))
	}
	orders, cancelled := t.orders, t.run.Err()
	return workflow.Await(t.ctx, func() bool {
		return t.signals.Len() > 0 || t.orders != orders || t.run.Err() != cancelled || t.timer.fired() ||
			(t.work != nil && t.work.future.IsReady()) ||
			(len(t.loose) > 0 && t.loose[0].IsReady())
	})
}

func (t *talk) now() time.Time { return workflow.Now(t.ctx).UTC() }

// patience is how an activity is tried: each attempt heartbeats, so that a dead
// worker is noticed within seconds, and attempts go on for a while.
func patience(attempt, whole time.Duration, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    attempt,
		ScheduleToCloseTimeout: whole,
		HeartbeatTimeout:       10 * time.Second,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		},
	}
}

// asking is how a model is asked: in a queue of its own. The activity knows when a model
// has failed often enough. That there was no worker to ask it, or no database, is not the
// model's failure, and no reason for silence.
func asking(summary string) workflow.ActivityOptions {
	o := patience(2*time.Minute, 24*time.Hour, summary)
	o.TaskQueue = conversation.ModelTaskQueue
	return o
}

// urgency puts what somebody waits for before what nobody asked for, where the
// server knows priorities. The rest is the workflow's own: 3, unless it was given
// another, and the fairness key of its channel.
func urgency(addressed bool) temporal.Priority {
	if addressed {
		return temporal.Priority{PriorityKey: 1}
	}
	return temporal.Priority{}
}

func (t *talk) start(o workflow.ActivityOptions, activity, in any, end func(workflow.Future) conversation.Event) {
	t.why = ""
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(t.ctx, o))
	t.work = &work{future: workflow.ExecuteActivity(ctx, activity, in), cancel: cancel, end: end}
}

var do *activities.Activities // names the activities; never called

func (t *talk) task(epoch int, trigger conversation.Item) activities.Task {
	return activities.Task{
		Conversation: t.in.Conversation, Trigger: trigger.TS, Revision: trigger.Revision, Decision: t.decision(epoch), Epoch: epoch,
	}
}

// judge ends in silence when no judgment can be had.
func (t *talk) judge(e conversation.Judge) {
	in := activities.JudgeInput{Task: t.task(e.Epoch, e.Trigger), MaxDelay: t.state.Policy.MaxDelay}
	t.start(asking("judge message "+e.Trigger.TS), do.Judge, in, func(f workflow.Future) conversation.Event {
		var out activities.JudgeOutput
		if err := f.Get(t.ctx, &out); err != nil {
			workflow.GetLogger(t.ctx).Warn("no judgment", "trigger", e.Trigger.TS, "error", err)
			t.why = reason(err)
			return conversation.Judged{Epoch: e.Epoch, Failed: true}
		}
		return conversation.Judged{Epoch: e.Epoch, Verdict: out.Verdict, Gone: out.Gone}
	})
}

func (t *talk) compose(e conversation.Compose) {
	in := activities.ComposeInput{Task: t.task(e.Epoch, e.Trigger), Addressed: e.Addressed, Notice: e.Notice, Ordered: e.Ordered, Oldest: e.Oldest}
	o := asking("compose reply to " + e.Trigger.TS)
	if e.Notice { // which asks no model, and is the last word
		o = patience(time.Minute, 12*time.Hour, "say that there is no answer to "+e.Trigger.TS)
	}
	o.Priority = urgency(e.Addressed)
	t.start(o, do.Compose, in, func(f workflow.Future) conversation.Event {
		var out activities.ReplyOutput
		if err := f.Get(t.ctx, &out); err != nil {
			workflow.GetLogger(t.ctx).Warn("no reply composed", "trigger", e.Trigger.TS, "error", err)
			t.why = reason(err)
			return conversation.Composed{Epoch: e.Epoch, Result: conversation.Failed}
		}
		return conversation.Composed{Epoch: e.Epoch, Result: out.Result, By: out.By}
	})
}

// post tries at once, within this very workflow task, where nothing but Slack has to be
// waited for: that spares the server a third of what it does for a reply, and whoever waits
// a way there and back. What that comes to otherwise goes on in a queue, where it may
// wait, and be tried again.
func (t *talk) post(e conversation.Post) {
	in := activities.PostInput{Task: t.task(e.Epoch, e.Trigger), Addressed: e.Addressed}
	if !t.in.PostsAtOnce {
		t.postInQueue(e, in)
		return
	}
	ctx := workflow.WithLocalActivityOptions(t.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 15 * time.Second, // Slack has eight of them, and its end five to be written down
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             "post reply to " + e.Trigger.TS,
	})
	t.why = ""
	t.work = &work{future: workflow.ExecuteLocalActivity(ctx, do.PostAtOnce, in), cancel: func() {}, end: func(f workflow.Future) conversation.Event {
		var out activities.ReplyOutput
		err := f.Get(t.ctx, &out)
		switch {
		case err != nil:
			workflow.GetLogger(t.ctx).Warn("reply not posted at once", "trigger", e.Trigger.TS, "error", err)
		case out.Result != "":
			return conversation.Posted{Epoch: e.Epoch, Result: out.Result}
		}
		if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.NextRetryDelay() > 0 {
			in.NotBefore = t.now().Add(failed.NextRetryDelay())
		}
		t.postInQueue(e, in)
		return nil
	}}
}

// postInQueue goes on for longer when somebody waits for the answer: late is better
// than never to them, and worse than never to everybody else. An attempt may be
// long, too: it looks for a post of unknown end, and brings all parts of a reply.
func (t *talk) postInQueue(e conversation.Post, in activities.PostInput) {
	whole := time.Hour
	if e.Addressed {
		whole = 12 * time.Hour
	}
	o := patience(10*time.Minute, whole, "post reply to "+e.Trigger.TS)
	o.Priority = urgency(e.Addressed)
	t.start(o, do.Post, in, func(f workflow.Future) conversation.Event {
		var out activities.ReplyOutput
		if err := f.Get(t.ctx, &out); err != nil {
			workflow.GetLogger(t.ctx).Error("reply not posted", "trigger", e.Trigger.TS, "error", err)
			t.why = reason(err)
			return conversation.Posted{Epoch: e.Epoch, Result: conversation.Failed}
		}
		return conversation.Posted{Epoch: e.Epoch, Result: out.Result}
	})
}

// reason is what an activity said when it failed.
func reason(err error) string {
	if said, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return said.Message()
	}
	return err.Error()
}

// settle records the end of a decision; the conversation does not wait for it.
func (t *talk) settle(e conversation.Settle) {
	ctx := workflow.WithActivityOptions(t.ctx, patience(10*time.Second, time.Hour, "write down: "+string(e.Outcome)))
	in := activities.SettleInput{
		Task: t.task(e.Epoch, e.Trigger), Addressed: e.Addressed, Outcome: e.Outcome, By: e.By,
	}
	if e.Outcome == conversation.Unsent {
		in.By = t.why
	}
	t.loose = append(t.loose, workflow.ExecuteActivity(ctx, do.Settle, in))
}
