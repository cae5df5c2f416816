package conversation

import "myao/internal/chat"

// Event is something that happened: to the conversation, to the work that an
// effect started, or at an operator's hand.
type Event interface{ event() }

// Changes are changes of messages that came together.
type Changes []Change

// Tick says that time has passed; State.Wake tells when one is wanted.
type Tick struct{}

// Judged is the end of a Judge effect.
type Judged struct {
	Epoch   int
	Verdict chat.Verdict
	// Failed is set when no judgment could be had; a failed judgment is silence.
	Failed bool
	// Gone is set where the newest message was deleted before it was judged: nothing was said
	// of the others.
	Gone bool
}

// Composed is the end of a Compose effect. Each effect ends once: a notice has the
// epoch of the answer that it stands for.
type Composed struct {
	Epoch  int
	Result Result
	// By is the ts of the message that made the reply outdated.
	By string
}

// Posted is the end of a Post effect.
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
	// Gone: the message that the reply answers was deleted before anything was posted.
	Gone Result = "gone"
	// Outdated: another message of the conversation was deleted after the reply was
	// composed, and before anything was posted; or somebody has answered in a thread
	// after a judgment was for a reply at the top level, and before it was composed.
	Outdated Result = "outdated"
	Failed   Result = "failed"
)

// AnswerNow is an operator's order to answer at once what is being waited for.
type AnswerNow struct{ By string }

// Drop is an operator's order to give up whatever waits.
type Drop struct{ By string }

func (Changes) event()   {}
func (Tick) event()      {}
func (Judged) event()    {}
func (Composed) event()  {}
func (Posted) event()    {}
func (AnswerNow) event() {}
func (Drop) event()      {}

// Effect is something to be carried out. At most one of Judge, Compose and Post
// is under way at any time; its epoch comes back with its end.
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
	// Notice asks for the brief note that the bot cannot answer, instead of an answer.
	Notice bool
	// Ordered is set where an operator wants the reply.
	Ordered bool
	// Oldest is the ts of the oldest message that a judged reply is about, where what was
	// said in the threads under them after the judgment makes it outdated; else empty.
	Oldest string
}

// Post asks for the composed reply to be posted. It is never called back.
type Post struct {
	Epoch     int
	Trigger   Item
	Addressed bool
	Notice    bool
}

// Cancel calls back the Judge or Compose under way.
type Cancel struct{}

// Settle records what became of the decision of an epoch that no post will settle.
type Settle struct {
	Epoch     int
	Trigger   Item
	Addressed bool
	Outcome   Outcome
	// By is the ts of the message, or the name of the operator, that caused it.
	By string
}

// Outcome is what became of a decision.
type Outcome string

const (
	Pending   Outcome = "pending" // nothing yet
	Silent    Outcome = "silent"
	Sent      Outcome = "posted"
	Withdrawn Outcome = "withdrawn"
	Dropped   Outcome = "dropped"
	Overruled Outcome = "overruled" // by an operator who wants an answer now
	Unsent    Outcome = "failed"
)

func (Judge) effect()   {}
func (Compose) effect() {}
func (Post) effect()    {}
func (Cancel) effect()  {}
func (Settle) effect()  {}
