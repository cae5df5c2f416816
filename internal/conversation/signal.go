package conversation

import (
	"time"

	"myao/internal/chat"
)

// The names that the starter and the workflow share. They are recorded in every history, and
// never change.
const (
	WorkflowType = "Conversation"
	TaskQueue    = "myao"
	// ModelTaskQueue is for activities that call a model. It has a rate limit of its own,
	// and nothing else waits behind it.
	ModelTaskQueue = "myao-model"
	// ToolsTaskQueue is for activities that look something up for a reply.
	ToolsTaskQueue = "myao-tools"
	// SignalName is the signal that carries a Signal.
	SignalName = "changes"
	// QueryName is the query that returns the State.
	QueryName = "state"
	// The updates are an operator's orders; each takes an Order.
	UpdateAnswerNow = "answer-now"
	UpdateDrop      = "drop"
	UpdateSnooze    = "snooze"
	UpdateMute      = "mute"
	UpdateUnmute    = "unmute"
	// Refused is the error type of an order that does not apply to the present state.
	Refused = "refused"
)

// The search attributes of a conversation, all of them keywords.
const (
	AttributeTeam    = "MyaoTeam"
	AttributeChannel = "MyaoChannel"
	AttributePhase   = "MyaoPhase"
)

// Attributes are the names of all search attributes.
var Attributes = []string{AttributeTeam, AttributeChannel, AttributePhase}

// Signal carries changes to a conversation, and the policy that applies from now on.
type Signal struct {
	Policy  Policy   `json:"policy"`
	Changes []Change `json:"changes"`
}

// Input starts a conversation, or continues one as new.
type Input struct {
	Conversation chat.Conversation `json:"conversation"`
	// Attributes is set when the server knows the search attributes.
	Attributes bool `json:"attributes,omitempty"`
	// Phase is the search attribute's value when the run starts.
	Phase Phase `json:"phase"`
	// State is where the previous run left off, when this one continues it as new.
	State *State `json:"state,omitempty"`
}

// InitialPhase predicts the phase of an idle conversation after the signal. A run that
// starts with it as its search attribute need not upsert that.
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

// MuteDuration is how long a mute silences a conversation, which has no end: a century.
const MuteDuration = 100 * 365 * 24 * time.Hour

// MaxSnooze is the longest snooze.
const MaxSnooze = 366 * 24 * time.Hour

// Order is what an operator asks for.
type Order struct {
	// By is the operator: a user id or a name.
	By string `json:"by"`
	// Seconds is the length of a snooze.
	Seconds int `json:"seconds,omitempty"`
}
