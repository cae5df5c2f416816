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
	Epoch int
	// Round is that of the effect.
	Round  int
	Result Result
	// By is the ts of the message that made the reply outdated.
	By string
	// Steps are what is to be looked up before the reply is written, if the result is Looking.
	Steps []Step
}

// Step is one thing that is looked up for a reply.
type Step struct {
	ID string `json:"id"`
	// Tool is the tool's name.
	Tool string `json:"tool"`
	// Done is set once it has been looked up, or will not be.
	Done bool `json:"done,omitempty"`
}

// Looked says that one step of a Look effect has ended, whether it found anything or not.
type Looked struct {
	Epoch int
	Step  string // its ID
}

// Posted is the result of a Post effect.
type Posted struct {
	Epoch  int
	Result Result
	// Opened are the proposals that stand under the reply.
	Opened []OpenProposal
	// Promised are the promises that the reply confirms.
	Promised []OpenPromise
}

// Result is how composing or posting ended.
type Result string

const (
	Done Result = "done"
	// Looking: the model wants to look something up before it writes.
	Looking Result = "looking"
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
type Drop struct {
	By string
	// Silence is set if the order is to be silent, or the run ends: a promise then waits.
	Silence bool
}

// Unsilenced says that a mute or snooze here has ended.
type Unsilenced struct{}

func (Changes) event()    {}
func (Tick) event()       {}
func (Judged) event()     {}
func (Composed) event()   {}
func (Looked) event()     {}
func (Posted) event()     {}
func (AnswerNow) event()  {}
func (Drop) event()       {}
func (Unsilenced) event() {}

// Effect is something to execute. At most one of Judge, Check, Compose, Look and Post is in flight at any
// time, and any number of Act and EndPromise beside it; the result carries its epoch back.
type Effect interface{ effect() }

// About says what a judgment or a reply is about.
type About struct {
	// Epoch is the decision's number.
	Epoch   int
	Trigger Item
	// Occasion is zero for a judgment of messages, and for a reply to some.
	Occasion Occasion
	// Addressed is set if somebody waits for the reply.
	Addressed bool
}

// Judge asks for a judgment.
type Judge struct{ About }

// Compose asks for the text of a reply to Trigger.
type Compose struct {
	About
	// Notice asks for a short note that no model writes, in place of an answer: Stop says about what,
	// and NoStop that the bot cannot answer.
	Notice bool
	Stop   Stop
	// Ordered is set when an operator ordered the reply.
	Ordered bool
	// Oldest is the ts of the oldest message that a judged reply at the top level is about.
	// Messages in the threads under these, after the judgment, make the reply outdated.
	// It is empty for any other reply.
	Oldest string
	// Round counts the rounds of looking things up that came before.
	Round int
	// Until is the ts of the newest message that the reply answers, if that is not the trigger: the
	// same person has said more while the bot was looking something up.
	Until string
}

// Look asks for the steps of the state that are not done. Each ends with a Looked.
type Look struct {
	About
	Round int
}

// Post asks for the composed reply to be posted. It is never cancelled.
type Post struct {
	About
	Notice bool
}

// Cancel cancels the Judge, Compose or Look in flight.
type Cancel struct{}

// Settle records the outcome of a decision that no activity records.
type Settle struct {
	About
	Outcome Outcome
	// By is the ts of the message, or the name of the operator, that caused the outcome.
	By string
}

// Outcome is what became of a decision.
type Outcome string

const (
	Pending       Outcome = "pending" // no outcome yet
	Silent        Outcome = "silent"
	OutcomePosted Outcome = "posted"
	Withdrawn     Outcome = "withdrawn"
	Dropped       Outcome = "dropped"
	Overruled     Outcome = "overruled" // by an operator's AnswerNow
	OutcomeFailed Outcome = "failed"
	Retracted     Outcome = "retracted" // by an operator, after it was posted or while it was
)

func (Judge) effect()   {}
func (Compose) effect() {}
func (Look) effect()    {}
func (Post) effect()    {}
func (Cancel) effect()  {}
func (Settle) effect()  {}
