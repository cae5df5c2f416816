package conversation

import "myao/internal/chat"

// Event is something that happened to the conversation: changes, passing time, the result
// of an effect, or an operator's order.
type Event interface{ event() }

// Changes are message changes that came together.
type Changes []Change

// Tick says that time has passed; State.NextTick tells when one is due.
type Tick struct{}

// Judged is the result of a Judge effect.
type Judged struct {
	Epoch   int
	Verdict chat.Verdict
	// Failed is set when there is no verdict; the conversation stays silent.
	Failed bool
	// Gone is set when the trigger was deleted before the judgment, which says nothing of
	// the other messages.
	Gone bool
}

// Composed is the result of a Compose effect. A notice has the epoch of the answer that it
// replaces.
type Composed struct {
	Epoch  int
	Result Result
	// By is the ts of the message that made the reply outdated.
	By string
}

// Posted is the result of a Post effect.
type Posted struct {
	Epoch  int
	Result Result
}

// Result is how composing or posting ended.
type Result string

const (
	Done Result = "done"
	// Silenced: a rule forbids the reply (mode off, muted).
	Silenced Result = "silenced"
	// Gone: the trigger was deleted before anything was posted.
	Gone Result = "gone"
	// Outdated: before the post, another message of the conversation was deleted after the
	// reply was composed; or, before composing a judged reply at the top level, somebody had
	// answered in a thread.
	Outdated Result = "outdated"
	Failed   Result = "failed"
)

// AnswerNow is an operator's order to reply at once to what is pending.
type AnswerNow struct{ By string }

// Drop is an operator's order to give up what is pending.
type Drop struct{ By string }

func (Changes) event()   {}
func (Tick) event()      {}
func (Judged) event()    {}
func (Composed) event()  {}
func (Posted) event()    {}
func (AnswerNow) event() {}
func (Drop) event()      {}

// Effect is something to execute. At most one of Judge, Compose and Post is in flight at any
// time; its result carries its epoch back.
type Effect interface{ effect() }

// Judge asks for a judgment.
type Judge struct {
	Epoch   int
	Trigger Item
}

// Compose asks for the text of a reply to Trigger.
type Compose struct {
	Epoch     int
	Trigger   Item
	Addressed bool
	// Notice asks for the short note that the bot cannot answer, in place of an answer.
	Notice bool
	// Ordered is set when an operator ordered the reply.
	Ordered bool
	// Oldest is the ts of the oldest message that a judged reply at the top level is about.
	// Messages in the threads under these, after the judgment, make the reply outdated.
	// It is empty for any other reply.
	Oldest string
}

// Post asks for the composed reply to be posted. It is never cancelled.
type Post struct {
	Epoch     int
	Trigger   Item
	Addressed bool
	Notice    bool
}

// Cancel cancels the Judge or Compose in flight.
type Cancel struct{}

// Settle records the outcome of a decision that no activity records.
type Settle struct {
	Epoch     int
	Trigger   Item
	Addressed bool
	Outcome   Outcome
	// By is the ts of the message, or the name of the operator, that caused the outcome.
	By string
}

// Outcome is what became of a decision.
type Outcome string

const (
	Pending   Outcome = "pending" // no outcome yet
	Silent    Outcome = "silent"
	Sent      Outcome = "posted"
	Withdrawn Outcome = "withdrawn"
	Dropped   Outcome = "dropped"
	Overruled Outcome = "overruled" // by an operator's AnswerNow
	Unsent    Outcome = "failed"
	Retracted Outcome = "retracted" // by an operator, after it was posted or while it was
)

func (Judge) effect()   {}
func (Compose) effect() {}
func (Post) effect()    {}
func (Cancel) effect()  {}
func (Settle) effect()  {}
