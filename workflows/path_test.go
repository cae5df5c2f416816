package workflows

import (
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/conversation"
)

// path is a way that a workflow can go, and how to make it go that way.
type path struct {
	name string
	in   chat.Conversation  // thread, unless given
	with conversation.Input // server.with
	play func(*pathRunner)
	// runs is what the history of each of its runs has to tell, in this order.
	runs [][]string
	// never is what none of them may tell.
	never []string
	// short: the server asks for a new run after a few events.
	short bool
}

// player acts out a path on a real server.
type pathRunner struct {
	*server
	c    chat.Conversation
	stop func() // ends the workers
}

// briskly is the default policy, for those who have no time.
var fast = conversation.Policy{MinWait: 1, MaxWait: 60, MaxDelay: 60, IdleClose: 1}

func (p *pathRunner) says(changes ...conversation.Change) { p.sends(fast, changes...) }

func (p *pathRunner) sends(by conversation.Policy, changes ...conversation.Change) {
	p.t.Helper()
	if err := p.send(p.c, by, changes...); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits until an activity has been asked for something.
func (p *pathRunner) sees(line string) {
	p.t.Helper()
	if err := p.awaitLine(p.c.ID() + " " + line); err != nil {
		p.t.Fatal(err)
	}
}

// is waits until the conversation is in a phase.
func (p *pathRunner) is(phase conversation.Phase) {
	p.t.Helper()
	p.await("the phase "+string(phase), func() bool {
		var state conversation.State
		value, err := p.client.QueryWorkflow(p.t.Context(), p.c.ID(), "", conversation.QueryName)
		return err == nil && value.Get(&state) == nil && state.Phase == phase
	})
}

func (p *pathRunner) orders(name string, o conversation.Order) {
	p.t.Helper()
	if err := p.updateWithStart(p.c, name, o); err != nil {
		p.t.Fatal(err)
	}
}

// judged has judgments end in one way, and one after the other if there are several.
func (p *pathRunner) judged(ends ...ending[activities.JudgeOutput]) {
	p.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] {
		e := ends[0]
		ends = ends[min(1, len(ends)-1):]
		return e
	}
}

func (p *pathRunner) composed(ends ...ending[activities.ReplyOutput]) {
	p.compose = func(activities.ComposeInput) ending[activities.ReplyOutput] {
		e := ends[0]
		ends = ends[min(1, len(ends)-1):]
		return e
	}
}

func (p *pathRunner) posted(ends ...ending[activities.ReplyOutput]) {
	p.post = func(activities.PostInput) ending[activities.ReplyOutput] {
		e := ends[0]
		ends = ends[min(1, len(ends)-1):]
		return e
	}
}

// restart ends the workers, and has others read what happened from the history.
func (p *pathRunner) restart(meanwhile func()) {
	p.stop()
	meanwhile()
	worker.PurgeStickyWorkflowCache()
	p.stop = p.work(worker.Options{})
}

func edited(n int, revision string) conversation.Change {
	return conversation.Change{TS: ts(n), Kind: conversation.Edited, Revision: revision}
}

// hushed is a message that carol wants no answer to.
func hushed(n int) conversation.Change {
	c := change(n, conversation.Hushed)
	c.By = "carol"
	return c
}

var (
	done    = result(conversation.Done)
	refusal = temporal.NewNonRetryableApplicationError("refused", "Final", nil)
	// long is until it is called back, and while is time for something to come.
	long, while = time.Minute, 400 * time.Millisecond
)

func failed[T any](err error) ending[T] { return ending[T]{err: err} }

// generation is that of the histories which have every path. Raise it when the
// workflows are changed, and have `make histories` record them beside the old ones.
const generation = 1

