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

// path is a path through a workflow, and how to take it.
type path struct {
	name string
	in   chat.Conversation // thread, unless given
	play func(*pathRunner)
	// runs is what the history of each run must contain, in this order.
	runs [][]string
	// never is what no history may contain.
	never []string
	// short makes the server suggest a new run after a few events.
	short bool
	// plain has a server that does not know the search attributes.
	plain bool
}

// pathRunner takes a path on a real server.
type pathRunner struct {
	*server
	c    chat.Conversation
	stop func() // ends the workers
}

// fast is a policy with short waits.
var fast = conversation.Policy{MinWait: 1, MaxWait: 60, MaxDelay: 60, IdleClose: 1}

func (p *pathRunner) says(changes ...conversation.Change) { p.sends(fast, changes...) }

func (p *pathRunner) sends(by conversation.Policy, changes ...conversation.Change) {
	p.t.Helper()
	if err := p.send(p.c, by, changes...); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits until an activity has been called.
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

// judged sets the endings of judgments in order; the last one repeats.
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

// posted has replies posted from the queue.
func (p *pathRunner) posted(ends ...ending[activities.ReplyOutput]) {
	p.atOnce = func(activities.PostInput) (activities.ReplyOutput, error) { return activities.ReplyOutput{}, nil }
	p.post = func(activities.PostInput) ending[activities.ReplyOutput] {
		e := ends[0]
		ends = ends[min(1, len(ends)-1):]
		return e
	}
}

// restart stops the workers and starts others, which replay the history.
func (p *pathRunner) restart(meanwhile func()) {
	p.stop()
	meanwhile()
	worker.PurgeStickyWorkflowCache()
	p.stop = p.startWorkers(worker.Options{})
}

func edited(n int, revision string) conversation.Change {
	return conversation.Change{TS: ts(n), Kind: conversation.Edited, Revision: revision}
}

// hushed is a change by which carol wants no answer to a message.
func hushed(n int) conversation.Change {
	c := change(n, conversation.Hushed)
	c.By = "carol"
	return c
}

var (
	done    = result(conversation.Done)
	refusal = temporal.NewNonRetryableApplicationError("refused", "Final", nil)
	// untilCancelled outlasts the test; shortly is time for another event to come.
	untilCancelled, shortly = time.Minute, 400 * time.Millisecond
)

func failed[T any](err error) ending[T] { return ending[T]{err: err} }

// generation is the newest generation of histories, which has every path. Raise it when the
// workflows change, and run `make histories` to record them next to the old ones.
const generation = 2

// posts are the lines of a history in which something is posted.
var posts = []string{"Post", "PostAtOnce: done"}

var paths = []path{
	{name: "mention", play: func(p *pathRunner) { p.says(addressed(2)) },
		runs:  [][]string{{"started", "signal addressed", "Compose addressed", "Compose: done", "PostAtOnce: done", "timer started", "timer fired", "completed"}},
		never: []string{"Judge", "Settle failed"}},
	{name: "judged-yes", in: topLevel, play: func(p *pathRunner) { p.says(said(2)) },
		runs: [][]string{{"signal said", "timer started", "timer fired", "Judge", "Judge: yes", "Compose", "Compose: done", "PostAtOnce: done", "completed"}}},
	{name: "judged-no", in: topLevel,
		play: func(p *pathRunner) { p.judged(no()); p.says(said(2)) },
		runs: [][]string{{"signal said", "Judge", "Judge: no", "completed"}}, never: []string{"Compose", "Post", "PostAtOnce: done"}},
	{name: "delayed", in: topLevel,
		play: func(p *pathRunner) { p.judged(yes(1)); p.says(said(2)) },
		runs: [][]string{{"Judge: yes, later", "timer started", "timer fired", "Compose", "PostAtOnce: done", "completed"}}},
	{name: "withdrawn-by-a-message", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60), no())
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(said(3))
		},
		runs: [][]string{{"Judge: yes, later", "signal said", "Settle withdrawn", "Judge", "Judge: no", "completed"}}, never: []string{"Compose"}},
	{name: "withdrawn-by-a-deletion", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(deleted(2))
		},
		runs: [][]string{{"Judge: yes, later", "signal deleted", "Settle withdrawn", "completed"}}, never: []string{"Compose"}},
	{name: "hushed", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(hushed(2))
		},
		runs: [][]string{{"Judge: yes, later", "signal hushed", "Settle dropped", "completed"}}, never: []string{"Compose"}},
	{name: "withdrawn-by-a-mention",
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(addressed(3))
		},
		runs: [][]string{{"Judge: yes, later", "signal addressed", "Settle withdrawn", "Compose addressed", "PostAtOnce: done", "completed"}}},
	{name: "judgment-cancelled", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(0).after(untilCancelled), yes(0))
			p.says(said(2))
			p.sees("judge " + ts(2))
			p.says(said(3))
		},
		runs: [][]string{{"Judge", "signal said", "cancels Judge", "Settle withdrawn", "Judge", "Judge: yes", "PostAtOnce: done", "completed"}}},
	{name: "judgment-failed", in: topLevel,
		play: func(p *pathRunner) { p.judged(failed[activities.JudgeOutput](refusal)); p.says(said(2)) },
		runs: [][]string{{"Judge", "Judge: failed", "Settle failed", "completed"}}, never: []string{"Compose"}},
	{name: "notice",
		play: func(p *pathRunner) { p.composed(failed[activities.ReplyOutput](refusal), done); p.says(addressed(2)) },
		runs: [][]string{{"Compose addressed", "Compose: failed", "Compose addressed notice", "Compose: done", "PostAtOnce: done", "completed"}}},
	{name: "notice-failed",
		play: func(p *pathRunner) { p.composed(failed[activities.ReplyOutput](refusal)); p.says(addressed(2)) },
		runs: [][]string{{"Compose: failed", "Compose addressed notice", "Compose: failed", "Settle failed", "completed"}}, never: posts},
	{name: "judged-reply-failed", in: topLevel,
		play: func(p *pathRunner) { p.composed(failed[activities.ReplyOutput](refusal)); p.says(said(2)) },
		runs: [][]string{{"Judge: yes", "Compose", "Compose: failed", "Settle failed", "completed"}}, never: []string{"Compose notice", "Post", "PostAtOnce: done"}},
	{name: "post-failed",
		play: func(p *pathRunner) { p.posted(failed[activities.ReplyOutput](refusal)); p.says(addressed(2)) },
		runs: [][]string{{"Compose: done", "Post", "Post: failed", "Settle failed", "completed"}}},
	{name: "silenced",
		play: func(p *pathRunner) { p.composed(result(conversation.Silenced)); p.says(addressed(2)) },
		runs: [][]string{{"Compose addressed", "Compose: silenced", "completed"}}, never: posts},
	{name: "gone-before-it-was-composed",
		play: func(p *pathRunner) { p.composed(result(conversation.Gone)); p.says(addressed(2)) },
		runs: [][]string{{"Compose: gone", "Settle withdrawn", "completed"}}, never: posts},
	{name: "gone-before-it-was-posted",
		play: func(p *pathRunner) { p.posted(result(conversation.Gone), done); p.says(addressed(2), addressed(3)) },
		runs: [][]string{{"Post: gone", "Compose addressed", "Post: done", "completed"}}},
	{name: "deleted-while-it-was-composed",
		play: func(p *pathRunner) {
			p.composed(done.after(untilCancelled))
			p.says(addressed(2))
			p.sees("compose " + ts(2))
			p.says(deleted(2))
		},
		runs: [][]string{{"Compose addressed", "signal deleted", "cancels Compose", "Settle withdrawn", "completed"}}, never: posts},
	{name: "edited", in: topLevel,
		play: func(p *pathRunner) {
			slowly := conversation.Policy{MinWait: 2, MaxWait: 60, IdleClose: 1}
			p.sends(slowly, said(2))
			pause(1000)
			p.sends(slowly, edited(2, "3.000000"))
		},
		runs: [][]string{{"signal said", "timer started", "signal edited", "timer fired", "timer started", "timer fired", "Judge", "PostAtOnce: done", "completed"}}},
	{name: "edited-into-a-mention",
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 60, MaxWait: 60, IdleClose: 1}, said(2))
			p.is(conversation.Waiting)
			p.says(conversation.Change{TS: ts(2), Kind: conversation.Addressed, Revision: "3.000000"})
		},
		runs: [][]string{{"signal said", "signal addressed", "Compose addressed", "PostAtOnce: done", "timer cancelled", "completed"}}, never: []string{"Judge"}},
	{name: "burst", in: topLevel,
		play: func(p *pathRunner) {
			p.restart(func() {
				for n := range 12 {
					p.says(said(2+n), said(2+n)) // the second of each is a repetition
				}
			})
		},
		runs: [][]string{{"signal said said", "signal said said", "signal said said", "timer started", "Judge", "Judge: yes", "PostAtOnce: done", "completed"}}},
	{name: "mentions-while-answering",
		play: func(p *pathRunner) {
			p.composed(done.after(shortly), done)
			p.says(addressed(2))
			p.sees("compose " + ts(2))
			p.says(said(3), addressed(4))
		},
		runs: [][]string{{"Compose addressed", "signal said addressed", "Compose: done", "PostAtOnce: done", "Compose addressed", "PostAtOnce: done", "completed"}}, never: []string{"Judge"}},
	{name: "said-while-posting",
		play: func(p *pathRunner) {
			p.posted(done.after(shortly), done)
			p.says(addressed(2))
			p.sees("post " + ts(2))
			p.says(said(3))
		},
		runs: [][]string{{"Post", "signal said", "Post: done", "timer started", "Judge", "Post: done", "completed"}}, never: []string{"cancels Post"}},
	{name: "busy-channel", in: topLevel,
		play: func(p *pathRunner) {
			busy := conversation.Policy{MinWait: 1, MaxWait: 2, MaxDelay: 60, IdleClose: 1}
			p.judged(yes(60).after(shortly), no())
			for n := 0; len(p.lines(p.c)) == 0; n++ {
				p.sends(busy, said(2+n))
				pause(300)
			}
			p.sends(busy, said(50)) // does not withdraw a capped judgment
		},
		runs:  [][]string{{"signal said", "signal said", "signal said", "Judge", "signal said", "Judge: yes, later", "Compose", "PostAtOnce: done", "Judge", "Judge: no", "completed"}},
		never: []string{"cancels Judge"}},
	{name: "top-level-mention", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(addressed(3))
		},
		runs: [][]string{{"Judge: yes, later", "signal addressed", "Settle withdrawn", "completed"}}, never: []string{"Compose addressed"}},
	{name: "top-level-mention-beside-a-question", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60), no())
			p.says(said(2))
			p.is(conversation.Delaying)
			p.says(addressed(3))
		},
		runs: [][]string{{"Judge: yes, later", "signal addressed", "Settle withdrawn", "timer started", "timer fired", "Judge", "Judge: no", "completed"}}, never: []string{"Compose"}},
	{name: "looks-in-two-rounds",
		play: func(p *pathRunner) {
			p.composed(looking("a", "b"), looking("c"), done)
			p.says(addressed(2))
		},
		runs: [][]string{{"Compose addressed", "Compose: looking", "Look", "Look", "Look: done", "Look: done", "Compose addressed round 1", "Compose: looking", "Look", "Look: done",
			"Compose addressed round 2", "Compose: done", "PostAtOnce: done", "completed"}}},
	{name: "joined-during-a-look",
		play: func(p *pathRunner) {
			p.composed(looking("a"), done)
			p.look = func(activities.LookInput) ending[any] { return ending[any]{takes: shortly} }
			p.says(byAlice(addressed(2))...)
			p.sees("look a " + ts(2))
			p.says(byAlice(said(3))...)
		},
		runs: [][]string{{"Look", "signal said", "Look: done", "Compose addressed round 1", "Compose: done", "PostAtOnce: done", "completed"}}, never: []string{"Judge"}},
	{name: "withdrawn-during-a-look",
		play: func(p *pathRunner) {
			p.judged(yes(0), no())
			p.composed(looking("a", "b"))
			p.look = func(in activities.LookInput) ending[any] {
				if in.Step == "a" {
					return ending[any]{}
				}
				return ending[any]{takes: untilCancelled}
			}
			p.says(said(2))
			p.sees("look b " + ts(2))
			p.says(said(3))
		},
		runs: [][]string{{"Compose: looking", "Look", "Look", "Look: done", "signal said", "cancels Look", "Settle withdrawn", "Judge", "Judge: no", "completed"}}, never: posts},
	{name: "proposed-and-approved",
		play: func(p *pathRunner) {
			p.posted(proposing("p", 2, time.Now().Add(time.Hour)), done)
			p.says(addressed(2))
			p.sees("post " + ts(2))
			p.is(conversation.Idle)
			p.says(decides(conversation.Approved, 2, "p"))
		},
		runs: [][]string{{"Post: done", "signal approved", "ShowProposal", "Act", "Act: done", "Compose addressed", "Compose: done", "Post: done", "completed"}}},
	{name: "approved-beside-a-withdrawn-reply",
		play: func(p *pathRunner) {
			p.judged(yes(0), no())
			p.composed(done, done.after(untilCancelled), done)
			p.posted(proposing("p", 2, time.Now().Add(time.Hour)), done)
			p.says(addressed(2))
			p.sees("post " + ts(2))
			p.says(said(3))
			p.sees("compose " + ts(3))
			p.says(decides(conversation.Approved, 2, "p"))
			p.sees("act p " + ts(2))
			p.is(conversation.Replying)
			p.says(said(4))
		},
		runs: [][]string{{"signal approved", "Act: done", "signal said", "cancels Compose", "Settle withdrawn", "Compose addressed", "Compose: done", "Post: done", "Judge", "Judge: no", "completed"}}},
	{name: "proposed-and-lapsed",
		play: func(p *pathRunner) {
			p.posted(done)
			p.post = func(activities.PostInput) ending[activities.ReplyOutput] {
				return proposing("p", 2, time.Now().Add(1500*time.Millisecond))
			}
			p.says(addressed(2))
		},
		runs: [][]string{{"Post: done", "continued as new"}, {"continues, idle", "ShowProposal", "completed"}}, never: []string{"Act"}},
	{name: "promised-and-kept",
		play: func(p *pathRunner) {
			p.posted(promising("p", 2, time.Now().Add(1700*time.Millisecond)), done)
			p.says(addressed(2))
		},
		runs: [][]string{{"Post: done", "continued as new"}, {"continues, idle", "timer fired", "CheckPromise", "Compose addressed", "Post: done", "EndPromise", "ShowProposal", "completed"}}},
	{name: "promised-and-settled",
		play: func(p *pathRunner) {
			p.check = func(activities.CheckInput) ending[activities.CheckOutput] {
				return ending[activities.CheckOutput]{out: activities.CheckOutput{Result: conversation.CheckRelease, Verdict: &chat.Verdict{Reason: "settled"}}}
			}
			p.posted(promising("p", 2, time.Now()))
			p.says(addressed(2))
		},
		runs: [][]string{{"Post: done", "CheckPromise", "EndPromise", "completed"}}},
	{name: "promised-and-cancelled",
		play: func(p *pathRunner) {
			p.posted(promising("p", 2, time.Now().Add(time.Hour)))
			p.says(addressed(2))
			p.sees("post " + ts(2))
			p.is(conversation.Idle)
			p.says(decides(conversation.Cancelled, 2, "p"))
		},
		runs: [][]string{{"Post: done", "signal cancelled", "ShowProposal", "completed"}}, never: []string{"CheckPromise"}},
	{name: "stopped",
		play: func(p *pathRunner) {
			p.composed(looking("a"), done)
			p.look = func(activities.LookInput) ending[any] { return ending[any]{takes: untilCancelled} }
			p.says(byAlice(addressed(2))...)
			p.sees("look a " + ts(2))
			stop := said(3)
			stop.Stop = true
			p.says(byAlice(stop)...)
		},
		runs: [][]string{{"Compose: looking", "Look", "signal said", "cancels Look", "Settle dropped", "Compose addressed notice stopped", "Compose: done", "PostAtOnce: done", "completed"}}},
	{name: "stopped-too-late",
		play: func(p *pathRunner) {
			p.posted(done.after(shortly), done)
			p.says(byAlice(addressed(2))...)
			p.sees("post " + ts(2))
			stop := addressed(3)
			stop.Stop, stop.Mention = true, true
			p.says(byAlice(stop)...)
		},
		runs: [][]string{{"Post", "signal addressed", "Post: done", "Compose addressed notice too_late", "Compose: done", "Post: done", "completed"}}, never: []string{"Settle dropped"}},
	{name: "follow-up",
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 60, MaxWait: 60, FollowUpWait: 1, IdleClose: 1},
				conversation.Change{TS: ts(2), Kind: conversation.Said, FollowUp: true})
		},
		runs: [][]string{{"signal said", "timer started", "timer fired", "Judge", "PostAtOnce: done", "completed"}}},
	{name: "answer-now-while-waiting", in: topLevel,
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 60, MaxWait: 60, IdleClose: 1}, said(2))
			p.is(conversation.Waiting)
			p.orders(conversation.UpdateAnswerNow, carol)
		},
		runs: [][]string{{"signal said", "update answer-now", "Compose", "RecordOrder", "PostAtOnce: done", "completed"}}, never: []string{"Judge"}},
	{name: "answer-now-while-judging", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(no().after(untilCancelled))
			p.says(said(2))
			p.sees("judge " + ts(2))
			p.orders(conversation.UpdateAnswerNow, carol)
		},
		runs: [][]string{{"Judge", "update answer-now", "cancels Judge", "Settle overruled", "Compose", "RecordOrder", "PostAtOnce: done", "completed"}}},
	{name: "answer-now-while-delaying", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.orders(conversation.UpdateAnswerNow, carol)
		},
		runs: [][]string{{"Judge: yes, later", "update answer-now", "Compose", "RecordOrder", "PostAtOnce: done", "completed"}}},
	{name: "drop",
		play: func(p *pathRunner) {
			p.composed(done.after(untilCancelled))
			p.says(addressed(2))
			p.sees("compose " + ts(2))
			p.orders(conversation.UpdateDrop, carol)
		},
		runs: [][]string{{"Compose addressed", "update drop", "cancels Compose", "Settle dropped", "RecordOrder", "completed"}}, never: posts},
	{name: "snooze", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(60))
			p.says(said(2))
			p.is(conversation.Delaying)
			p.orders(conversation.UpdateSnooze, conversation.Order{By: "carol", Seconds: 60})
		},
		runs: [][]string{{"Judge: yes, later", "update snooze", "RecordOrder", "RecordOrder: done", "Settle dropped", "completed"}}, never: []string{"Compose"}},
	{name: "mute-and-unmute", in: topLevel,
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 10, MaxWait: 60, IdleClose: 1}, said(2))
			p.is(conversation.Waiting)
			p.orders(conversation.UpdateMute, carol)
			p.says(said(3))
			p.orders(conversation.UpdateUnmute, carol)
		},
		runs: [][]string{{"signal said", "update mute", "RecordOrder: done", "signal said", "update unmute", "RecordOrder: done", "Judge", "completed"}}},
	{name: "mute-in-a-run-of-its-own", in: topLevel,
		play: func(p *pathRunner) { p.orders(conversation.UpdateMute, carol) },
		runs: [][]string{{"started", "update mute", "RecordOrder", "RecordOrder: done", "completed"}}, never: []string{"signal said"}},
	{name: "refused-in-a-run-of-its-own", in: topLevel,
		play: func(p *pathRunner) {
			if err := p.updateWithStart(p.c, conversation.UpdateAnswerNow, carol); err == nil {
				p.t.Error("answer-now was not refused, though nothing was pending")
			}
		},
		runs: [][]string{{"started", "completed"}}, never: []string{"update answer-now", "RecordOrder"}},
	{name: "nothing-of-consequence", in: topLevel,
		play: func(p *pathRunner) { p.says(deleted(2)) },
		runs: [][]string{{"started", "signal deleted", "completed"}}, never: []string{"timer started"}},
	{name: "idle-close-and-again", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(no())
			p.says(said(2))
			p.closed(p.c)
			p.says(said(3))
		},
		runs: [][]string{
			{"started", "Judge: no", "timer started", "timer fired", "completed"},
			{"started", "Judge: no", "timer started", "timer fired", "completed"}}},
	{name: "attempts", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(failed[activities.JudgeOutput](errModel), failed[activities.JudgeOutput](errModel), yes(0))
			p.posted(failed[activities.ReplyOutput](errModel), done)
			p.says(said(2))
		},
		runs: [][]string{{"Judge", "Judge: attempt 3", "Judge: yes", "Compose: done", "Post: attempt 2", "Post: done", "completed"}}},
	{name: "phases", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(1))
			p.says(said(2))
		},
		runs: [][]string{{"signal said", "timer started", "Judge: yes, later", "upserts its phase", "timer started", "Compose", "PostAtOnce: done", "upserts its phase", "completed"}}},
	{name: "without-attributes", in: topLevel, plain: true,
		play:  func(p *pathRunner) { p.says(said(2)) },
		runs:  [][]string{{"signal said", "Judge: yes", "Compose", "PostAtOnce: done", "completed"}},
		never: []string{"upserts its phase"}},
	{name: "at-once",
		play:  func(p *pathRunner) { p.says(addressed(2)) },
		runs:  [][]string{{"signal addressed", "Compose addressed", "Compose: done", "PostAtOnce: done", "completed"}},
		never: []string{"Post"}},
	{name: "at-once-not-posted",
		play: func(p *pathRunner) {
			p.atOnce = func(activities.PostInput) (activities.ReplyOutput, error) { return activities.ReplyOutput{}, nil }
			p.says(addressed(2))
		},
		runs: [][]string{{"Compose addressed", "PostAtOnce: ", "Post", "Post: done", "completed"}}},
	{name: "at-once-failed", in: topLevel,
		play: func(p *pathRunner) {
			p.atOnce = func(activities.PostInput) (activities.ReplyOutput, error) { return activities.ReplyOutput{}, errModel }
			p.says(said(2))
		},
		runs: [][]string{{"Judge: yes", "PostAtOnce: failed", "Post", "Post: done", "completed"}}},
	{name: "workers-restarted", in: topLevel,
		play: func(p *pathRunner) {
			p.judged(yes(3))
			p.sends(conversation.Policy{MinWait: 2, MaxWait: 60, MaxDelay: 60, IdleClose: 1}, said(2))
			p.is(conversation.Waiting)
			p.restart(func() {})
			p.is(conversation.Delaying)
			p.restart(func() {})
		},
		runs: [][]string{{"signal said", "timer started", "Judge: yes, later", "timer started", "Compose", "PostAtOnce: done", "completed"}}},
	{name: "cancelled", in: topLevel,
		play: func(p *pathRunner) {
			p.sends(conversation.Policy{MinWait: 60, MaxWait: 60}, said(2))
			p.is(conversation.Waiting)
			if err := p.client.CancelWorkflow(p.t.Context(), p.c.ID(), ""); err != nil {
				p.t.Fatal(err)
			}
		},
		runs: [][]string{{"signal said", "cancel requested", "RecordOrder: done", "canceled"}}, never: []string{"Judge"}},
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
			{"started", "signal addressed", "Compose addressed", "PostAtOnce: done", "completed"},
			{"started", "signal addressed", "task failed: ResetWorkflow", "Compose addressed", "PostAtOnce: done", "completed"}}},
	{name: "continued-while-waiting", in: topLevel, short: true,
		play: func(p *pathRunner) {
			for n := 0; !p.continued(); n++ {
				p.sends(conversation.Policy{MinWait: 2, MaxWait: 60, IdleClose: 1}, said(2+n))
				pause(20)
			}
		},
		runs: [][]string{
			{"started", "signal said", "signal said", "continued as new"},
			{"continues, waiting", "Judge", "PostAtOnce: done", "completed"}}},
	{name: "continued-between-replies", short: true,
		play: func(p *pathRunner) {
			p.composed(done.after(100 * time.Millisecond))
			for n := 0; !p.continued(); n++ {
				p.says(addressed(2 + n))
				pause(20)
			}
		},
		runs: [][]string{
			{"started", "signal addressed", "Compose addressed", "Compose: done", "continued as new"},
			{"continues, replying", "PostAtOnce: done", "completed"}}},
	{name: "memory",
		play: func(p *pathRunner) {
			p.of = workspace{
				threads:  [][]chat.Scope{threads("C1", "1", "once", "never", "4", "5"), threads("C2", "6")},
				channels: [][]chat.Scope{channels("C1", "C2")},
			}
			p.begin("memory", Memory, MemoryInput{MaxConcurrent: 4})
		},
		runs: [][]string{{"FindScopes", "Remember", "Remember", "Remember: failed", "FindScopes", "Remember", "FindScopes", "Remember: done", "completed"}}},
	{name: "memory-with-nothing-new",
		play: func(p *pathRunner) { p.begin("memory", Memory, MemoryInput{MaxConcurrent: 4}) },
		runs: [][]string{{"FindScopes", "FindScopes: done", "FindScopes", "FindScopes: done", "Remember", "Remember: done", "completed"}}},
	{name: "memory-failed",
		play: func(p *pathRunner) {
			p.of = workspace{fails: refuses("survey channels")}
			p.begin("memory", Memory, MemoryInput{MaxConcurrent: 4})
		},
		runs: [][]string{{"FindScopes: done", "FindScopes", "FindScopes: failed", "failed"}}},
	{name: "memory-cancelled",
		play: func(p *pathRunner) {
			p.of = workspace{threads: [][]chat.Scope{threads("C1", "1", "endless", "3", "4", "5", "6")}}
			run := p.begin("memory", Memory, MemoryInput{MaxConcurrent: 4})
			p.cancelAfter(run, "Remember: done")
		},
		runs: [][]string{{"Remember", "cancel requested", "cancels Remember", "canceled"}}},
	{name: "memory-continued", short: true,
		play: func(p *pathRunner) {
			p.of = workspace{
				threads:  [][]chat.Scope{threads("C1", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"), threads("C2", "1", "2")},
				channels: [][]chat.Scope{channels("C1")},
			}
			p.begin("memory", Memory, MemoryInput{MaxConcurrent: 4})
		},
		runs: [][]string{{"started", "Remember: done", "continued as new"}, {"continues", "FindScopes", "Remember: done", "completed"}}},
	{name: "catch-up-without-a-gap",
		play:  func(p *pathRunner) { p.begin("catch-up", CatchUp, CatchUpInput{PauseSeconds: 1}) },
		runs:  [][]string{{"FindGap", "FindGap: done", "completed"}},
		never: []string{"SyncChannels", "ListUnread", "CatchUp"}},
	{name: "catch-up",
		play: func(p *pathRunner) {
			p.of = workspace{members: []string{"C1", "C2", "C3"}, gap: &gap{}, fails: refuses("catch up C2")}
			p.begin("catch-up", CatchUp, CatchUpInput{PauseSeconds: 1})
		},
		runs: [][]string{{"FindGap", "SyncChannels", "ListUnread", "CatchUp", "CatchUp: failed", "ListUnread: done", "completed"}}},
	{name: "catch-up-cancelled",
		play: func(p *pathRunner) {
			p.of = workspace{members: []string{"C1", "C2", "C3"}, gap: &gap{}, fails: func(what string, _ int) error {
				if strings.HasPrefix(what, "catch up") {
					return errModel
				}
				return nil
			}}
			run := p.begin("catch-up", CatchUp, CatchUpInput{})
			p.cancelAfter(run, "CatchUp")
		},
		runs: [][]string{{"FindGap", "CatchUp", "cancel requested", "cancels CatchUp", "canceled"}}},
	{name: "catch-up-continued",
		play: func(p *pathRunner) {
			var many []string
			for n := range channelsPerRun + 1 {
				many = append(many, ts(n))
			}
			p.of = workspace{members: many, gap: &gap{}}
			p.begin("catch-up", CatchUp, CatchUpInput{})
		},
		runs: [][]string{{"started", "FindGap", "CatchUp", "ListUnread", "CatchUp", "continued as new"}, {"continues", "ListUnread", "CatchUp: done", "ListUnread: done", "completed"}}},
	{name: "catch-up-all",
		play: func(p *pathRunner) {
			p.of = workspace{members: []string{"C1", "C2", "C3", "C4"}, fails: refuses("catch up C3")}
			p.begin("catch-up", CatchUpAll, CatchUpAllInput{})
		},
		runs:  [][]string{{"SyncChannels", "ListChannels", "CatchUp", "CatchUp", "CatchUp: done", "CatchUp: failed", "completed"}},
		never: []string{"Judge"}},
	{name: "catch-up-all-without-the-listing",
		play: func(p *pathRunner) {
			p.of = workspace{members: []string{"C1"}, fails: refuses("sync")}
			p.begin("catch-up", CatchUpAll, CatchUpAllInput{})
		},
		runs: [][]string{{"SyncChannels: failed", "ListChannels", "CatchUp", "CatchUp: done", "completed"}}},
	{name: "catch-up-all-failed",
		play: func(p *pathRunner) {
			p.of = workspace{fails: refuses("channels")}
			p.begin("catch-up", CatchUpAll, CatchUpAllInput{})
		},
		runs: [][]string{{"ListChannels", "ListChannels: failed", "failed"}}},
	{name: "catch-up-all-cancelled",
		play: func(p *pathRunner) {
			p.of = workspace{members: []string{"C1", "C2", "C3"}, fails: func(what string, _ int) error {
				if strings.HasPrefix(what, "catch up") {
					return errModel
				}
				return nil
			}}
			run := p.begin("catch-up", CatchUpAll, CatchUpAllInput{})
			p.cancelAfter(run, "CatchUp")
		},
		runs: [][]string{{"CatchUp", "CatchUp", "cancel requested", "cancels CatchUp", "canceled"}}},
	{name: "catch-up-all-continued",
		play: func(p *pathRunner) {
			var many []string
			for n := range channelsPerRun + 1 {
				many = append(many, ts(n))
			}
			p.of = workspace{members: many}
			p.begin("catch-up", CatchUpAll, CatchUpAllInput{})
		},
		runs: [][]string{{"started", "ListChannels", "CatchUp", "continued as new"}, {"continues", "CatchUp: done", "completed"}}},
	{name: "channel-sync",
		play: func(p *pathRunner) { p.begin("channel-sync", ChannelSync, Of{}) },
		runs: [][]string{{"SyncChannels", "SyncChannels: done", "completed"}}},
	{name: "channel-sync-failed",
		play: func(p *pathRunner) {
			p.of = workspace{fails: refuses("sync")}
			p.begin("channel-sync", ChannelSync, Of{})
		},
		runs: [][]string{{"SyncChannels", "SyncChannels: failed", "failed"}}},
	{name: "channel-sync-cancelled",
		play: func(p *pathRunner) {
			p.of = workspace{fails: func(string, int) error { return errModel }}
			run := p.begin("channel-sync", ChannelSync, Of{})
			p.cancelAfter(run, "SyncChannels")
		},
		runs: [][]string{{"SyncChannels", "cancel requested", "cancels SyncChannels", "canceled"}}},
	{name: "retention",
		play: func(p *pathRunner) { p.begin("retention", Retention, Of{}) },
		runs: [][]string{{"Prune", "Prune: done", "completed"}}},
	{name: "hindsight",
		play: func(p *pathRunner) { p.begin("hindsight", Hindsight, Of{}) },
		runs: [][]string{{"LabelDecisions", "LabelDecisions: done", "completed"}}},
	{name: "forget-person",
		play: func(p *pathRunner) { p.begin("forget-person", ForgetPerson, chat.Person{Team: "T1", User: "U1"}) },
		runs: [][]string{{"ForgetPerson", "ForgetPerson: done", "timer started", "timer fired", "ForgetPerson", "ForgetPerson: done", "TellForgotten", "TellForgotten: done", "completed"}}},
	{name: "forget-person-failed",
		play: func(p *pathRunner) {
			p.of = workspace{fails: refuses("forget")}
			p.begin("forget-person", ForgetPerson, chat.Person{Team: "T1", User: "U1"})
		},
		runs: [][]string{{"ForgetPerson", "ForgetPerson: failed", "failed"}}},
	{name: "retention-failed",
		play: func(p *pathRunner) {
			p.of = workspace{fails: refuses("prune")}
			p.begin("retention", Retention, Of{})
		},
		runs: [][]string{{"Prune", "Prune: failed", "failed"}}},
	{name: "retention-cancelled",
		play: func(p *pathRunner) {
			p.of = workspace{fails: func(string, int) error { return errModel }}
			run := p.begin("retention", Retention, Of{})
			p.cancelAfter(run, "Prune")
		},
		runs: [][]string{{"Prune", "cancel requested", "cancels Prune", "canceled"}}},
}

// cancelAfter cancels a run once its history has a line.
func (p *pathRunner) cancelAfter(run client.WorkflowRun, line string) {
	p.t.Helper()
	p.await(line, func() bool { return slices.Contains(summary(p.t, p.history(run.GetID(), run.GetRunID())), line) })
	if err := p.client.CancelWorkflow(p.t.Context(), run.GetID(), ""); err != nil {
		p.t.Fatal(err)
	}
}

// continued reports whether the conversation has left its first run.
func (p *pathRunner) continued() bool {
	p.t.Helper()
	d, err := p.client.DescribeWorkflowExecution(p.t.Context(), p.c.ID(), "")
	if err != nil {
		return false // it has not started
	}
	info := d.GetWorkflowExecutionInfo()
	return info.GetFirstRunId() != info.GetExecution().GetRunId()
}
