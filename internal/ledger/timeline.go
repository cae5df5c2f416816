package ledger

import (
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Options say what of a conversation is told.
type Options struct {
	// MessageTS restricts the story to what concerns one message of the conversation.
	MessageTS string
	// Since leaves out what came before; the zero time leaves out nothing.
	Since time.Time
	// Limit is how many messages are told of, the newest; 0: 50.
	Limit int
	// Text has the messages told with their text.
	Text bool
	// Threads has a channel's threads told of, too.
	Threads bool
	// Settings are those of the channel: by them is explained why something was not heard.
	Settings config.ChannelSettings
	// LedgerSince is from when on the ledger is complete; the zero time: it always was.
	LedgerSince time.Time
	// Prices are what models cost, by name (config.LLM.Prices).
	Prices map[string]config.Price
}

// Timeline is what happened in a conversation, in order of time.
type Timeline struct {
	Conversation chat.Conversation `json:"conversation"`
	// ChannelName is empty where it is not known, and for a direct message.
	ChannelName string `json:"channel_name,omitempty"`
	// MessageTS is the ts to which the story is restricted.
	MessageTS string `json:"message,omitempty"`
	// Earlier is set where there are earlier messages that are not told of.
	Earlier bool    `json:"earlier,omitempty"`
	Entries []Entry `json:"entries"`
}

// Entry is one thing that happened: exactly one of the pointers is set.
type Entry struct {
	At time.Time `json:"at"`
	// Thread is the thread in which it happened; empty at the top level.
	Thread   string    `json:"thread,omitempty"`
	Message  *Message  `json:"said,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	Order    *Order    `json:"order,omitempty"`
}

// Message is a message.
type Message struct {
	TS   string `json:"ts"`
	User string `json:"user,omitempty"` // id, of the app's where no user signs
	Name string `json:"name,omitempty"`
	Own  bool   `json:"own,omitempty"`
	Bot  bool   `json:"bot,omitempty"`
	// Edited is the ts of the newest edit.
	Edited  string `json:"edited,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	Text    string `json:"text,omitempty"` // with Options.Text
	// Changes is what of it was passed on to the conversation, in order.
	Changes []Change `json:"passed,omitempty"`
	// Note says why nothing was decided about it, or with what other message it was.
	Note string `json:"note,omitempty"`
}

// OnlyEdited reports whether the bot has heard of an edit of the message, and not of the
// message: an edit alone asks for nothing.
func (s Message) OnlyEdited() bool {
	passed := func(k conversation.Kind) bool {
		return slices.ContainsFunc(s.Changes, func(p Change) bool { return p.Kind == string(k) })
	}
	return passed(conversation.Edited) && !passed(conversation.Said) && !passed(conversation.Addressed)
}

// Change is a change on its way to the conversation's workflow.
type Change struct {
	Kind     string `json:"kind"` // said, addressed, edited, deleted or hushed
	Revision string `json:"revision,omitempty"`
	// By is whose order it is, as slack:U….
	By string `json:"by,omitempty"`
	// Heard is when the bot came to know of it.
	Heard time.Time `json:"heard"`
	// Relayed is when it had reached the workflow; zero: it waits.
	Relayed time.Time `json:"relayed,omitzero"`
}

// Decision is that the bot meant to speak or not, why, and what became of it.
type Decision struct {
	Key      string `json:"key"`
	Trigger  string `json:"trigger"` // ts
	Revision string `json:"revision,omitempty"`
	Source   string `json:"source"` // judgment, rule, addressed or operator
	Rule     string `json:"rule,omitempty"`
	Respond  bool   `json:"should_respond"`
	// Reason is the model's own words, or the rule's.
	Reason string `json:"reason"`
	// With are earlier messages that were decided about along with the trigger, by ts.
	With       []string `json:"with,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	Delay      *int     `json:"delay_seconds,omitempty"`
	// Calls is what models were asked for it.
	Calls []Call `json:"calls,omitempty"`
	// Outcome is pending, silent, posted, withdrawn, dropped, overruled or failed; By is
	// the message, the operator or the error that brought it about.
	Outcome conversation.Outcome `json:"outcome"`
	By      string               `json:"by,omitempty"`
	Settled time.Time            `json:"settled,omitzero"`
	// Parts are the messages of the reply.
	Parts []Part `json:"parts,omitempty"`
}

// Call is a call of a model.
type Call struct {
	Purpose   string        `json:"purpose"` // response, judgment or memory
	Model     string        `json:"model"`
	TokensIn  int           `json:"tokens_in"`
	TokensOut int           `json:"tokens_out"`
	Latency   time.Duration `json:"latency_ns"`
	// Cost is nil where the model's price is not known.
	Cost  *float64 `json:"cost,omitempty"`
	Error string   `json:"error,omitempty"` // its kind
}

// Part is one message of a reply on its way to Slack.
type Part struct {
	State store.Delivery `json:"state"`
	TS    string         `json:"ts,omitempty"` // once it is sent
	Tries int            `json:"tries"`
	Error string         `json:"error,omitempty"`
}

// Order is something that somebody told the bot to do.
type Order struct {
	Kind string `json:"kind"` // answer-now, drop, snooze, mute, unmute, hush, forget, rollback, correct or move
	By   string `json:"by"`   // cli:NAME, slack:U…, starter:channel_id_changed/C…
	// Subject is the ts of a message, the term and version of a memory, or the other id.
	Subject string    `json:"subject,omitempty"`
	Until   time.Time `json:"until,omitzero"`
}
