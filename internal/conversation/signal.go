package conversation

import (
	"time"

	"myao/internal/chat"
)

// What the starter and the workflow call each other by. The names stand in every
// history: they are never changed.
const (
	WorkflowType = "Conversation"
	TaskQueue    = "myao"
	// ModelTaskQueue is where activities wait that ask a model: it has a rate of its
	// own, and nothing else waits behind it.
	ModelTaskQueue = "myao-model"
	// SignalName is the signal that carries a Signal.
	SignalName = "changes"
	// QueryName is the query that answers with the State.
	QueryName = "state"
	// Updates, all of them an operator's; each takes an Order.
	UpdateAnswerNow = "answer-now"
	UpdateDrop      = "drop"
	UpdateSnooze    = "snooze"
	UpdateMute      = "mute"
	UpdateUnmute    = "unmute"
	// Refused is the type of the error of an order that makes no sense as things stand.
	Refused = "refused"
)

// Search attributes of a conversation, all of them keywords.
const (
	AttributeTeam    = "MyaoTeam"
	AttributeChannel = "MyaoChannel"
	AttributePhase   = "MyaoPhase"
)

// Attributes are the names of all of them.
var Attributes = []string{AttributeTeam, AttributeChannel, AttributePhase}

// Signal tells a conversation what happened in it, and by which timing it goes
// from now on.
type Signal struct {
	Policy  Policy   `json:"policy"`
	Changes []Change `json:"changes"`
}

// Input starts a conversation, or continues one as new.
type Input struct {
	Conversation chat.Conversation `json:"conversation"`
	// Attributes is set when the server knows the search attributes.
	Attributes bool `json:"attributes,omitempty"`
	// Phase is what the search attribute says when the run starts; empty: idle.
	Phase Phase `json:"phase,omitempty"`
	// LastingPhases is set when the search attribute need tell only of phases that last:
	// while a judgment or a reply is made, it goes on to say what that was waited for.
	LastingPhases bool `json:"lasting_phases,omitempty"`
	// PostsAtOnce is set when a reply is first tried to be posted within the workflow task in
	// which that is due, and by an activity in a queue only if that comes to nothing.
	PostsAtOnce bool `json:"posts_at_once,omitempty"`
	// State is what a run that continued as new had come to.
	State *State `json:"state,omitempty"`
}

// InitialPhase is the phase in which a conversation most likely is once it has heard the
// signal, if it was idle: a run that is started in it has no need to say so.
func (s Signal) InitialPhase(c chat.Conversation) Phase {
	phase := Idle
	for _, change := range s.Changes {
		switch {
		case change.Kind == Addressed && c.AnswersHere():
			return Replying
		case change.Kind == Said:
			phase = Waiting
		}
	}
	return phase
}

// MuteDuration is how long a conversation is silenced when no end is named: a century.
const MuteDuration = 100 * 365 * 24 * time.Hour

// MaxSnooze is how long a snooze may last: what is longer is a mute.
const MaxSnooze = 366 * 24 * time.Hour

// Order is what an operator asks for.
type Order struct {
	// By is who asks: a user id or a name.
	By string `json:"by"`
	// Seconds is how long to snooze.
	Seconds int `json:"seconds,omitempty"`
}