var paths = []path{
	{name: "mention", play: func(p *pathRunner) { p.says(addressed(2)) },
		runs:  [][]string{{"starts", "hears addressed", "Compose addressed", "Compose: done", "Post", "Post: done", "sets a timer", "the timer fires", "completes"}},
		never: []string{"Judge", "Settle failed"}},
	{name: "judged-yes", in: topLevel, play: func(p *pathRunner) { p.says(said(2)) },
		runs: [][]string{{"hears said", "sets a timer", "the timer fires", "Judge", "Judge: yes", "Compose", "Compose: done", "Post", "Post: done", "completes"}}},
	{name: "judged-no", in: topLevel,
		play: func(p *pathRunner) { p.judged(no()); p.says(said(2)) },
		runs: [][]string{{"hears said", "Judge", "Judge: no", "completes"}}, never: []string{"Compose", "Post"}},
	{name: "held-back", in: topLevel,
		play: func(p *pathRunner) { p.judged(yes(1)); p.says(said(2)) },
		runs: [][]string{{"Judge: yes, later", "sets a timer", "the timer fires", "Compose", "Post: done", "completes"}}},
	{name: "withdrawn-by-a-message", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60), no())
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(said(3))
		},
		runs: [][]string{{"Judge: yes, later", "hears said", "Settle withdrawn", "Judge", "Judge: no", "completes"}}, never: []string{"Compose"}},
	{name: "withdrawn-by-a-deletion", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(deleted(2))
		},
		runs: [][]string{{"Judge: yes, later", "hears deleted", "Settle withdrawn", "completes"}}, never: []string{"Compose"}},
	{name: "hushed", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(hushed(2))
		},
		runs: [][]string{{"Judge: yes, later", "hears hushed", "Settle dropped", "completes"}}, never: []string{"Compose"}},
	{name: "withdrawn-by-a-mention",
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(addressed(3))
		},
		runs: [][]string{{"Judge: yes, later", "hears addressed", "Settle withdrawn", "Compose addressed", "Post: done", "completes"}}},
	{name: "judgment-called-back", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(0).after(long), yes(0))
			p.says(said(2))
			p.sees("judge " + ts(2))
			p.says(said(3))
		},
		runs: [][]string{{"Judge", "hears said", "calls back Judge", "Settle withdrawn", "Judge", "Judge: yes", "Post: done", "completes"}}},
	{name: "judgment-failed", in: topLevel,
		play: func(p *pathRunner) { p.judged(failed[activities.JudgeOutput](refusal)); p.says(said(2)) },
		runs: [][]string{{"Judge", "Judge: failed", "Settle failed", "completes"}}, never: []string{"Compose"}},
	{name: "notice",
		play: func(p *pathRunner) { p.composed(failed[activities.ReplyOutput](refusal), done); p.says(addressed(2)) },
		runs: [][]string{{"Compose addressed", "Compose: failed", "Compose addressed notice", "Compose: done", "Post", "Post: done", "completes"}}},
	{name: "notice-failed",
		play: func(p *pathRunner) { p.composed(failed[activities.ReplyOutput](refusal)); p.says(addressed(2)) },
		runs: [][]string{{"Compose: failed", "Compose addressed notice", "Compose: failed", "Settle failed", "completes"}}, never: []string{"Post"}},
	{name: "judged-reply-failed", in: topLevel,
		play: func(p *pathRunner) { p.composed(failed[activities.ReplyOutput](refusal)); p.says(said(2)) },
		runs: [][]string{{"Judge: yes", "Compose", "Compose: failed", "Settle failed", "completes"}}, never: []string{"Compose notice", "Post"}},
	{name: "post-failed",
		play: func(p *pathRunner) { p.posted(failed[activities.ReplyOutput](refusal)); p.says(addressed(2)) },
		runs: [][]string{{"Compose: done", "Post", "Post: failed", "Settle failed", "completes"}}},
	{name: "silenced",
		play: func(p *pathRunner) { p.composed(result(conversation.Silenced)); p.says(addressed(2)) },
		runs: [][]string{{"Compose addressed", "Compose: silenced", "completes"}}, never: []string{"Post"}},
	{name: "gone-before-it-was-composed",
		play: func(p *pathRunner) { p.composed(result(conversation.Gone)); p.says(addressed(2)) },
		runs: [][]string{{"Compose: gone", "Settle withdrawn", "completes"}}, never: []string{"Post"}},
	{name: "gone-before-it-was-posted",
		play: func(p *pathRunner) { p.posted(result(conversation.Gone), done); p.says(addressed(2), addressed(3)) },
		runs: [][]string{{"Post: gone", "Compose addressed", "Post: done", "completes"}}},
	{name: "deleted-while-it-was-composed",
		play: func(p *pathRunner) {
			p.composed(done.after(long))
			p.says(addressed(2))
			p.sees("compose " + ts(2))
			p.says(deleted(2))
		},
		runs: [][]string{{"Compose addressed", "hears deleted", "calls back Compose", "Settle withdrawn", "completes"}}, never: []string{"Post"}},
	{name: "edited", in: topLevel,
		play: func(p *pathRunner) {
			slowly := conversation.Policy{MinWait: 2, MaxWait: 60, IdleClose: 1}
			p.sends(slowly, said(2))
			pause(1000)
			p.sends(slowly, edited(2, "3.000000"))
		},
		runs: [][]string{{"hears said", "sets a timer", "hears edited", "the timer fires", "sets a timer", "the timer fires", "Judge", "Post: done", "completes"}}},
	{name: "edited-into-a-mention",
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 60, MaxWait: 60, IdleClose: 1}, said(2))
			p.is(conversation.Waiting)
			p.says(conversation.Change{TS: ts(2), Kind: conversation.Addressed, Revision: "3.000000"})
		},
		runs: [][]string{{"hears said", "hears addressed", "Compose addressed", "Post: done", "takes the timer back", "completes"}}, never: []string{"Judge"}},
	{name: "burst", in: topLevel,
		play: func(p *pathRunner) {
			p.restart(func() {
				for n := range 12 {
					p.says(said(2+n), said(2+n)) // the second of each is a repetition
				}
			})
		},
		runs: [][]string{{"hears said said", "hears said said", "hears said said", "sets a timer", "Judge", "Judge: yes", "Post: done", "completes"}}},
	{name: "mentions-while-answering",
		play: func(p *pathRunner) {
			p.composed(done.after(while), done)
			p.says(addressed(2))
			p.sees("compose " + ts(2))
			p.says(said(3), addressed(4))
		},
		runs: [][]string{{"Compose addressed", "hears said addressed", "Compose: done", "Post: done", "Compose addressed", "Post: done", "completes"}}, never: []string{"Judge"}},
	{name: "said-while-posting",
		play: func(p *pathRunner) {
			p.posted(done.after(while), done)
			p.says(addressed(2))
			p.sees("post " + ts(2))
			p.says(said(3))
		},
		runs: [][]string{{"Post", "hears said", "Post: done", "sets a timer", "Judge", "Post: done", "completes"}}, never: []string{"calls back Post"}},
	{name: "busy-channel", in: topLevel,
		play: func(p *pathRunner) {
			busy := conversation.Policy{MinWait: 1, MaxWait: 2, MaxDelay: 60, IdleClose: 1}
			p.judged(yes(60).after(while), no())
			for n := 0; len(p.lines(p.c)) == 0; n++ {
				p.sends(busy, said(2+n))
				pause(300)
			}
			p.sends(busy, said(50)) // which does not call a judgment back that is late
		},
		runs:  [][]string{{"hears said", "hears said", "hears said", "Judge", "hears said", "Judge: yes, later", "Compose", "Post: done", "Judge", "Judge: no", "completes"}},
		never: []string{"calls back Judge"}},
	{name: "top-level-mention", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(addressed(3))
		},
		runs: [][]string{{"Judge: yes, later", "hears addressed", "Settle withdrawn", "completes"}}, never: []string{"Compose addressed"}},
	{name: "follow-up",
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 60, MaxWait: 60, FollowUpWait: 1, IdleClose: 1},
				conversation.Change{TS: ts(2), Kind: conversation.Said, FollowUp: true})
		},
		runs: [][]string{{"hears said", "sets a timer", "the timer fires", "Judge", "Post: done", "completes"}}},
	{name: "answer-now-while-waiting", in: topLevel,
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 60, MaxWait: 60, IdleClose: 1}, said(2))
			p.is(conversation.Waiting)
			p.orders(conversation.UpdateAnswerNow, carol)
		},
		runs: [][]string{{"hears said", "order answer-now", "Compose", "Order: done", "Post: done", "completes"}}, never: []string{"Judge"}},
	{name: "answer-now-while-judging", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(no().after(long))
			p.says(said(2))
			p.sees("judge " + ts(2))
			p.orders(conversation.UpdateAnswerNow, carol)
		},
		runs: [][]string{{"Judge", "order answer-now", "calls back Judge", "Settle overruled", "Compose", "Order: done", "Post: done", "completes"}}},
	{name: "answer-now-while-held-back", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.orders(conversation.UpdateAnswerNow, carol)
		},
		runs: [][]string{{"Judge: yes, later", "order answer-now", "Compose", "Order: done", "Post: done", "completes"}}},
	{name: "drop",
		play: func(p *pathRunner) {
			p.composed(done.after(long))
			p.says(addressed(2))
			p.sees("compose " + ts(2))
			p.orders(conversation.UpdateDrop, carol)
		},
		runs: [][]string{{"Compose addressed", "order drop", "calls back Compose", "Settle dropped", "Order", "completes"}}, never: []string{"Post"}},
	{name: "snooze", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.orders(conversation.UpdateSnooze, conversation.Order{By: "carol", Seconds: 60})
		},
		runs: [][]string{{"Judge: yes, later", "order snooze", "Order", "Order: done", "Settle dropped", "completes"}}, never: []string{"Compose"}},
	{name: "mute-and-unmute", in: topLevel,
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 10, MaxWait: 60, IdleClose: 1}, said(2))
			p.is(conversation.Waiting)
			p.orders(conversation.UpdateMute, carol)
			p.says(said(3))
			p.orders(conversation.UpdateUnmute, carol)
		},
		runs: [][]string{{"hears said", "order mute", "Order: done", "hears said", "order unmute", "Order: done", "Judge", "completes"}}},
	{name: "mute-in-a-run-of-its-own", in: topLevel,
		play: func(p *pathRunner) { p.orders(conversation.UpdateMute, carol) },
		runs: [][]string{{"starts", "order mute", "Order", "Order: done", "completes"}}, never: []string{"hears said"}},
	{name: "refused-in-a-run-of-its-own", in: topLevel,
		play: func(p *pathRunner) {
			if err := p.updateWithStart(p.c, conversation.UpdateAnswerNow, carol); err == nil {
				p.t.Error("an answer to nothing was not refused")
			}
		},
		runs: [][]string{{"starts", "completes"}}, never: []string{"order answer-now", "Order"}},
	{name: "nothing-of-consequence", in: topLevel,
		play: func(p *pathRunner) { p.says(deleted(2)) },
		runs: [][]string{{"starts", "hears deleted", "completes"}}, never: []string{"sets a timer"}},
	{name: "idle-close-and-again", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(no())
			p.says(said(2))
			p.closed(p.c)
			p.says(said(3))
		},
		runs: [][]string{
			{"starts", "Judge: no", "sets a timer", "the timer fires", "completes"},
			{"starts", "Judge: no", "sets a timer", "the timer fires", "completes"}}},
	{name: "attempts", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(failed[activities.JudgeOutput](errModel), failed[activities.JudgeOutput](errModel), yes(0))
			p.posted(failed[activities.ReplyOutput](errModel), done)
			p.says(said(2))
		},
		runs: [][]string{{"Judge", "Judge: attempt 3", "Judge: yes", "Compose: done", "Post: attempt 2", "Post: done", "completes"}}},
	{name: "attributes", in: topLevel, with: conversation.Input{Attributes: true},
		play: func(p *pathRunner) { p.says(said(2)) },
		runs: [][]string{{"hears said", "sets a timer", "Judge", "shows its phase", "Post: done", "shows its phase", "completes"}}},
	{name: "lasting-phases", in: topLevel, with: conversation.Input{Attributes: true, LastingPhases: true},
		play: func(p *pathRunner) {
			p.judged(yes(1))
			p.says(said(2))
		},
		runs: [][]string{{"hears said", "sets a timer", "Judge: yes, later", "shows its phase", "sets a timer", "Compose", "Post: done", "shows its phase", "completes"}}},
	{name: "at-once", with: conversation.Input{PostsAtOnce: true},
		play:  func(p *pathRunner) { p.says(addressed(2)) },
		runs:  [][]string{{"hears addressed", "Compose addressed", "Compose: done", "PostAtOnce: done", "completes"}},
		never: []string{"Post"}},
	{name: "at-once-in-vain", with: conversation.Input{PostsAtOnce: true},
		play: func(p *pathRunner) {
			p.atOnce = func(activities.PostInput) (activities.ReplyOutput, error) { return activities.ReplyOutput{}, nil }
			p.says(addressed(2))
		},
		runs: [][]string{{"Compose addressed", "PostAtOnce: ", "Post", "Post: done", "completes"}}},
	{name: "at-once-failed", in: topLevel, with: conversation.Input{PostsAtOnce: true},
		play: func(p *pathRunner) {
			p.atOnce = func(activities.PostInput) (activities.ReplyOutput, error) { return activities.ReplyOutput{}, errModel }
			p.says(said(2))
		},
		runs: [][]string{{"Judge: yes", "PostAtOnce: failed", "Post", "Post: done", "completes"}}},
	{name: "workers-restarted", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(3))
			p.sends(conversation.Policy{MinWait: 2, MaxWait: 60, MaxDelay: 60, IdleClose: 1}, said(2))
			p.is(conversation.Waiting)
			p.restart(func() {})
			p.is(conversation.Delaying)
			p.restart(func() {})
		},
		runs: [][]string{{"hears said", "sets a timer", "Judge: yes, later", "sets a timer", "Compose", "Post: done", "completes"}}},
	{name: "called-off", in: topLevel,
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 60, MaxWait: 60}, said(2))
			p.is(conversation.Waiting)
			if err := p.client.CancelWorkflow(p.t.Context(), p.c.ID(), ""); err != nil {
				p.t.Fatal(err)
			}
		},
		runs: [][]string{{"hears said", "is called off", "Order: done", "ends as canceled"}}, never: []string{"Judge"}},
	{name: "reset",
		play: func(p *pathRunner) {
			p.says(addressed(2))
			p.closed(p.c)
			if _, err := p.client.ResetWorkflowExecution(p.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
				Namespace: p.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: p.c.ID()},
				Reason: "to see it again", WorkflowTaskFinishEventId: 5, RequestId: "reset",
			}); err != nil {
				p.t.Fatal(err)
			}
		},
		runs: [][]string{
			{"starts", "hears addressed", "Compose addressed", "Post: done", "completes"},
			{"starts", "hears addressed", "a task fails: ResetWorkflow", "Compose addressed", "Post: done", "completes"}}},
	{name: "continued-while-waiting", in: topLevel, short: true,
		play: func(p *pathRunner) {
			for n := 0; !p.continued(); n++ {
				p.sends(conversation.Policy{MinWait: 2, MaxWait: 60, IdleClose: 1}, said(2+n))
				pause(20)
			}
		},
		runs: [][]string{
			{"starts", "hears said", "hears said", "hands over"},
			{"takes over, waiting", "Judge", "Post: done", "completes"}}},
	{name: "continued-between-replies", short: true,
		play: func(p *pathRunner) {
			p.composed(done.after(100 * time.Millisecond))
			for n := 0; !p.continued(); n++ {
				p.says(addressed(2 + n))
				pause(20)
			}
		},
		runs: [][]string{
			{"starts", "hears addressed", "Compose addressed", "Compose: done", "hands over"},
			{"takes over, replying", "Post: done", "completes"}}},
	{name: "memory",
		play: func(p *pathRunner) {
			p.of = workspace{
				threads:  [][]chat.Scope{threads("C1", "1", "once", "never", "4", "5"), threads("C2", "6")},
				channels: [][]chat.Scope{channels("C1", "C2")},
			}
			p.begin("memory", Memory, MemoryInput{})
		},
		runs: [][]string{{"Survey", "Remember", "Remember", "Remember: failed", "Survey", "Remember", "Survey", "Remember: done", "completes"}}},
	{name: "memory-with-nothing-new",
		play: func(p *pathRunner) { p.begin("memory", Memory, MemoryInput{}) },
		runs: [][]string{{"Survey", "Survey: done", "Survey", "Survey: done", "Remember", "Remember: done", "completes"}}},
	{name: "memory-failed",
		play: func(p *pathRunner) {
			p.of = workspace{fails: refuses("survey channels")}
			p.begin("memory", Memory, MemoryInput{})
		},
		runs: [][]string{{"Survey: done", "Survey", "Survey: failed", "ends as failed"}}},
	{name: "memory-called-off",
		play: func(p *pathRunner) {
			p.of = workspace{threads: [][]chat.Scope{threads("C1", "1", "endless", "3", "4", "5", "6")}}
			run := p.begin("memory", Memory, MemoryInput{})
			p.cancelAfter(run, "Remember: done")
		},
		runs: [][]string{{"Remember", "is called off", "calls back Remember", "ends as canceled"}}},
	{name: "memory-continued", short: true,
		play: func(p *pathRunner) {
			p.of = workspace{
				threads:  [][]chat.Scope{threads("C1", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"), threads("C2", "1", "2")},
				channels: [][]chat.Scope{channels("C1")},
			}
			p.begin("memory", Memory, MemoryInput{})
		},
		runs: [][]string{{"starts", "Remember: done", "hands over"}, {"takes over", "Survey", "Remember: done", "completes"}}},
	{name: "catch-up",
		play: func(p *pathRunner) {
			p.of = workspace{members: []string{"C1", "C2", "C3", "C4"}, fails: refuses("catch up C3")}
			p.begin("catch-up", CatchUp, CatchUpInput{Start: true})
		},
		runs:  [][]string{{"SyncChannels", "Channels", "CatchUp", "CatchUp", "CatchUp: done", "CatchUp: failed", "completes"}},
		never: []string{"Judge"}},
	{name: "catch-up-together",
		play: func(p *pathRunner) {
			p.of = workspace{members: []string{"C1", "C2", "C3", "C4"}, fails: refuses("catch up C3")}
			p.begin("catch-up", CatchUp, CatchUpInput{PauseSeconds: 1})
		},
		runs:  [][]string{{"Channels", "CatchUp", "CatchUp: done", "CatchUp", "CatchUp: failed", "completes"}},
		never: []string{"SyncChannels"}},
	{name: "catch-up-without-the-listing",
		play: func(p *pathRunner) {
			p.of = workspace{members: []string{"C1"}, fails: refuses("sync")}
			p.begin("catch-up", CatchUp, CatchUpInput{Start: true})
		},
		runs: [][]string{{"SyncChannels: failed", "Channels", "CatchUp", "CatchUp: done", "completes"}}},
	{name: "catch-up-failed",
		play: func(p *pathRunner) {
			p.of = workspace{fails: refuses("channels")}
			p.begin("catch-up", CatchUp, CatchUpInput{})
		},
		runs: [][]string{{"Channels", "Channels: failed", "ends as failed"}}, never: []string{"SyncChannels"}},
	{name: "catch-up-called-off",
		play: func(p *pathRunner) {
			p.of = workspace{members: []string{"C1", "C2", "C3"}, fails: func(what string, _ int) error {
				if strings.HasPrefix(what, "catch up") {
					return errModel
				}
				return nil
			}}
			run := p.begin("catch-up", CatchUp, CatchUpInput{Start: true})
			p.cancelAfter(run, "CatchUp")
		},
		runs: [][]string{{"CatchUp", "CatchUp", "is called off", "calls back CatchUp", "ends as canceled"}}},
	{name: "catch-up-continued",
		play: func(p *pathRunner) {
			var many []string
			for n := range channelsInPart + 1 {
				many = append(many, ts(n))
			}
			p.of = workspace{members: many}
			p.begin("catch-up", CatchUp, CatchUpInput{})
		},
		runs: [][]string{{"starts", "Channels", "CatchUp", "hands over"}, {"takes over", "CatchUp: done", "completes"}}},
	{name: "channel-sync",
		play: func(p *pathRunner) { p.begin("channel-sync", ChannelSync) },
		runs: [][]string{{"SyncChannels", "SyncChannels: done", "completes"}}},
	{name: "channel-sync-failed",
		play: func(p *pathRunner) {
			p.of = workspace{fails: refuses("sync")}
			p.begin("channel-sync", ChannelSync)
		},
		runs: [][]string{{"SyncChannels", "SyncChannels: failed", "ends as failed"}}},
	{name: "channel-sync-called-off",
		play: func(p *pathRunner) {
			p.of = workspace{fails: func(string, int) error { return errModel }}
			run := p.begin("channel-sync", ChannelSync)
			p.cancelAfter(run, "SyncChannels")
		},
		runs: [][]string{{"SyncChannels", "is called off", "calls back SyncChannels", "ends as canceled"}}},
	{name: "retention",
		play: func(p *pathRunner) { p.begin("retention", Retention) },
		runs: [][]string{{"Prune", "Prune: done", "completes"}}},
	{name: "retention-failed",
		play: func(p *pathRunner) {
			p.of = workspace{fails: refuses("prune")}
			p.begin("retention", Retention)
		},
		runs: [][]string{{"Prune", "Prune: failed", "ends as failed"}}},
	{name: "retention-called-off",
		play: func(p *pathRunner) {
			p.of = workspace{fails: func(string, int) error { return errModel }}
			run := p.begin("retention", Retention)
			p.cancelAfter(run, "Prune")
		},
		runs: [][]string{{"Prune", "is called off", "calls back Prune", "ends as canceled"}}},
}

// calledOff cancels a run once its history tells something.
func (p *pathRunner) cancelAfter(run client.WorkflowRun, told string) {
	p.t.Helper()
	p.await(told, func() bool { return slices.Contains(summary(p.t, p.history(run.GetID(), run.GetRunID())), told) })
	if err := p.client.CancelWorkflow(p.t.Context(), run.GetID(), ""); err != nil {
		p.t.Fatal(err)
	}
}

// handedOver reports whether the conversation is not in its first run any more.
func (p *pathRunner) continued() bool {
	p.t.Helper()
	d, err := p.client.DescribeWorkflowExecution(p.t.Context(), p.c.ID(), "")
	if err != nil {
		return false // it has not begun
	}
	info := d.GetWorkflowExecutionInfo()
	return info.GetFirstRunId() != info.GetExecution().GetRunId()
}
